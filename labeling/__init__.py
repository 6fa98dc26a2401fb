"""Hand frames to annotators, take their labels back."""
