"""Articles: written from cases, stripped of whose they were, published in versions, and linked to the cases they solve."""

import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import F, Q
from django.db.models.functions import Length, Now
from django.utils.translation import gettext as _

from clusters.models import Bucket, CloudAccount, Cluster, Node
from support import states
from support.article_text import KINDS, SKELETON, Known, Leak, leaks, stripped
from support.models import Article, ArticleUse, ArticleVersion, Case, CaseNote
from support.writing import one_of, text_of
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Membership, Participation, Tenant, TrainingModel
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale

AUDIENCES = ("shared", "internal")
MOST_BODY = 50_000
SHOWN_LEAKS = 20


def known_of(tenants: Iterable[uuid.UUID]) -> list[Known]:
    """What names anybody: every participant, and of these tenants their people, clusters, nodes, buckets and accounts."""
    mine = list(tenants)
    with reading_everyone():
        participants = Tenant.objects.filter(is_office=False).values_list("name", "slug")
        people = Membership.objects.filter(tenant__in=mine).values_list("person__name", "person__email")
        projects = Participation.objects.filter(tenant__in=mine).values_list("project", "code")
        columns: list[tuple[str, Any]] = [
            ("project", TrainingModel.objects.filter(tenant__in=mine).values_list("name")),
            ("cluster", Cluster.objects.filter(tenant__in=mine).values_list("name")),
            ("node", Node.objects.filter(tenant__in=mine).values_list("name")),
            ("instance", Node.objects.filter(tenant__in=mine).exclude(instance_id="").values_list("instance_id")),
            ("bucket", Bucket.objects.filter(tenant__in=mine).values_list("name")),
            ("account", CloudAccount.objects.filter(tenant__in=mine).values_list("account_id", "name")),
            ("participant", participants),
            ("person", people),
            ("project", projects),
        ]
        return [Known(kind, text) for kind, rows in columns for row in rows for text in row if text]


def tenants_of(article: Article) -> list[uuid.UUID]:
    """Whose cases it came out of or solved."""
    with reading_everyone():
        return list(ArticleUse.objects.filter(article=article).values_list("tenant_id", flat=True).distinct())


def leaks_in(title: str, body: str, tenants: Iterable[uuid.UUID]) -> list[Leak]:
    """The title is line 1, the text begins at line 2."""
    return leaks(f"{title}\n{body}", known_of(tenants))


def draft_of(case: Case) -> dict[str, str]:
    """A beginning for an article: what the case tells, without whose it was."""
    known = [*known_of([case.tenant_id]), Known("case", case.number)]
    seen = str((case.evidence or {}).get("symptom") or case.title)
    written = CaseNote.objects.filter(case=case, audience="shared").order_by("-at").values_list("text", flat=True)
    body = SKELETON.format(
        seen=seen, why=case.cause_text or case.get_cause_display() or "…", helps=next(iter(written[:1]), "…")
    )
    return {
        "title": stripped(case.title, known)[:200],
        "body": stripped(body, known),
        "category": case.category,
    }


def write_article(
    *, title: str, body: str, audience: str, by: str, category: str = "", case: Case | None = None, code: str = ""
) -> Article:
    """Begin an article, as a draft that only staff see. From a case: the case's history names it."""
    office = Tenant.objects.get(is_office=True)
    title, body = _clean(title, body, audience)
    with acting_for(office, staff=True):
        article = Article.objects.create(
            tenant=office,
            code=code or _next_code(),
            title=title,
            body=body,
            category=category.strip()[:30],
            audience=audience,
            author=by,
        )
        _keep(article, by)
        timeline.record(states.ARTICLE_WRITTEN, about=article, by=by, code=article.code, title=title)
    if case is not None:
        link_case(case=case, article=article, kind=ArticleUse.Kind.ORIGIN, by=by)
    return article


def _clean(title: str, body: str, audience: str) -> tuple[str, str]:
    one_of(audience, AUDIENCES, "audience")
    return text_of(title, _("a title"), 200, "title"), text_of(body, _("the article"), MOST_BODY, "body")


def _next_code() -> str:
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(hashtextextended('number KB', 0))")
    known = Article.objects.filter(code__regex=r"^KB-[0-9]+$")
    last = known.order_by(Length("code").desc(), "-code").values_list("code", flat=True).first()
    return f"KB-{int((last or 'KB-0').partition('-')[2]) + 1:03d}"


def _keep(article: Article, by: str) -> int:
    """The text as it is now, as the next version."""
    last = article.versions.order_by("-number").values_list("number", flat=True).first()
    made = ArticleVersion.objects.create(
        tenant_id=article.tenant_id,
        article=article,
        number=(last or 0) + 1,
        title=article.title,
        body=article.body,
        author=by,
    )
    return made.number


