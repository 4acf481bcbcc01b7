"""Hostile and broken files: each is refused in a sentence with its line, in bounded time and memory."""

import json
import resource
import time

import pytest
import yaml

from clusters.documents.reading import LARGEST, Unreadable, decoded, read

REFUSED = {
    "54 a tag that runs code": ("a: 1\nb: !!python/object/apply:os.system ['echo']", "read_code", 2),
    "54 an alias": ("a: &a [x, x]\nb: [*a, *a]", "read_alias", 2),
    "54 an anchor inside itself": ("a: &x\n  b: *x", "read_alias", 2),
    "54 a bomb of aliases": (
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20)),
        "read_alias",
        2,
    ),
    "24 deep YAML in brackets": ("a:\n  " + "[" * 100_000, "read_deep", 2),
    "24 deep YAML in blocks": ("\n".join(" " * n + "a:" for n in range(200)), "read_deep", 61),
    "24 deep JSON": ('{"a":\n' * 5_000, "read_deep", 61),
    "56 a key twice in YAML": ("a: 1\nb: 2\na: 3", "read_twice", 3),
    "23 a key twice in JSON": ('{"a": 1,\n "b": {"c": 1,\n "c": 2}}', "read_twice", 3),
    "56 a tab": ("a:\n\tb: 1", "read_tab", 2),
    "57 two documents": ("a: 1\n---\nb: 2", "read_documents", 2),
    "3 a null byte": ("a: 1\nb: \0", "read_character", 2),
    "6 half a character": ("a: \ud800", "read_character", 1),
    "a template": ("Image:\n  Os: {{ os }}", "read_template", 2),
    "a template with statements": ("a: 1\n{% if x %}\nb: 1\n{% endif %}", "read_template", 2),
    "a field whose name is a list": ("a: 1\n? [b]\n: 1", "read_key", 2),
    "an unknown tag": ("a: !Ref Vpc", "read_tag", 1),
    "11 no number, JSON": ('{"a": NaN}', "read_number", 1),
    "11 infinite, YAML": ("a: 1\nb: .inf", "read_number", 2),
    "10 a number without end": ("a: " + "9" * 6_000, "read_number", 1),
    "10 a number without end, JSON": ('{"a": ' + "9" * 6_000 + "}", "read_number", 1),
    "10 too large for a number, JSON": ('{"a": 1e999}', "read_number", 1),
    "21 broken JSON": ('{"a": 1,\n "b": [1, 2}', "read_json", 2),
    "broken YAML": ("a: 1\nb: [1, 2", "read_yaml", 2),
    "nothing": (" \n ", "read_empty", 1),
    "too much": ("a" * (LARGEST + 1), "read_too_large", 1),
}


@pytest.mark.parametrize(("text", "code", "line"), REFUSED.values(), ids=list(REFUSED))
def test_a_bad_text_is_refused_with_its_line(text: str, code: str, line: int) -> None:
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Unreadable) as error:
        read(text)
    assert (error.value.finding.code, error.value.finding.values["line"]) == (code, line)
    assert error.value.finding.sentence()
    assert time.monotonic() - began < 5, "seconds"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000, "KiB"


@pytest.mark.parametrize(
    ("data", "code", "says"),
    [
        ("a: 1".encode("utf-16"), "read_encoding", "UTF-16"),
        ("a: 1".encode("utf-32"), "read_encoding", "UTF-32"),
        ("a: 1\nb: café".encode("latin-1"), "read_bytes", "Line 2: the byte 0xE9"),
        ("a: 構成".encode("shift_jis"), "read_bytes", "UTF-8"),
        (b"x" * 10_000_000, "read_too_large", "10,000,000"),
    ],
)
def test_row_46_another_encoding_is_refused_with_a_hint(data: bytes, code: str, says: str) -> None:
    with pytest.raises(Unreadable) as error:
        decoded(data)
    assert error.value.finding.code == code
    assert says in str(error.value)


def test_row_46_the_mark_of_utf_8_is_no_harm() -> None:
    assert read(decoded("\ufeffa: 構成".encode())).value == {"a": "構成"}
    assert read('\ufeff{"a": 1}').value == {"a": 1}


def test_row_55_what_yaml_takes_for_something_else_is_told_and_a_date_stays_text() -> None:
    found = read("a: no\nb: 012\nc: 12:30\nd: 2024-01-01\ne: 1e3\nf: 'no'\ng: 3.10")
    assert found.value == {
        "a": False,
        "b": 10,
        "c": 750,
        "d": "2024-01-01",
        "e": "1e3",
        "f": "no",
        "g": 3.1,
    }
    assert [(note.code, note.values["line"]) for note in found.notes] == [("read_surprise", n) for n in (1, 2, 3)]


def test_line_ends_of_windows_are_read_and_told() -> None:
    found = read("a: 1\r\nb: 2\r\n")
    assert found.value == {"a": 1, "b": 2}
    assert [note.code for note in found.notes] == ["read_line_ends"]


def test_it_says_the_same_as_the_usual_readers_and_knows_the_lines() -> None:
    text = "a:\n  - b: 1\n    c: [x, null, true, 1.5]\n  - |\n    two\n    lines\nd: {e: 0x1F, 'f g': ~}\n"
    found = read(text)
    assert found.value == yaml.safe_load(text)
    assert (found.line(("a", 0, "c")), found.line(("d", "f g")), found.line(("a", 0, "c", "nowhere"))) == (3, 7, 3)
    told = {"a": [1, {"b": None}], "c": "é\n"}
    assert read(json.dumps(told, indent=1)).value == told
    assert read('{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2}}').line(("b", "c")) == 4


def test_short_forms_of_templates_are_kept_where_they_are_asked_for() -> None:
    assert read("a: !Ref Vpc\nb: !GetAtt [x, Arn]\nc: !Sub\n  - '${a}'\n  - {a: 1}", tags=True).value == {
        "a": {"Ref": "Vpc"},
        "b": {"GetAtt": ["x", "Arn"]},
        "c": {"Sub": ["${a}", {"a": 1}]},
    }
    with pytest.raises(Unreadable):
        read("a: !!python/name:os.system", tags=True)


def test_the_largest_that_is_read_takes_little_time() -> None:
    line = "  key{n}: value\n"
    text = "a:\n" + "".join(line.format(n=n) for n in range(LARGEST // 18))
    began = time.monotonic()
    assert len(read(text).value["a"]) > 20_000
    assert time.monotonic() - began < 10
