"""Tables of the portal as files: one description of each kind of row, from which templates, exports, previews and imports follow.

A layer declares its kinds with `kind()`; what a line of a file would do is decided here, without the database.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants.many_lines import OneByOne
from tenants.models import Person, Tenant
from tenants.nearness import Names
from tenants.sheets import Cell, Problem, Sheet
from tenants.web.bodies import nearest

CLEAR = "(clear)"  # an empty cell keeps what is there, so that emptying it needs a word
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
YES, NO = ("yes", "true", "1"), ("no", "false", "0")
TOLD = {
    "number": gettext_lazy("a number"),
    "boolean": gettext_lazy("a yes or no"),
    "date": gettext_lazy("a date"),
    "time": gettext_lazy("a time"),
    "nothing": gettext_lazy("nothing at all"),
}
LOOKS = {
    "text": gettext_lazy("text"),
    "number": gettext_lazy("a number, in digits without separators"),
    "day": gettext_lazy("a day like 2026-01-31"),
    "yes_no": gettext_lazy("yes or no"),
    "words": gettext_lazy("words with commas between them"),
    "choice": gettext_lazy("one of the words listed"),
    "moment": gettext_lazy("a time with its offset"),
}


@dataclass(frozen=True)
class Column:
    """A column: its word in the header, what its cells look like, and the form field that checks them as a page would.

    `needed`: a new row has to say it. `fixed`: shown, and may be sent back unchanged. `told`: shown, and not looked at.
    `once`: written for a new row, and not changed afterwards.
    """

    name: str
    label: Any
    form: forms.Field
    look: str = "text"
    needed: bool = False
    fixed: bool = False
    told: bool = False
    once: bool = False
    empty: Any = ""  # what an emptied cell holds
    clears: bool = True
    choices: tuple[tuple[str, Any], ...] = ()
    help: Any = ""
    model: Any = None  # the field of the model, whose rules are asked too

    def parse(self, cell: Cell) -> Any:
        """The value of a cell that is not empty. Raises ValidationError with what to do."""
        text = cell.text.strip()
        self._refuse_what_is_no_text(cell, text)
        if self.look == "choice":
            return self._choice(text)
        if self.look == "yes_no":
            if text.lower() not in YES + NO:
                raise ValidationError(_("'%(text)s' is neither yes nor no. Write one of these.") % {"text": text[:40]})
            return text.lower() in YES
        if self.look == "number" and not NUMBER.fullmatch(text):
            sentence = _(
                "'%(text)s' is no number as it is read here. Write digits without separators, like 1000 or 0.5."
            )
            raise ValidationError(sentence % {"text": text[:40]})
        if self.look == "day" and not DAY.fullmatch(text):
            raise ValidationError(_("'%(text)s' is no day. Write it like 2026-01-31.") % {"text": text[:40]})
        value = self.form.clean(text)
        if self.model is not None:
            self.model.run_validators(value)
        return value

    def _refuse_what_is_no_text(self, cell: Cell, text: str) -> None:
        wanted = {"number": "number", "day": "date", "yes_no": "boolean"}.get(self.look, "")
        if not cell.told or (cell.told == wanted and (self.look != "number" or NUMBER.fullmatch(text))):
            return
        sentence = _(
            "'%(text)s' is not text here but %(told)s, read as %(read)s. Put it in quotes, or make the cell a text cell."
        )
        raise ValidationError(sentence % {"text": text[:40], "told": TOLD[cell.told], "read": cell.read[:40]})

    def _choice(self, text: str) -> str:
        words = [word for word, _label in self.choices]
        if text not in words:
            hint = nearest(text, words)
            raise ValidationError(_("There is no '%(text)s' here. %(hint)s") % {"text": text[:40], "hint": hint})
        return text

    def write(self, value: Any) -> Any:
        """A value as the cell of a file: text, but numbers where they are some."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, Decimal):
            return f"{value.normalize():f}" if value else "0"
        if isinstance(value, datetime):
            return value.isoformat(timespec="seconds")
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, list):
            return ", ".join(str(item) for item in value)
        return str(value)


