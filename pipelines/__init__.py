"""Which steps run in what order."""
