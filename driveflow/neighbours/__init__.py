"""Near search over hashes and vectors."""
