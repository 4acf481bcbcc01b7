"""Configurations as texts: reading them whoever wrote them, knowing what they are, and what they say in our words."""
