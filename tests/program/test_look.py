"""The look keeps its promises: nothing from elsewhere, nothing inline, every icon there, parts that say what they must."""

import base64
import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django import forms
from django.template.loader import render_to_string
from django.urls import include, path
from django.utils import timezone

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "program" / "static"
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
urlpatterns = [path("accounts/", include("allauth.account.urls"))]
OURS = [STATIC / "program" / name for name in ("app.css", "app.js", "theme.js", "icons.svg", "mark.svg")]


def vendored() -> dict[str, str]:
    """File -> SHA-384, as VENDOR.md says."""
    text = (STATIC / "vendor" / "VENDOR.md").read_text()
    return dict(re.findall(r"\| `([^`]+)` \| `([^`]+)` \|", text))


def test_every_vendored_file_is_listed_with_its_hash() -> None:
    files = {str(file.relative_to(STATIC / "vendor")) for file in (STATIC / "vendor").glob("*/*")}
    assert files == set(vendored())
    for name, told in vendored().items():
        digest = hashlib.sha384((STATIC / "vendor" / name).read_bytes()).digest()
        assert base64.b64encode(digest).decode() == told, name


def test_every_vendored_folder_brings_its_licence() -> None:
    for folder in (STATIC / "vendor").iterdir():
        assert not folder.is_dir() or (folder / "LICENSE").exists(), folder.name


@pytest.mark.parametrize("file", OURS + TEMPLATES, ids=lambda file: file.name)
def test_nothing_is_fetched_from_elsewhere(file: Path) -> None:
    text = re.sub(r'xmlns(:\w+)?="[^"]+"', "", file.read_text())
    assert not re.search(r"""(src|href|url\(|@import)\s*[=(]?\s*["']?(https?:)?//""", text)


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_template_needs_an_inline_style_or_script(file: Path) -> None:
    text = file.read_text()
    text = re.sub(r"{%.*?%}", "", text)  # a name in a template's own tag is no attribute
    assert not re.search(r"<style|\sstyle\s*=|\son[a-z]+\s*=(?!=)|hx-on|javascript:", text)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text))


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_icon_in_use_is_in_the_sprite(file: Path) -> None:
    there = set(re.findall(r'<symbol id="([^"]+)"', (STATIC / "program" / "icons.svg").read_text()))
    text = file.read_text()
    used = set(re.findall(r"icons\.svg' %\}#([a-z-]+)\"|<use [^>]*\}\}#([a-z-]+)\"", text))
    names = {name for pair in used for name in pair if name} | set(
        re.findall(r'_icon\.html" with name="([a-z-]+)"', text)
    )
    assert names <= there


def test_the_style_sheet_uses_only_tokens_that_exist() -> None:
    css = (STATIC / "program" / "app.css").read_text()
    assert set(re.findall(r"var\((--[\w-]+)\)", css)) <= set(re.findall(r"(--[\w-]+):", css))


class Request(forms.Form):
    version = forms.IntegerField(widget=forms.HiddenInput)
    name = forms.CharField(label="Cluster name", max_length=8, help_text="Short.")
    size = forms.IntegerField(label="File system", required=False)
    engine = forms.ChoiceField(label="Engine", choices=[("s", "Slurm"), ("k", "Kubernetes")], widget=forms.RadioSelect)
    size.unit = "TiB"  # type: ignore[attr-defined]


def test_an_invalid_form_says_what_is_wrong_at_the_top_and_at_the_field() -> None:
    form = Request({"version": "3", "name": "far-too-long"})
    html = render_to_string("_form.html", {"form": form, "csrf_token": "t"})
    assert html.count("at most 8 characters") == 2
    assert 'href="#id_name"' in html and 'id="id_name_error"' in html
    assert 'aria-invalid="true"' in html and "id_name_error" in re.findall(r'aria-describedby="([^"]+)"', html)[0]
    assert 'href="#id_engine_group"' in html and 'id="id_engine_group"' in html


def test_a_form_carries_its_version_unit_and_token() -> None:
    form = Request({"version": "3", "name": "a", "engine": "s"})
    html = render_to_string("_form.html", {"form": form, "csrf_token": "t"})
    assert form.is_valid() and "error-summary" not in html
    assert re.search(r'type="hidden" name="version" value="3"', html)
    assert "<span>TiB</span>" in html and 'name="csrfmiddlewaretoken"' in html


