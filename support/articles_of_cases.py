"""What the page of a case shows of articles: those that solved it or came out of it, and those that may fit."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from support.models import Article, ArticleUse, Case
from support.states import ENDED
from tenants.models import Tenant
from tenants.wall import roles


def on_case(request: HttpRequest, case: Case) -> dict[str, Any]:
    """For the page of a case: its articles, those that may fit, and whether one may say so."""
    used = list(ArticleUse.objects.filter(case=case).select_related("article").order_by("created_at"))
    may = request.role in roles.WORK_CASES and request.internal
    offered: list[Any] = []
    if may:
        rows = Article.objects.filter(state="published").exclude(pk__in=[use.article_id for use in used])
        offered = sorted(
            rows.values("id", "code", "title", "category"),
            key=lambda one: (one["category"] != case.category, one["code"]),
        )
    return {
        "uses": used,
        "offered_articles": offered,
        "may_link": may,
        "may_write_down": request.role in roles.REVIEW,
        "write_at": f"{reverse('write_article', args=[_office_slug()])}?case={case.pk}"
        if request.role in roles.WRITE_ARTICLES and case.state in ENDED
        else "",
    }


def _office_slug() -> str:
    return Tenant.objects.values_list("slug", flat=True).get(is_office=True)
