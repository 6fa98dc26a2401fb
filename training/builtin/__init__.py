"""The built-in trainer: a compact detector that learns road users from small pictures on a few processor cores."""
