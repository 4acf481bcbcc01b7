"""Names as people read them."""

import unicodedata


def same_name(one: str, other: str) -> bool:
    """Whether two names are the same to a person: width, case and blanks do not count."""
    return _plain(one) == _plain(other)


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
