"""Articles: safe Markdown, nothing that tells whose case it was, versions, and the cases that an article solves."""

import pytest
from django.test import Client

from support import articles
from support.actions import open_case
from support.article_text import Known, html, leaks, stripped
from support.endings import resolve_case
from support.models import Article, ArticleUse, ArticleVersion, Case
from tenants.history.models import Entry
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale
from tests.conftest import World

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
TEXT = "## What one sees\n\nThe loss is *not* a number."


@pytest.mark.parametrize(
    ("written", "not_in"),
    [
        ("<script>alert(1)</script>", "<script"),
        ("[x](javascript:alert(1))", 'javascript:alert(1)"'),
        ("<img src=x onerror=alert(1)>", "<img"),
        ("![x](https://example.org/x.png)", "<img"),
        ("<a href='https://example.org' onclick='x()'>x</a>", "<a "),
        ("[x](data:text/html;base64,PHNjcmlwdD4=)", 'href="data'),
    ],
)
def test_no_text_becomes_more_than_text(written: str, not_in: str) -> None:
    assert not_in not in html(written)


def test_markdown_becomes_headings_below_the_pages_own_tables_and_safe_links() -> None:
    drawn = html("# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[docs](https://example.org)")
    assert "<h2>A</h2>" in drawn and "<td>2</td>" in drawn
    assert '<a href="https://example.org" rel="noopener noreferrer">docs</a>' in drawn


KNOWN = [
    Known("participant", "Hoshi Language Works"),
    Known("participant", "hoshi"),
    Known("cluster", "hoshi-main"),
    Known("person", "Mai"),
    Known("node", "hoshi-main-gpu-0007"),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hoshi Language Works saw it", [("participant", "Hoshi Language Works")]),
        ("on HOSHI's machines", [("participant", "HOSHI")]),
        ("node hoshi-main-gpu-0007 fell out", [("node", "hoshi-main-gpu-0007")]),
        ("Mai said, the main thread", [("person", "Mai")]),
        ("i-0123456789abcdef0 in 012345678901", [("instance", "i-0123456789abcdef0"), ("account", "012345678901")]),
        ("10.0.12.7 and ip-10-0-12-7.ec2.internal", [("host", "ip-10-0-12-7.ec2.internal"), ("address", "10.0.12.7")]),
        ("s3://data-of-them/x and subnet-0a1b2c3d", [("bucket", "s3://data-of-them"), ("resource", "subnet-0a1b2c3d")]),
        ("ask taro@example.org about CASE-0012", [("mail", "taro@example.org"), ("case", "CASE-0012")]),
        ("NCCL 2.27.3 hung on 64 GPUs after step 41200", []),
    ],
)
def test_what_tells_whose_case_it_was_is_found(text: str, found: list[tuple[str, str]]) -> None:
    assert sorted((leak.kind, leak.text) for leak in leaks(text, KNOWN)) == sorted(found)
    assert leaks(stripped(text, KNOWN), KNOWN) == []


def test_a_leak_names_its_line() -> None:
    assert [(leak.line, leak.text) for leak in leaks("a\nb\nhoshi", KNOWN)] == [(3, "hoshi")]


@pytest.fixture
def case(world: World) -> Case:
    with acting_for(world.hoshi, staff=True):
        made = open_case(
            tenant=world.hoshi,
            title="Loss of Hoshi Language Works is not a number",
            severity="high",
            by=world.person("lead_architect").actor,
            text="Node i-0123456789abcdef0 of hoshi fell out.",
            category="numerics",
        )
        return resolve_case(
            case=made,
            cause="hardware",
            by=world.person("lead_architect").actor,
            cause_text="A GPU of hoshi was broken.",
        )


def written(world: World, **more: object) -> Article:
    values = {"title": "Loss is not a number", "body": TEXT, "audience": "shared"} | more
    return articles.write_article(by=world.person("frameworks_specialist").actor, **values)  # type: ignore[arg-type]


def test_a_draft_from_a_case_tells_nothing_of_whose_it_was(world: World, case: Case) -> None:
    with acting_for(world.hoshi, staff=True):
        draft = articles.draft_of(case)
    text = f"{draft['title']}\n{draft['body']}".lower()
    assert "hoshi" not in text and "i-0123" not in text
    assert "a gpu of a participant was broken" in text and draft["category"] == "numerics"
    assert articles.leaks_in(draft["title"], draft["body"], [world.hoshi.pk]) == []


def test_an_article_that_tells_whose_case_it_was_is_not_published(world: World, case: Case) -> None:
    article = written(world, case=case, body="The cluster of Hoshi Language Works hung. So did Umi Vision.")
    with pytest.raises(Refused, match="Hoshi Language Works") as refused:
        articles.publish_article(article=article, by="engine")
    assert {leak["text"] for leak in refused.value.facts["leaks"]} == {"Hoshi Language Works", "Umi Vision"}
    assert article.state == "draft"
    # Who vouches for it is in the history, with what was vouched for.
    articles.publish_article(article=article, by="engine", despite=True)
    with reading_everyone():
        entry = Entry.objects.get(kind="article.published")
    assert entry.facts["vouched"] == ["Hoshi Language Works", "Umi Vision"]


