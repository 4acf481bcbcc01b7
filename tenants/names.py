"""Names as people read them."""

import unicodedata


def same_name(one: str, other: str) -> bool:
    """Whether two names are the same to a person: width, case and blanks do not count."""
    return plain_name(one) == plain_name(other)


def plain_name(name: str) -> str:
    """A name without what makes no difference to a person."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
