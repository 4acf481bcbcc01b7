"""What was found before a cluster is made or changed: grouped by who has to mend it, with the age of every fact."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from clusters import foresight, listing, queries
from clusters.actions import locks
from clusters.models import PreflightLine
from tenants.wall import roles
from tenants.wall.access import allow


@allow(roles.READ)
@require_safe
def preflight(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The newest full check of a cluster; before there is one, what is known now. `verdict` keeps to one kind of line."""
    row = queries.cluster(pk)
    found = queries.preflights(row).first()
    waiting = locks.held(row)
    asked_for = waiting is not None and waiting.state == "waiting"
    if found is None or asked_for:
        body = waiting.body if waiting is not None and waiting.body else foresight.current(row).document()
        lines = [listing.of_finding(each) for each in foresight.check_change(row, body).findings]
    else:
        lines = [listing.of_line(each) for each in PreflightLine.objects.filter(preflight=found).order_by("position")]
    chosen = request.GET.get("verdict", "")
    known = [name for name, _word in PreflightLine.Verdict.choices]
    chosen = chosen if chosen in known else ""
    context: dict[str, Any] = {
        "row": row,
        "full": None if asked_for else found,
        "earlier": list(queries.preflights(row)[1:6]) if found and not asked_for else [],
        "counts": listing.counts(lines),
        "groups": listing.by_who(line for line in lines if chosen in ("", line["verdict"])),
        "chosen": chosen,
        "chosen_word": dict(PreflightLine.Verdict.choices).get(chosen, _("All")),
        "all": len(lines),
    }
    return render(request, "clusters/preflight.html", context)
