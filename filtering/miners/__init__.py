"""Ways to find frames that are worth a label, one a file."""
