"""Remember every model version, where it came from, and who promoted it why."""
