"""Decode pictures and measure them."""
