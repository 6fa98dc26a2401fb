"""Our figures beside the peers', measured in one run."""
