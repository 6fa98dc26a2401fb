"""The words every part of driveflow speaks."""
