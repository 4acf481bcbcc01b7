"""The catalogues hold every message of the source, translated, with its placeholders; the compiled ones are theirs."""

import ast
import re

import polib
import pytest
from django.utils import translation
from django.utils.translation import gettext, ngettext

from tests import messages

LANGUAGES = sorted(folder.name for folder in messages.LOCALE.iterdir())
PLACES = re.compile(r"%\(\w+\)[sd]|%s|\{\w+\}|</?\w+>")


def catalogue(language):
    return polib.pofile(str(messages.catalogue(language)))


def written(entry):
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_of_the_source_is_in_the_catalogue_and_nothing_else(language):
    there = {(entry.msgid, entry.msgid_plural) for entry in catalogue(language)}
    wanted = set(messages.messages())
    assert sorted(wanted - there) == [], "run `python -m tests.messages`, and translate what is new"
    assert sorted(there - wanted) == [], "run `python -m tests.messages`"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_is_translated(language):
    assert [entry.msgid for entry in catalogue(language) if not messages.translated(entry)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_has_the_places_that_are_filled_in(language):
    for entry in catalogue(language):
        for text in written(entry):
            assert sorted(PLACES.findall(text)) == sorted(PLACES.findall(entry.msgid_plural or entry.msgid)), (
                entry.msgid
            )


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_compiled_is_what_is_written(language):
    compiled = polib.mofile(str(messages.catalogue(language).with_suffix(".mo")))
    assert {entry.msgid: written(entry) for entry in compiled} == {
        entry.msgid: written(entry) for entry in catalogue(language) if messages.translated(entry)
    }


def test_messages_are_found_in_code_and_in_templates():
    found = messages.messages()
    assert "support/states.py" in found["{actor} opened the case {number}: {title}", ""]
    assert "templates/support/case.html" in found["What happened", ""]
    assert ("%(n)s day old", "%(n)s days old") in found
    source = 'x = _("one"); ngettext("a", "b", n); _(name); gettext_lazy("two"); other("no")'
    assert set(messages.in_python(source)) == {("one", ""), ("a", "b"), ("two", "")}


def test_every_sentence_of_the_history_is_a_message():
    """What declares a kind of entry hands its sentence through gettext."""
    for layer in messages.LAYERS:
        for file in (messages.ROOT / layer).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                called = getattr(node, "func", None)
                if (
                    isinstance(node, ast.Call)
                    and len(node.args) > 1
                    and "kind" in (getattr(called, "id", ""), getattr(called, "attr", ""))
                ):
                    assert not isinstance(node.args[1], ast.Constant | ast.JoinedStr), f"{file}:{node.lineno}"


def test_a_page_is_said_in_japanese():
    with translation.override("ja"):
        assert gettext("Cases") == "ケース"
        assert ngettext("%(n)s day", "%(n)s days", 3) % {"n": 3} == "3 日"


# One English word, one Japanese word: what must not come back, and what is said instead.
NOT_SAID = {
    "参加者": "参加機関", "参加組織": "参加機関", "アクションアイテム": "アクション項目", "オンボーディング": "受け入れ",
    "参照アーキテクチャ": "リファレンスアーキテクチャ", "計算フリート": "コンピュートフリート", "ベーススタック": "基盤スタック",
    "インターフェース": "インターフェイス", "事業者": "プロバイダー", "規則": "ルール", "テクニカルリード": "技術責任者", "ポッド": "Pod",
}  # fmt: skip


def test_one_english_word_has_one_japanese_word() -> None:
    said = {one.msgid: " ".join(written(one)) for one in catalogue("ja")}
    found = [(key, word) for key, text in said.items() for word in NOT_SAID if word in text and key != "Your people"]
    assert not found, "say what stands beside it in NOT_SAID"
