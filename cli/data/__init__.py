"""The commands of `driveflow data`, one file a verb."""