def of_model(column: models.Field, name: str = "", **told: Any) -> Column:
    """The column of a model's field, checked as the form of its page checks it."""
    form = column.formfield()
    look, choices = "text", tuple((str(word), label) for word, label in column.choices or () if word != "")
    if choices:
        look = "choice"
    elif isinstance(column, models.BooleanField):
        look = "yes_no"
    elif isinstance(column, models.DateField):
        look = "day"
    elif isinstance(column, models.IntegerField | models.DecimalField):
        look = "number"
    elif isinstance(form, forms.Field) and column.get_internal_type() == "ArrayField":
        look = "words"
    needed = not (column.blank or column.null or column.has_default())
    empty = None if column.null else [] if look == "words" else ""
    clears = bool(column.null or (column.blank and look != "yes_no"))
    made = {
        "label": column.verbose_name, "form": form, "look": look, "needed": needed, "empty": empty, "clears": clears,
        "choices": choices, "help": column.help_text, "model": column,
    }  # fmt: skip
    return Column(name or column.name, **(made | told))


@dataclass(frozen=True)
class Current:
    """A row that is there: its id where it has one, its values by column, and the thing itself."""

    id: str
    values: Mapping[str, Any]
    thing: Any = None


@dataclass(frozen=True)
class Hand:
    """Who writes: the actor of the history, the person, the role they have at that place, and why."""

    by: str
    person: Person
    role: str
    why: str
    staff: bool = False  # whether internal text exists for them


class Kind:
    """A kind of row. `key` are the columns by which a row without an id is found again."""

    word: str
    title: Any
    about: Any = ""
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    read: frozenset[str]
    write: frozenset[str]
    may_miss: tuple[str, ...] = ()  # of the key, what the first line need not name: `settle` fills it in
    makes_participants = False
    page = "participant"  # where its rows are shown, and the part of that page
    part = ""

    def rows(self, tenants: Sequence[Tenant]) -> Iterable[Current]:
        """The rows of these tenants, in the order of an export; within their scope."""
        raise NotImplementedError

    def around(self, tenants: Sequence[Tenant]) -> Any:
        """What lines are held against beside the rows themselves: the participations, for instance."""
        return None

    def settle(self, given: dict[str, Any], around: Any) -> Iterable[tuple[str, str]]:
        """Fill in what a line means without saying it; gives (column, sentence) for what cannot be."""
        return ()

    def add(self, given: Mapping[str, Any], around: Any, hand: Hand) -> None:
        raise NotImplementedError

    def change(self, row: Current, changes: Mapping[str, Any], hand: Hand) -> None:
        raise NotImplementedError

    def add_together(self, given: Sequence[Mapping[str, Any]], around: Any, hand: Hand) -> None:
        """`add` for each, in few statements. Raises OneByOne where that cannot be; then nothing was written."""
        raise OneByOne

    def change_together(self, asked: Sequence[tuple[Current, Mapping[str, Any]]], hand: Hand) -> None:
        """`change` for each, likewise."""
        raise OneByOne

    @cached_property
    def by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @property
    def has_id(self) -> bool:
        return "id" in self.by_name


KINDS: dict[str, Kind] = {}


def kind(declared: Kind) -> Kind:
    """Declare a kind of row that can be imported and exported."""
    KINDS[declared.word] = declared
    return declared


TEXT = forms.CharField(max_length=200, required=False)
ID = Column("id", gettext_lazy("Id"), TEXT, help=gettext_lazy("From an export; empty for a new row."))
PARTICIPANT = Column(
    "participant", gettext_lazy("Participant"), TEXT, help=gettext_lazy("Its short name, as in its address.")
)
NEW, CHANGED, SAME = "new", "changed", "same"


@dataclass(frozen=True)
class Step:
    """What a line would do: add a row, change one (column -> old and new), or nothing."""

    line: int
    what: str
    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    row: Current | None = None
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    fresh: bool = False  # it makes a participant that is not there yet
    near: str = ""  # the short name of one that is there and that it may have meant

    def mark(self) -> str:
        """A digest of exactly this: when it differs, something else would happen than what was shown."""
        told = [
            self.what,
            self.row.id if self.row else "",
            [(name, str(old), str(new)) for name, (old, new) in sorted(self.changes.items())],
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]


