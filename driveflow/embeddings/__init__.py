"""Models that turn a picture into a vector, and where vectors are kept."""
