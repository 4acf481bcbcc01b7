"""How often a person or a token may ask the API: counted in each process's own memory, so the limit is approximate.

It is there against a program that runs wild, and never shared: the web tier must not need another server to answer.
"""

from typing import Any

from django.conf import settings
from django.core.cache import caches
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle


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
