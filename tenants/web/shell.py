"""What every page shows around its content: where one can go, who one is, for whom one acts."""

from typing import Any

from django.http import HttpRequest

from tenants.models import Membership, holding
from tenants.wall import roles
from tenants.web import navigation


def shell(request: HttpRequest) -> dict[str, Any]:
    """Context processor. Adds no query for staff and one for a customer with a page open."""
    person = getattr(request, "person", None)
    if person is None:
        return {"nav": [], "person": None}
    tenant, role = getattr(request, "tenant", None), getattr(request, "role", "")
    mine = [] if role in roles.SEES_INTERNAL else _mine(request)
    return {
        "nav": _menu(request, tenant, role, mine),
        "person": person,
        "tenant": tenant,
        "role": role,
        "internal": getattr(request, "internal", False),
        "tenants_of_mine": mine,
    }


def _mine(request: HttpRequest) -> list[Any]:
    if not hasattr(request, "_tenants_of_mine"):
        rows = Membership.objects.filter(holding(), person=request.person, tenant__is_office=False).select_related(
            "tenant"
        )
        request._tenants_of_mine = [membership.tenant for membership in rows.order_by("tenant__name")]
    return request._tenants_of_mine


def _menu(request: HttpRequest, tenant: Any, role: str, mine: list[Any]) -> list[navigation.Group]:
    """On a page of everybody, who sits at one participant alone is still led to its pages."""
    chosen = tenant or (mine[0] if len(mine) == 1 else None)
    here = request.resolver_match.url_name if request.resolver_match else ""
    return navigation.menu(
        role=role, tenant=chosen.slug if chosen else "", here=here or "", of_tenant=tenant is not None
    )
