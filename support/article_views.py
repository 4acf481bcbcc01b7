"""Pages of articles: search, read, write one from a case, publish it once nothing in it tells whose case it was."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from support import articles
from support.article_text import KINDS, html
from support.models import Article, ArticleUse, ArticleVersion, Case
from support.views import found_case
from tenants.models import Tenant
from tenants.queries import actor_names, history, lines
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web import pages
from tenants.web.attempt import attempt, see_other
from tenants.web.problems import Refused, Stale

ROW = ("id", "code", "title", "category", "audience", "state", "changed_at")
MOST_CASES = 50


class ArticleForm(forms.Form):
    title = forms.CharField(label=gettext_lazy("Title"), max_length=200)
    category = forms.CharField(label=gettext_lazy("Category"), max_length=30, required=False)
    audience = forms.ChoiceField(
        label=gettext_lazy("Who may read it"),
        widget=forms.RadioSelect,
        choices=[
            ("shared", gettext_lazy("All participants, once it is published")),
            ("internal", gettext_lazy("Internal, staff only")),
        ],
    )
    body = forms.CharField(
        label=gettext_lazy("Text"),
        max_length=articles.MOST_BODY,
        widget=forms.Textarea(attrs={"rows": 22, "class": "mono"}),
        help_text=gettext_lazy("Markdown: ## for a heading, - for a point, `for code`."),
    )
    despite = forms.BooleanField(
        label=gettext_lazy("What the check finds is an example and names nobody"), required=False
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    case = forms.UUIDField(required=False, widget=forms.HiddenInput)


class PublishForm(forms.Form):
    despite = forms.BooleanField(
        label=gettext_lazy("What the check finds is an example and names nobody"), required=False
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)


class WithdrawForm(forms.Form):
    why = forms.CharField(label=gettext_lazy("Why"), max_length=300)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)


@allow(roles.EVERYONE)
@require_safe
def all_articles(request: HttpRequest) -> HttpResponse:
    """Articles that one may read, found by any words, also by a line of an error."""
    query = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    chosen = request.GET.get("state", "")
    rows = Article.objects.all()
    if chosen == "draft" and request.internal:
        rows = rows.filter(state="draft")
    else:
        chosen, rows = "", rows.filter(state="published")
    page = pages.by_name(articles.found_by(rows, query).values(*ROW), request, name="code")
    counts: dict[Any, int] = {}
    if request.internal:
        used = ArticleUse.objects.filter(article__in=[row["id"] for row in page.rows])
        counts = dict(used.values_list("article_id").annotate(n=Count("id")))
    context = {
        "rows": [row | {"cases": counts.get(row["id"], 0)} for row in page.rows],
        "older": page.next,
        "query": query,
        "chosen": chosen,
        "office": Tenant.objects.get(is_office=True) if request.role in roles.WRITE_ARTICLES else None,
    }
    return render(request, "support/articles.html", context)


def _found(pk: UUID) -> Article:
    found = Article.objects.select_related("tenant").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


@allow(roles.EVERYONE)
@require_safe
def article(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One article; for staff with its versions, the cases it is about, and what the check finds."""
    return _shown(request, _found(pk))


def _shown(
    request: HttpRequest, row: Article, refused: Refused | None = None, status: int = 200, **bound: forms.Form
) -> HttpResponse:
    writes = request.role in roles.WRITE_ARTICLES
    uses = list(
        ArticleUse.objects.filter(article=row)
        .select_related("case", "tenant")
        .order_by("-case__opened_at", "id")[:MOST_CASES]
    )
    context: dict[str, Any] = {
        "row": row,
        "html": html(row.body) if row.body else "",
        "uses": uses,
        "writes": writes,
        "author": actor_names({row.author}).get(row.author, "") if row.author and request.internal else "",
        "refused": refused,
    }
    if request.internal:
        versions = list(ArticleVersion.objects.filter(article=row).order_by("-number"))
        names = actor_names({one.author for one in versions})
        context |= {
            "versions": [(one, names.get(one.author, "")) for one in versions],
            "entries": lines(list(history(subject=(Article.SUBJECT, row.pk)).order_by("-occurred_at", "-id")[:50])),
        }
    if writes:
        found = articles.leaks_in(row.title, row.body, articles.tenants_of(row)) if row.audience == "shared" else []
        context |= {
            "leaks": [(leak, KINDS[leak.kind]) for leak in found],
            "publish": bound.get("publish") or PublishForm(prefix="publish", initial={"version": row.version}),
            "withdraw": bound.get("withdraw") or WithdrawForm(prefix="withdraw", initial={"version": row.version}),
        }
        if not found:
            del context["publish"].fields["despite"]
    return render(request, "support/article.html", context, status=status)