def edit_article(
    *,
    article: Article,
    title: str,
    body: str,
    audience: str,
    by: str,
    category: str = "",
    despite: bool = False,
    version: int | None = None,
) -> Article:
    """Change it; how it read before is kept. What customers may read is checked as before publishing."""
    title, body = _clean(title, body, audience)
    with acting_for(article.tenant_id, staff=True):
        _hold(article, version, title=title, body=body)
        if article.state == "published":
            _refuse_leaks(article, title, body, audience, despite)
        columns = {"title": title, "body": body, "audience": audience, "category": category.strip()[:30]}
        if all(getattr(article, name) == value for name, value in columns.items()):
            return article
        Article.objects.filter(pk=article.pk).update(version=F("version") + 1, changed_at=Now(), author=by, **columns)
        article.refresh_from_db()
        edition = _keep(article, by)
        timeline.record(states.ARTICLE_EDITED, about=article, by=by, code=article.code, edition=edition)
    _show_uses(article)
    return article


def publish_article(*, article: Article, by: str, despite: bool = False, version: int | None = None) -> Article:
    """Let its audience read it. For customers, nothing in it may tell whose case it was, unless one vouches for it."""
    with acting_for(article.tenant_id, staff=True):
        _hold(article, version)
        found = _refuse_leaks(article, article.title, article.body, article.audience, despite)
        told = {"vouched": [leak.text for leak in found]} if found else {}
        columns = {"published_at": Now()}
        move(article, "published", by=by, columns=columns, code=article.code, title=article.title, **told)
        article.refresh_from_db()
    _show_uses(article)
    return article


def _refuse_leaks(article: Article, title: str, body: str, audience: str, despite: bool) -> list[Leak]:
    if audience != "shared":
        return []
    found = leaks_in(title, body, tenants_of(article))
    if found and not despite:
        listed = ", ".join(f"{leak.text} ({KINDS[leak.kind]})" for leak in found[:SHOWN_LEAKS])
        raise Refused(
            "still_tells_whose",
            _("The text still tells whose case it was: %(listed)s. Take it out, or say that it names nobody.")
            % {"listed": listed},
            leaks=[{"kind": leak.kind, "text": leak.text, "line": leak.line} for leak in found[:SHOWN_LEAKS]],
        )
    return found


def withdraw_article(*, article: Article, why: str, by: str, version: int | None = None) -> Article:
    """Take it back to a draft."""
    why = text_of(why, _("why"), 300, "why")
    with acting_for(article.tenant_id, staff=True):
        _hold(article, version)
        move(article, "draft", by=by, columns={"published_at": None}, code=article.code, why=why)
        article.refresh_from_db()
    _show_uses(article)
    return article


def _hold(article: Article, version: int | None, **typed: str) -> None:
    article.refresh_from_db(from_queryset=Article.objects.select_for_update(of=("self",)))
    if version is not None and article.version != version:
        changes = {name: [getattr(article, name), value] for name, value in typed.items()}
        raise Stale(
            "stale",
            _("Somebody changed %(code)s meanwhile. Compare, and save again.") % {"code": article.code},
            version=article.version,
            changes={name: pair for name, pair in changes.items() if pair[0] != pair[1]},
        )


def _audience_of(article: Article) -> str:
    return "shared" if article.audience == "shared" and article.state == "published" else "internal"


def _show_uses(article: Article) -> None:
    """A case's page names an article to the participant only while the participant may read it."""
    audience = _audience_of(article)
    for tenant in tenants_of(article):
        with acting_for(tenant, staff=True):
            ArticleUse.objects.filter(article_id=article.pk).update(audience=audience)


def link_case(
    *,
    case: Case,
    article: Article,
    by: str,
    kind: str = ArticleUse.Kind.SOLVED,
    at: datetime | None = None,
    **facts: Any,
) -> ArticleUse:
    """Say that an article solves a case, or came out of it. Saying it twice is saying it once."""
    one_of(kind, tuple(ArticleUse.Kind.values), "kind")
    audience = _audience_of(article)
    with acting_for(case.tenant_id, staff=True):
        use, new = ArticleUse.objects.get_or_create(
            tenant_id=case.tenant_id, case=case, article=article, defaults={"kind": kind, "audience": audience}
        )
        if new:
            told = {"number": case.number, "code": article.code, "title": article.title}
            word = states.CASE_ARTICLE if kind == ArticleUse.Kind.ORIGIN else states.CASE_SOLVED_BY
            timeline.record(word, about=case, by=by, at=at, audience=audience, **told, **facts)
    return use


def unlink_case(*, case: Case, article: Article, by: str) -> None:
    """It was not this article."""
    with acting_for(case.tenant_id, staff=True):
        gone, _rows = ArticleUse.objects.filter(case=case, article_id=article.pk).delete()
        if gone:
            timeline.record(
                states.CASE_ARTICLE_OFF,
                about=case,
                by=by,
                audience=_audience_of(article),
                number=case.number,
                code=article.code,
            )


def found_by(rows: Any, query: str) -> Any:
    """Articles in which every word of the query occurs, in title, text, code or category."""
    for word in query.split()[:8]:
        rows = rows.filter(
            Q(title__icontains=word) | Q(body__icontains=word) | Q(code__iexact=word) | Q(category__icontains=word)
        )
    return rows
