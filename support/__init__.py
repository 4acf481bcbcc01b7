"""What went wrong, and who is on it."""
