"""Template tags of the program layer."""
