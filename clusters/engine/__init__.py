"""The engine: look, plan, intend, call, write."""
