"""The parts of the validation report that people look at, a file each."""
