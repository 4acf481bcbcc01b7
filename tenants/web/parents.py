"""Where an address leads that is no page itself but lies above one: /t/hoshi/clusters/ above /t/hoshi/clusters/…/."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from django.urls import Resolver404, get_resolver, resolve, reverse
from django.urls.resolvers import RoutePattern, URLPattern, URLResolver

# The word after a participant, where the list of such things is not at /word/ -> the route of what shows them.
LISTS = {
    "launches": "launch_board", "minutes": "reviews", "enrolments": "sessions", "asked-reports": "reports",
    "applications": "calls", "apply-to": "calls", "shifts": "duty", "capacity-requests": "capacity", "reservations": "capacity",
    "usage-disputes": "usage", "searches": "clusters", "nodes": "clusters", "quarantines": "clusters",
}  # fmt: skip
# The same, where a page of the participant shows them.
LISTS_HERE = {
    "accounts": "participant", "record": "participant", "participations": "participant", "files": "history",
    "contacts": "people", "invitations": "people", "join-requests": "people", "imports": "tables",
}  # fmt: skip
# Words at the start of an address of nobody in particular.
LISTS_OF_ALL = {"accounts": "preferences", "reporter": "jobs", "t": "portfolio"}


def above(path: str) -> str:
    """The address to be led to instead of `path`; "" when it is above no page, or when it is one."""
    if not path.endswith("/"):
        path += "/"
    if _is_page(path) or not any(prefix.match(path.lstrip("/")) for prefix in _prefixes()):
        return ""
    words = path.strip("/").split("/")
    while words:
        here = "/" + "/".join(words) + "/"
        if found := (here if _is_page(here) else _list(words)):
            return found
        words.pop()
    return reverse("portfolio")


def _list(words: list[str]) -> str:
    if words[0] == "t" and len(words) == 3:
        tenant, noun = words[1:]
        if noun in LISTS_HERE:
            return reverse(LISTS_HERE[noun], args=[tenant])
        return reverse(LISTS[noun]) if noun in LISTS else f"/{noun}/" if _is_page(f"/{noun}/") else ""
    return reverse(LISTS_OF_ALL[words[0]]) if len(words) == 1 and words[0] in LISTS_OF_ALL else ""


def _is_page(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


@lru_cache(maxsize=1)
def _prefixes() -> tuple[RoutePattern, ...]:
    """What every address of a page begins with, piece by piece."""
    found = set()
    for route in _routes(get_resolver().url_patterns, ""):
        pieces = route.strip("/").split("/")
        found |= {"/".join(pieces[:count]) + "/" for count in range(1, len(pieces))}
    return tuple(RoutePattern(prefix, is_endpoint=True) for prefix in sorted(found) if not prefix.startswith("api/"))


def _routes(patterns: list[Any], before: str) -> Iterator[str]:
    for one in patterns:
        if not isinstance(one.pattern, RoutePattern):  # written as a regular expression: not ours
            continue
        here = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from _routes(one.url_patterns, here)
        elif isinstance(one, URLPattern):
            yield here
