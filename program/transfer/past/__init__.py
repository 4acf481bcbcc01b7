"""The programme's past as the file tells it: imported once, as dated, by whom the file names, and never reacted to."""
