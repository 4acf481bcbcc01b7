"""Sections of the file that are rows of a table as its columns are named: each is written, checked and loaded in one place."""
