"""The database of runs, campaigns, decisions and promotions."""
