"""What a training job carries with it to report by itself: `cohort.py`, one file of the standard library."""
