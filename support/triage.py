"""What opens a case by itself."""
