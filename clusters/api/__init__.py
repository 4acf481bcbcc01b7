"""The API of what participants run on, one module a noun."""