def needed_headers(kind: Kind, *, alone: bool) -> list[str]:
    """What the first line must name: the participant where there are several, and the key."""
    return [name for name in kind.key if not (name == "participant" and alone) and name not in kind.may_miss]


def decide(
    kind: Kind, sheet: Sheet, rows: Iterable[Current], tenants: Mapping[str, Any], around: Any
) -> tuple[list[Step], list[Problem]]:
    """What every line of a file would do with the rows that are there, and everything that is wrong with it."""
    present, problems = list(rows), list(sheet.problems)
    by_id = {row.id: row for row in present if row.id}
    by_key: dict[tuple[str, ...], list[Current]] = {}
    for row in present:
        by_key.setdefault(_key(kind, row.values), []).append(row)
    steps: list[Step] = []
    seen: dict[Any, int] = {}
    broken = {problem.line for problem in sheet.problems}
    names = Names({slug: getattr(tenant, "name", "") for slug, tenant in tenants.items()})
    for line in sheet.lines:
        if line.number in broken:
            continue
        given, cleared, wrong = _values(kind, line.number, line.cells)
        if not wrong:
            wrong = [Problem(line.number, *each) for each in _place(kind, given, tenants, around, by_id, names)]
        if wrong:
            problems += wrong
            continue
        step = _step(kind, line.number, given, cleared, by_id, by_key, seen)
        if kind.makes_participants and given.get("participant") not in tenants:
            step = _taking_in(line.number, step, given, names)
        (steps if isinstance(step, Step) else problems).extend([step] if isinstance(step, Step) else step)
    return steps, sorted(problems, key=lambda each: each.line or 0)


def _taking_in(number: int, step: Step | list[Problem], given: Mapping[str, Any], names: Names) -> Step | list[Problem]:
    """A line about a participant that is not there: with the one it may have meant, so that somebody is asked."""
    near = names.near(given.get("participant", ""), given.get("name", ""))
    if isinstance(step, Step):
        return replace(step, fresh=True, near=near)
    # What is wrong with it as a new row only hides that the short name is mistyped.
    return [Problem(number, "participant", _nobody(given["participant"], near)), *step] if near else step


def _nobody(slug: str, near: str) -> str:
    sentence = _("There is no participant '%(slug)s' here.") % {"slug": slug[:60]}
    return " ".join([sentence, _("Did you mean '%(name)s'?") % {"name": near}] if near else [sentence])


def _values(kind: Kind, number: int, cells: Mapping[str, Cell]) -> tuple[dict[str, Any], set[str], list[Problem]]:
    given: dict[str, Any] = {}
    cleared: set[str] = set()
    wrong: list[Problem] = []
    for name, cell in cells.items():
        column, text = kind.by_name[name], cell.text.strip()
        if column.told or (not text and not cell.told):
            continue
        if text == CLEAR:
            if column.clears and not column.fixed and name not in ("id", "participant"):
                cleared.add(name)
            else:
                wrong.append(Problem(number, name, _("This column cannot be cleared; write a value.")))
            continue
        try:
            given[name] = column.parse(cell)
        except ValidationError as error:
            wrong += [Problem(number, name, _naming(text, sentence)) for sentence in error.messages]
    return given, cleared, wrong


def _naming(text: str, sentence: str) -> str:
    """The sentence with the value that it is about, so that it is found again."""
    if text[:40] in sentence:
        return sentence
    return _("'%(text)s': %(why)s") % {"text": f"{text[:40]}…" if len(text) > 40 else text, "why": sentence}