def test_an_edit_of_a_published_article_is_checked_too(world: World) -> None:
    article = articles.publish_article(article=written(world), by="engine")
    with pytest.raises(Refused, match="umi"):
        articles.edit_article(
            article=article, title=article.title, body="As seen at umi.", audience="shared", by="engine"
        )
    articles.edit_article(
        article=article, title=article.title, body="As seen at umi.", audience="internal", by="engine"
    )


def test_the_database_shows_customers_published_articles_for_them_and_no_other(world: World) -> None:
    draft, shown = written(world), articles.publish_article(article=written(world), by="engine")
    articles.publish_article(article=written(world, audience="internal"), by="engine")
    with acting_for(world.hoshi):
        assert list(Article.objects.values_list("pk", flat=True)) == [shown.pk]
        assert ArticleVersion.objects.count() == 0
    client = Client()
    client.force_login(world.person("ml_engineer", world.hoshi), BACKEND)
    assert client.get(f"/articles/{draft.pk}/").status_code == 404
    assert "<em>not</em>" in client.get(f"/articles/{shown.pk}/").content.decode()
    articles.withdraw_article(article=shown, why="it was wrong", by="engine")
    assert client.get(f"/articles/{shown.pk}/").status_code == 404


def test_how_it_read_before_is_kept(world: World) -> None:
    article = written(world)
    seen = article.version
    articles.edit_article(
        article=article, title="Better", body="Other words.", audience="shared", by="engine", version=seen
    )
    with pytest.raises(Stale):
        articles.edit_article(article=article, title="Mine", body="x", audience="shared", by="engine", version=seen)
    with acting_for(world.office, staff=True):
        told = list(article.versions.order_by("number").values_list("number", "title", "body"))
    assert told == [(1, "Loss is not a number", TEXT), (2, "Better", "Other words.")]


def test_a_case_names_the_article_that_solves_it_to_the_participant_once_it_may_read_it(
    world: World, case: Case
) -> None:
    article = written(world)
    articles.link_case(case=case, article=article, by="engine")
    articles.link_case(case=case, article=article, by="engine")
    with acting_for(world.hoshi):
        assert not ArticleUse.objects.exists() and not Entry.objects.filter(kind="case.solved_by").exists()
    articles.publish_article(article=article, by="engine")
    client = Client()
    client.force_login(world.person("ml_engineer", world.hoshi), BACKEND)
    assert "Loss is not a number" in client.get(f"/t/hoshi/cases/{case.pk}/").content.decode()
    articles.unlink_case(case=case, article=article, by="engine")
    with acting_for(world.hoshi, staff=True):
        assert not ArticleUse.objects.exists()
        kinds = Entry.objects.filter(kind__in=("case.solved_by", "case.article_off")).order_by("id")
        assert list(kinds.values_list("kind", flat=True)) == ["case.solved_by", "case.article_off"]


@pytest.mark.parametrize(
    ("query", "hits"), [("loss number", 1), ("number LOSS", 1), ("loss bandwidth", 0), ("KB-001", 1), ("%", 0), ("", 1)]
)
def test_every_word_of_a_search_must_occur(world: World, query: str, hits: int) -> None:
    written(world)
    with acting_for(world.office, staff=True):
        assert articles.found_by(Article.objects.all(), query).count() == hits


def test_the_whole_of_it_by_pages(world: World, case: Case) -> None:
    staff = Client()
    staff.force_login(world.person("frameworks_specialist"), BACKEND)
    assert "Write one from this case" in staff.get(f"/t/hoshi/cases/{case.pk}/").content.decode()
    page = staff.get(f"/t/programme/articles/write/?case={case.pk}").content.decode()
    assert "a participant was broken" in page
    sent = {"title": "A broken GPU", "audience": "shared", "body": "hoshi saw it.", "case": str(case.pk)}
    assert staff.post("/t/programme/articles/write/", sent).status_code == 303
    with reading_everyone():
        article = Article.objects.get()
    page = staff.get(f"/articles/{article.pk}/").content.decode()
    assert "<code>hoshi</code>" in page and "line 2" in page
    where = f"/t/programme/articles/{article.pk}"
    assert staff.post(f"{where}/publish/", {}).status_code == 409
    sent = {"title": "A broken GPU", "audience": "shared", "body": "Seen once.", "version": "1"}
    assert staff.post(f"{where}/edit/", sent).status_code == 303
    assert staff.post(f"{where}/publish/", {}).status_code == 303
    assert "A broken GPU" in staff.get("/articles/?q=seen").content.decode()
    assert "Seen once." in staff.get(f"/articles/{article.pk}/versions/2/").content.decode()
    link = f"/t/hoshi/cases/{case.pk}/articles/"
    assert staff.post(link, {"article": "no id"}).status_code == 303
    assert staff.post(link, {"article": str(article.pk), "do": "unlink"}).status_code == 303
