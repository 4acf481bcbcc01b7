"""English, the day before the month."""
