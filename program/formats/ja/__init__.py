"""Japanese, the year first."""
