"""One Kubeflow step per file."""