def _place(
    kind: Kind,
    given: dict[str, Any],
    tenants: Mapping[str, Any],
    around: Any,
    by_id: Mapping[str, Current],
    names: Names,
) -> Iterable[tuple[str, str]]:
    """The participant of a line: the only one where there is one, otherwise one of those that exist for whoever imports."""
    row = by_id.get(str(given.get("id")).lower())
    if "id" in given and row is None:
        return [("id", _("There is no row with this id here. Leave it empty to add one."))]
    if "participant" in kind.by_name:
        if "participant" not in given and row is not None:
            given |= {
                name: row.values[name] for name in ("participant", "cycle") if name in row.values and name not in given
            }
        if "participant" not in given and len(tenants) == 1:
            given["participant"] = next(iter(tenants))
        slug = given.get("participant")
        if slug is None:
            return [("participant", _("Say which participant; the cell is empty."))]
        if slug not in tenants and not kind.makes_participants:
            return [("participant", _nobody(slug, names.near(slug)))]
    return list(kind.settle(given, around))


def _step(
    kind: Kind, number: int, given: dict[str, Any], cleared: set[str], by_id: Mapping[str, Current],
    by_key: Mapping[tuple[str, ...], list[Current]], seen: dict[Any, int],
) -> Step | list[Problem]:  # fmt: skip
    if "id" in given:
        row: Current | None = by_id[given["id"].lower()]
        for name in ("participant", "cycle"):
            if given.get(name, row.values.get(name)) != row.values.get(name):
                sentence = _("This row belongs to '%(there)s'; it cannot move. Leave the id empty to add another.")
                return [Problem(number, name, sentence % {"there": row.values[name]})]
    else:
        lacking = [name for name in kind.key if name not in given]
        if lacking:
            sentence = _("Write it, or the row's id: without it nobody knows which row is meant.")
            return [Problem(number, name, sentence) for name in lacking]
        found = by_key.get(_key(kind, given), [])
        if len(found) > 1:
            sentence = _("%(n)s rows are called so. Say which by its id; an export has it.")
            return [Problem(number, kind.key[-1], sentence % {"n": len(found)})]
        row = found[0] if found else None
    same = ("row", row.id or _key(kind, row.values)) if row else ("new", _key(kind, given))
    if same in seen:
        sentence = _("Line %(line)s is about the same row. Keep one of them.")
        return [Problem(number, kind.key[-1], sentence % {"line": seen[same]})]
    seen[same] = number
    return _adding(kind, number, given) if row is None else _changing(kind, number, given, cleared, row)


def _adding(kind: Kind, number: int, given: Mapping[str, Any]) -> Step | list[Problem]:
    wrong = [
        Problem(number, column.name, _("A new row needs it; the cell is empty."))
        for column in kind.columns
        if column.needed and not column.fixed and column.name not in given
    ]
    wrong += [
        Problem(number, column.name, _("It is not written by an import; leave it empty for a new row."))
        for column in kind.columns
        if column.fixed and column.name in given
    ]
    changes = {name: (None, value) for name, value in given.items() if name != "id"}
    return wrong or Step(number, NEW, named(kind, given), given, None, changes)


def _changing(
    kind: Kind, number: int, given: Mapping[str, Any], cleared: set[str], row: Current
) -> Step | list[Problem]:
    wanted = {name: value for name, value in given.items() if name not in ("id", "participant", "cycle")}
    wanted |= {name: kind.by_name[name].empty for name in cleared}
    changes = {name: (row.values.get(name), value) for name, value in wanted.items() if row.values.get(name) != value}
    wrong = [
        Problem(
            number, name,
            _("It is '%(there)s', and an import does not change it. Leave the cell empty.")
            % {"there": kind.by_name[name].write(old)},
        )
        for name, (old, _new) in changes.items()
        if kind.by_name[name].fixed or kind.by_name[name].once
    ]  # fmt: skip
    if wrong:
        return wrong
    return Step(number, CHANGED if changes else SAME, named(kind, row.values), given, row, changes)


def _key(kind: Kind, values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(kind.by_name[name].write(values.get(name))) for name in kind.key)


def named(kind: Kind, values: Mapping[str, Any]) -> str:
    """What a row is called in a list of what would happen."""
    return " · ".join(word for word in _key(kind, values) if word)[:160]
