"""Which of its participations a page of a participant speaks of: cycles overlap, and somebody may take part in two of them."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpRequest

from tenants import participating
from tenants.models import Participation


@dataclass(frozen=True)
class Chosen:
    """The participation, None where there is none, and all of them; `of` goes behind addresses that are to speak of it too."""

    place: Participation | None
    places: tuple[Participation, ...]

    @property
    def of(self) -> str:
        return f"?{urlencode({'of': self.place.code})}" if self.place and len(self.places) > 1 else ""


def chosen(request: HttpRequest) -> Chosen:
    """By `of`, its code; without one the participation that pages speak of first. Raises Http404 for a code that is none."""
    places = tuple(participating.current_first().select_related("cycle__programme", "tenant"))
    asked = request.GET.get("of", "")
    found = [one for one in places if one.code == asked] if asked else places
    if asked and not found:
        raise Http404
    return Chosen(found[0] if found else None, places)


def passed_on(request: HttpRequest) -> str:
    """What goes behind an address that is to speak of the same participation as this one, which was looked at already."""
    asked = request.GET.get("of", "")
    return f"?{urlencode({'of': asked})}" if asked else ""
