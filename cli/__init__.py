"""The `driveflow` command."""
