"""The API of articles: search, read, write, publish, and the cases that one solves."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from support import articles, queries, states
from support.models import Article, ArticleUse, Case, CaseNote
from support.shapes import VersionAsked
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.api import endpoint, optional_version, versioned
from tenants.web.bodies import Asked, asked, refusal
from tenants.web.idempotency import repeatable
from tenants.web.listing import Listing, OneOf, Shown, Word, one


class ArticleShown(Shown):
    """What was learnt from cases; participants see what is published for them."""

    tenant = serializers.SlugField(source="tenant.slug", help_text="The office: an article belongs to no participant.")
    code = serializers.CharField()
    title = serializers.CharField()
    category = serializers.CharField()
    audience = serializers.ChoiceField(choices=CaseNote.AUDIENCES)
    state = serializers.ChoiceField(choices=list(states.ARTICLE))
    changed_at = serializers.DateTimeField()
    published_at = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField()


class ArticleDetail(ArticleShown):
    body = serializers.CharField(help_text="Markdown.")


class ArticleAsked(Asked):
    title = serializers.CharField(max_length=200)
    body = serializers.CharField(max_length=articles.MOST_BODY, help_text="Markdown.")
    category = serializers.CharField(max_length=30, allow_blank=True, default="")
    audience = serializers.ChoiceField(choices=CaseNote.AUDIENCES, default="internal")
    case = serializers.UUIDField(allow_null=True, default=None, help_text="The case that it comes out of.")


class ArticleChanged(VersionAsked):
    title = serializers.CharField(max_length=200)
    body = serializers.CharField(max_length=articles.MOST_BODY)
    category = serializers.CharField(max_length=30, allow_blank=True, default="")
    audience = serializers.ChoiceField(choices=CaseNote.AUDIENCES)
    despite = serializers.BooleanField(default=False, help_text="What the check finds is an example.")


class PublishAsked(VersionAsked):
    despite = serializers.BooleanField(default=False, help_text="What the check finds is an example.")


class WithdrawAsked(VersionAsked):
    why = serializers.CharField(max_length=300)


class UseShown(Shown):
    case = serializers.UUIDField(source="case_id")
    article = serializers.UUIDField(source="article_id")
    code = serializers.CharField(source="article.code")
    title = serializers.CharField(source="article.title")
    kind = serializers.ChoiceField(choices=ArticleUse.Kind.choices)


class UseAsked(Asked):
    article = serializers.UUIDField()
    off = serializers.BooleanField(default=False, help_text="True: it was not this article.")


ARTICLES = Listing(
    "articles",
    ArticleShown,
    {"state": OneOf("state", states.ARTICLE), "code": Word("code"), "category": Word("category")},
    newest="changed_at",
    beside=("q",),
)
USES = Listing("case_articles", UseShown, newest="created_at")


@allow(roles.EVERYONE)
@ARTICLES.described
@extend_schema(parameters=[OpenApiParameter("q", str, description="Every word must occur in title or text.")])
@endpoint("GET")
def all_articles(request: Request) -> Response:
    """Articles, the latest changed first."""
    query = request.GET.get("q", "").replace("\x00", "")[:200]
    return ARTICLES.answer(request, articles.found_by(Article.objects.all(), query))


def _article(pk: UUID, status: int = 200) -> Response:
    row = one(Article.objects.all(), ArticleDetail, pk)
    return versioned(ArticleDetail(row).data, row["version"], status=status)


@allow(roles.EVERYONE)
@extend_schema(responses=ArticleDetail)
@endpoint("GET")
def article(request: Request, pk: UUID) -> Response:
    """One article."""
    return _article(pk)


@allow(roles.WRITE_ARTICLES)
@extend_schema(request=ArticleAsked, responses={201: ArticleDetail})
@endpoint("POST")
@repeatable(required=False)
def write_article(request: Request) -> Response:
    """Begin an article, as a draft that only staff see."""
    at_the_office(request)
    sent = asked(ArticleAsked, request)
    with reading_everyone():
        case = Case.objects.filter(pk=sent["case"]).first() if sent["case"] else None
    if sent["case"] and case is None:
        raise refusal("case", _("There is nothing with this id here."), str(sent["case"]), "does_not_exist")
    made = articles.write_article(by=request.actor, **sent | {"case": case})
    return _article(made.pk, status=201)


def _step(act: Callable[..., Any], form: Any) -> Callable[..., Any]:
    def do(request: Request, pk: UUID) -> Response:
        at_the_office(request)
        sent = asked(form, request)
        version = optional_version(request, sent)
        row = one(Article.objects.all(), None, pk)
        told = {name: value for name, value in sent.items() if name != "version"}
        act(article=row, by=request.actor, version=version, **told)
        return _article(pk)

    do.__doc__ = act.__doc__
    described = extend_schema(request=form, responses={200: ArticleDetail})
    return allow(roles.WRITE_ARTICLES)(described(endpoint("POST")(repeatable(required=False)(do))))


STEPS = {
    "edit": _step(articles.edit_article, ArticleChanged),
    "publish": _step(articles.publish_article, PublishAsked),
    "withdraw": _step(articles.withdraw_article, WithdrawAsked),
}


def _case(request: Request, pk: UUID) -> Case:
    found = queries.cases(role=request.role, person=request.person).select_related("tenant").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


@allow(roles.READ_CASES, write=roles.WORK_CASES - {roles.AUTOMATION})
@USES.described
@extend_schema(methods=["POST"], request=UseAsked, responses={200: USES.paged()})
@endpoint("GET", "POST")
@repeatable(required=False)
def case_articles(request: Request, pk: UUID) -> Response:
    """The articles of a case; say which one solves it, or that it was not this one."""
    case = _case(request, pk)
    if request.method == "POST":
        sent = asked(UseAsked, request)
        with acting_for(request.tenant, staff=True):
            row = Article.objects.filter(pk=sent["article"]).first()
        if row is None:
            raise refusal("article", _("There is nothing with this id here."), str(sent["article"]), "does_not_exist")
        act = articles.unlink_case if sent["off"] else articles.link_case
        act(case=case, article=row, by=request.actor)
    return USES.answer(request, ArticleUse.objects.filter(case=case))
