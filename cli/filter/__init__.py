"""The commands of `driveflow filter`, one file a verb."""
