"""How often a person or a token may ask the API: counted in each process's own memory, so the limit is approximate.

It is there against a program that runs wild, and never shared: the web tier must not need another server to answer.
"""

from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.http import HttpRequest
from django.utils.translation import gettext as _
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from tenants.web.problems import Refused


class PerCaller(SimpleRateThrottle):
    """Reads and writes are counted apart, so that who only looks cannot lock the own writes out."""

    def __init__(self) -> None:
        self.cache = caches["throttles"]

    def allow_request(self, request: Request, view: Any) -> bool:
        reads = request.method in SAFE_METHODS
        self.scope = "reads" if reads else "writes"
        self.rate = settings.API_READS if reads else settings.API_WRITES
        self.num_requests, self.duration = self.parse_rate(self.rate)
        allowed: bool = super().allow_request(request, view)
        return allowed

    def get_cache_key(self, request: Request, view: Any) -> str:
        return f"{self.scope}-{request.actor}"


class PerAddress(SimpleRateThrottle):
    """What strangers may send to a page without an account, by the address they come from; of each page apart.

    An address can be one office's for many people, or made up where a proxy lets that through: what is dear, like a mail,
    has limits of its own beside this one.
    """

    def __init__(self, page: str, rate: str) -> None:
        self.cache = caches["throttles"]
        self.page, self.rate = page, rate
        self.num_requests, self.duration = self.parse_rate(rate)

    def get_cache_key(self, request: Any, view: Any) -> str:
        return f"{self.page}-{self.get_ident(request)}"


def refuse_a_flood(request: HttpRequest, page: str, rate: str) -> None:
    """Raises Refused (429) with the time to wait when this address sent to the page more often than `rate`."""
    throttle = PerAddress(page, rate)
    if not throttle.allow_request(request, None):
        wait = int(throttle.wait() or 0) + 1
        sentence = _("Too much was sent from where you are. Try again in %(minutes)s minutes.")
        raise Refused("flood", sentence % {"minutes": -(-wait // 60)}, status=429, retry_after=wait)
