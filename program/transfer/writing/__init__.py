"""The programme written as one file: each section read from the tables and the history, in an order that never changes."""
