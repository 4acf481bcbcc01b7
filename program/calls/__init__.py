"""How organisations come into a cycle: calls, applications, selection, and what they will need when."""
