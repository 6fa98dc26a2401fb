"""What each step does, free of KFP, so that it can be imported where a step runs."""
