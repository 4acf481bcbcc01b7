"""Days and times in English: the day before the month, and 24 hours."""

DAY_FORMAT = "l, j F Y"
DATE_FORMAT = "j F Y"
SHORT_DATE_FORMAT = "j M Y"
SHORT_DAY_FORMAT = "j M"
DATETIME_FORMAT = "j F Y, H:i T"
SHORT_DATETIME_FORMAT = "j M Y, H:i T"