@allow(frozenset(roles.SEES_INTERNAL))
@require_safe
def version(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """An article as it once read."""
    row = _found(pk)
    old = ArticleVersion.objects.filter(article=row, number=number).first()
    if old is None:
        raise Http404
    author = actor_names({old.author}).get(old.author, "")
    return render(
        request, "support/article_version.html", {"row": row, "old": old, "html": html(old.body), "author": author}
    )


@allow(roles.WRITE_ARTICLES)
@require_http_methods(["GET", "POST"])
def write(request: HttpRequest) -> HttpResponse:
    """Write an article; one that comes out of a case begins with what the case tells, without whose it was."""
    at_the_office(request)
    case = _case_of(request)
    initial = {"audience": "shared"} | ({"case": case.pk, **articles.draft_of(case)} if case else {})
    form = ArticleForm(request.POST if request.method == "POST" else None, initial=initial)
    del form.fields["despite"]
    return _written(request, form, None, case)


def _case_of(request: HttpRequest) -> Case | None:
    asked = request.POST.get("case") or request.GET.get("case") or ""
    if not asked:
        return None
    try:
        pk = UUID(asked)
    except ValueError:
        raise Http404 from None
    with reading_everyone():
        found = Case.objects.select_related("tenant").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


@allow(roles.WRITE_ARTICLES)
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Change an article; how it read before is kept."""
    at_the_office(request)
    row = _found(pk)
    initial = {name: getattr(row, name) for name in ("title", "category", "audience", "body", "version")}
    form = ArticleForm(request.POST if request.method == "POST" else None, initial=initial)
    if row.state != "published":
        del form.fields["despite"]
    return _written(request, form, row, None)


def _written(request: HttpRequest, form: forms.Form, row: Article | None, case: Case | None) -> HttpResponse:
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = {name: value for name, value in form.cleaned_data.items() if name != "case"}
            if row is None:
                told.pop("version")
                made, refused = attempt(articles.write_article, by=request.actor, case=case, **told)
            else:
                made, refused = attempt(articles.edit_article, article=row, by=request.actor, **told)
            if refused is None:
                messages.success(request, _("%(code)s is saved.") % {"code": made.code})
                return see_other(reverse("article", args=[made.pk]))
            status = refused.status
            if isinstance(refused, Stale):
                form.data = form.data.copy()
                form.data["version"] = str(refused.facts["version"])
    context = {"form": form, "row": row, "case": case, "refused": refused}
    return render(request, "support/article_edit.html", context, status=status)


def _step(name: str, kind: type[forms.Form], act: Any, done: Any) -> Any:
    def view(request: HttpRequest, pk: UUID) -> HttpResponse:
        at_the_office(request)
        row = _found(pk)
        form = kind(request.POST, prefix=name)
        if not form.is_valid():
            with reading_everyone():
                return _shown(request, row, status=422, **{name: form})
        _result, refused = attempt(act, article=row, by=request.actor, **form.cleaned_data)
        if refused is not None:
            with reading_everyone():
                return _shown(request, _found(pk), refused, refused.status)
        messages.success(request, str(done))
        return see_other(reverse("article", args=[pk]))

    view.__name__ = name
    view.__doc__ = act.__doc__
    return allow(roles.WRITE_ARTICLES)(require_POST(view))


publish = _step("publish", PublishForm, articles.publish_article, gettext_lazy("It is published."))
withdraw = _step("withdraw", WithdrawForm, articles.withdraw_article, gettext_lazy("It is a draft again."))


@allow(roles.WORK_CASES - {roles.AUTOMATION})
@require_POST
def case_articles(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Say which article solves a case, or that it was not this one."""
    case = found_case(request, pk)
    try:
        wanted = UUID(request.POST.get("article", ""))
    except ValueError:
        wanted = None
    with acting_for(request.tenant, staff=True):
        row = Article.objects.filter(pk=wanted).first() if wanted else None
    if row is None:
        messages.warning(request, _("Choose an article."))
    else:
        act = articles.unlink_case if request.POST.get("do") == "unlink" else articles.link_case
        attempt(act, case=case, article=row, by=request.actor)
        messages.success(request, _("%(number)s is up to date.") % {"number": case.number})
    return see_other(reverse("case", args=[request.tenant.slug, pk]) + "#articles")
