"""Pages on which nodes are tested in pairs, until the bad one is named or nobody can tell."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from clusters import possible, queries
from clusters.actions import searches as acting
from clusters.models import Node, NodeSearch, PairTest, SearchedNode
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import live
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.templatetags.show import words

MOST_SHOWN = 12
RANKS = {"named": 0, "unsure": 1, "unanswered": 2, "waiting": 3, "cleared": 4}
TONES = {"named": "bad", "unsure": "warn", "unanswered": "warn", "waiting": "neutral", "cleared": "good"}


class SearchForm(forms.Form):
    nodes = forms.MultipleChoiceField(label=gettext_lazy("Nodes"), widget=forms.CheckboxSelectMultiple)
    reason = forms.CharField(label=gettext_lazy("Why"), max_length=300, required=False)

    def __init__(self, *args: Any, nodes: list[Node], chosen: list[Node], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["nodes"].choices = [(str(node.pk), f"{node.name}, {words(node.state)}") for node in nodes]
        self.fields["nodes"].initial = [str(node.pk) for node in chosen]


@allow(roles.READ, write=roles.OPERATE)
@require_http_methods(["GET", "POST"])
def searches(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The searches of a cluster, and beginning another."""
    row = queries.cluster(pk)
    free = acting.candidates(row)
    again = next((node for node in free if str(node.pk) == request.GET.get("node")), None)
    form = SearchForm(posted(request), nodes=free, chosen=[again, *acting.partners(free, again)] if again else free)
    status, refused = 200, None
    if request.method == "POST":
        status = 422
        if form.is_valid():
            made, refused = attempt(acting.begin_search, cluster=row, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("Begun. The tests wait in the queue like any job, and touch no other."))
                return see_other(reverse("search", args=[request.tenant.slug, made.pk]))
            status = refused.status
    found = NodeSearch.objects.filter(cluster=row).order_by("-began_at")[:MOST_SHOWN]
    closed = possible.refusal(possible.of(row), "launch")
    context = {
        "row": row,
        "form": form,
        "refused": refused,
        "free": len(free),
        "again": again,
        "not_free": bool(request.GET.get("node")) and again is None,
        "closed": closed.sentence if closed else "",
        "searches": list(found),
        "may": request.role in roles.OPERATE,
    }
    return render(request, "clusters/searches.html", context, status=status)


@allow(roles.READ)
@require_safe
def search(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One search: what each node came to and because of which pairs, and the tests round by round."""
    row = NodeSearch.objects.select_related("cluster").filter(pk=pk).first()
    if row is None:
        raise Http404
    nodes = list(SearchedNode.objects.filter(search=row).select_related("node").order_by("node__group", "node__seat"))
    tests = list(PairTest.objects.filter(search=row).select_related("left", "right").order_by("round", "left__seat"))
    newest = live.stamp(row.state, row.rounds, [(one.pk, one.result) for one in tests])
    if (answer := live.unchanged(request, newest)) is not None:
        return answer
    rounds: dict[int, list[PairTest]] = {}
    for one in tests:
        rounds.setdefault(one.round, []).append(one)
    context = {
        "row": row,
        "nodes": [(one, TONES[one.verdict]) for one in sorted(nodes, key=lambda one: RANKS[one.verdict])],
        "named": [one for one in nodes if one.verdict == "named"],
        "rounds": sorted(rounds.items()),
        "may": request.role in roles.OPERATE,
        "unsettled": row.state == "running",
        "poll": live.address(request, newest),
    }
    return render(request, "clusters/search.html" + ("#live" if live.asked(request) else ""), context)


@allow(roles.OPERATE)
@require_POST
def stop(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Stop a search."""
    row = NodeSearch.objects.filter(pk=pk).first()
    if row is None:
        raise Http404
    _done, refused = attempt(acting.stop_search, search=row, by=request.actor)
    if refused is None:
        messages.success(request, _("Stopped. What it had in the queue is cancelled."))
    else:
        messages.error(request, refused.sentence)
    return see_other(reverse("search", args=[request.tenant.slug, row.pk]))
