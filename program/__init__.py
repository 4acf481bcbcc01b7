"""The programme as a whole: everyone at once, and the process that runs."""
