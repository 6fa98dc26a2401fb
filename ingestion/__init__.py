"""Read recorded batches and merge them into one snapshot."""