def test_a_version_given_beside_the_form_is_kept_even_when_it_is_zero() -> None:
    html = render_to_string("_fields.html", {"form": forms.Form(), "version": 0})
    assert '<input type="hidden" name="version" value="0">' in html


def entry(hour: int, day: int = 30, **more: Any) -> SimpleNamespace:
    at = datetime(2026, 11, day, hour, tzinfo=UTC)
    given = {"sentence": f"at {hour}", "actor_name": "Aiko Mori", "icon": "case", "audience": "shared", "severity": ""}
    return SimpleNamespace(at=at, **{**given, **more})


def test_the_timeline_groups_by_the_reader_s_day() -> None:
    entries = [entry(16), entry(14), entry(10)]
    with timezone.override("Asia/Tokyo"):
        html = render_to_string("_timeline.html", {"entries": entries})
    assert re.findall(r'<time datetime="(\d{4}-\d\d-\d\d)">', html) == ["2026-12-01", "2026-11-30"]


def test_internal_entries_are_marked_in_words_and_shared_ones_are_not() -> None:
    html = render_to_string("_timeline.html", {"entries": [entry(12, audience="internal")]})
    assert 'data-audience="internal"' in html and ">internal</span>" in html
    assert ">internal</span>" not in render_to_string("_timeline.html", {"entries": [entry(12)]})


def test_what_people_write_is_never_markup() -> None:
    html = render_to_string("_timeline.html", {"entries": [entry(12, sentence="<b>x</b>")]})
    assert "<b>x</b>" not in html and "&lt;b&gt;" in html


@pytest.mark.parametrize("given", ["refused", "bare"])
def test_a_refusal_names_asked_allowed_unit_and_who(given: str) -> None:
    facts = {
        "asked": 16,
        "allowed": 0,
        "unit": "instances",
        "who": "your account team",
        "suggestion": "ml.p5en.48xlarge",
    }
    told = {"sentence": "None are left.", "facts": facts}
    html = render_to_string("_refused.html", {"refused": SimpleNamespace(**told)} if given == "refused" else told)
    for word in ("None are left.", ">16<", ">0<", "instances", "your account team", "ml.p5en.48xlarge"):
        assert word in html


def test_a_refusal_without_numbers_is_only_its_sentence() -> None:
    html = render_to_string("_refused.html", {"sentence": "Jobs are still running on it.", "facts": {"jobs": 2}})
    assert "Jobs are still running on it." in html and "<dl" not in html


@pytest.mark.parametrize("name", ["400.html", "403.html", "404.html", "500.html"])
def test_error_pages_need_nothing_from_anybody(name: str) -> None:
    html = render_to_string(name)
    assert "<h1" in html and 'href="/"' in html


@pytest.mark.urls(__name__)
@pytest.mark.parametrize("file", sorted((ROOT / "templates" / "account").glob("*.html")), ids=lambda file: file.name)
def test_every_sign_in_page_renders_in_our_shell(file: Path) -> None:
    html = render_to_string(f"account/{file.name}", {"form": Request(), "csrf_token": "t"})
    assert "program/app" in html and 'id="main"' in html
    assert file.name.startswith("base_") or "<h1" in html


@pytest.mark.urls(__name__)
def test_the_persona_picker_offers_each_person_under_their_organisation() -> None:
    person = SimpleNamespace(
        email="mina@hoshi.example", name="Mina Hoshi", role="Business lead", organisation="Hoshi Lab"
    )
    html = render_to_string(
        "account/login.html", {"form": Request(), "personas": [person], "persona_url": "/as", "csrf_token": "t"}
    )
    assert 'action="/as"' in html and 'name="email" value="mina@hoshi.example"' in html and "<h2>Hoshi Lab</h2>" in html


@pytest.mark.urls(__name__)
def test_without_personas_nobody_is_offered_any() -> None:
    assert "personas" not in render_to_string("account/login.html", {"form": Request(), "csrf_token": "t"})
