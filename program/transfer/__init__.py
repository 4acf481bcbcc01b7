"""A whole programme as one file: read and checked, loaded by the actions people use, and written from the database."""
