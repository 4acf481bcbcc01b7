"""The money of a participation for its term: what it may spend, has spent and has bound, and what happens at the limit."""
