"""Template tags of the support layer."""
