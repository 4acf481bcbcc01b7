"""Days and times in Japanese: year, month, day, and 24 hours."""

DAY_FORMAT = "Y年n月j日(l)"
DATE_FORMAT = "Y年n月j日"
SHORT_DATE_FORMAT = "Y年n月j日"
SHORT_DAY_FORMAT = "n月j日"
DATETIME_FORMAT = "Y年n月j日 H:i T"
SHORT_DATETIME_FORMAT = "Y年n月j日 H:i T"
