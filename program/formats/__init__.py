"""How each language writes days and times; templates name a format, never its letters."""
