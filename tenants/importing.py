"""Imports: a file is checked by doing what it says and taking it back; applying does the same and keeps it, or nothing of it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import structlog
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from tenants import entries, files
from tenants.history import timeline
from tenants.history.moves import LostRace, move
from tenants.import_export import CHANGED, KINDS, NEW, SAME, Hand, Kind, Step, decide, needed_headers
from tenants.many_lines import OneByOne
from tenants.models import Assignment, Attachment, Import, Person, Tenant, holding
from tenants.sheets import Problem, Sheet, read
from tenants.wall import roles
from tenants.wall.acting import SET, acting_for
from tenants.web.problems import Refused
from tenants.work import due, loop

log = structlog.get_logger(__name__)

AT_ONCE = 500  # rows that a request may look at; more are the workers'
TOGETHER = 500  # rows that are written at once
MOST_SHOWN = 100  # problems that are listed; the others are counted
MOST_CHANGES = 200
KEPT = timedelta(days=7)
PROGRESS_SECONDS = 1.0
RENEW_SECONDS = 20.0
WAITS = "import"
MEANWHILE = "changed_meanwhile"
NEAR = "near"
UNDER_WAY = ("checking", "applying")
# Whole or not at all is one transaction, and a long one: still shorter than what seals and reviews wait for.
LONGEST = "240s"


class CalledOff(Exception):
    """Somebody cancelled it while it was at work; everything is taken back."""


class _TakenBack(Exception):
    """Ends a look: what was done to see what would happen is not kept."""


Beat = Callable[[int], None]


@dataclass
class Outcome:
    """What a file does, or would do."""

    steps: list[Step] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def count(self, what: str) -> int:
        return sum(step.what == what for step in self.steps)

    @property
    def differs(self) -> bool:
        return any(step.what != SAME for step in self.steps)

    @property
    def marks(self) -> list[list[Any]]:
        return [[step.line, step.mark()] for step in self.steps if step.what != SAME]


def reach(place: Tenant, role: str, person: Person) -> dict[str, Tenant]:
    """Whose rows exist for whoever imports or exports here: a participant's own, at the office everybody's.

    The account team writes where it is assigned, at the office too.
    """
    found = readable(place)
    if place.is_office and role == roles.ACCOUNT_TEAM:
        rows = Assignment.objects.filter(holding(), person=person).exclude(duty="service")
        mine = set(rows.values_list("tenant", flat=True))
        found = {slug: tenant for slug, tenant in found.items() if tenant.pk in mine}
    return found


def readable(place: Tenant) -> dict[str, Tenant]:
    """Whose rows an export made here holds."""
    if not place.is_office:
        return {place.slug: place}
    return {tenant.slug: tenant for tenant in Tenant.objects.filter(is_office=False).order_by("slug")}


def parsed(kind: Kind, name: str, content: bytes, *, alone: bool) -> Sheet:
    """The table in a file of this kind. Raises Refused."""
    return read(content, name, known=[column.name for column in kind.columns], needed=needed_headers(kind, alone=alone))


def begin(
    *, kind: Kind, place: Tenant, name: str, content: bytes, media_type: str, person: Person, by: str, role: str, staff: bool
) -> Import:  # fmt: skip
    """Take a file and check it: at once when it is short, by the workers otherwise. In the scope of `place`.

    Raises Refused (422, 413) for a file that is no table of this kind, and for a short one with faults: `problems` are the
    first hundred, `problem_count` all of them; nothing is kept then.
    """
    name = files.fit_name(name)
    sheet = parsed(kind, name, content, alone=not place.is_office)
    run = Import(
        tenant=place, table=kind.word, name=name, format=sheet.format, person=person, asked_by=by, role=role,
        rows=len(sheet.lines),
    )  # fmt: skip
    if not sheet.lines:
        raise Refused(
            "file_empty", _("'%(name)s' has no row below its columns.") % {"name": name}, status=422, field="file"
        )
    run.save(force_insert=True)
    audience = "internal" if staff and place.is_office else "shared"
    files.attach(about=run, name=name, content=content, media_type=media_type, by=by, audience=audience)
    timeline.record(entries.IMPORT_ASKED, about=run, by=by, file=name)
    if run.rows > AT_ONCE:
        due.wish(WAITS, run.pk, tenant=place)
        return run
    outcome = carry_out(run, sheet, staff=staff, keep=False)
    if outcome.problems:
        raise _faulty(outcome.problems)
    _tell(run, outcome)
    return run


def _faulty(problems: Sequence[Problem]) -> Refused:
    first = problems[0]
    where = _("line %(line)s, column %(column)s") if first.column else _("line %(line)s")
    where %= {"line": first.line or 1, "column": first.column}
    sentence = _("Nothing is imported, because of faults (%(n)s). The first: %(where)s: %(sentence)s")
    shown = [problem.plain() for problem in problems[:MOST_SHOWN]]
    return Refused(
        "faulty", sentence % {"n": len(problems), "where": where, "sentence": first.sentence}, status=422, problems=shown,
        problem_count=len(problems),
    )  # fmt: skip


def apply(*, run: Import, by: str, person: Person, role: str, staff: bool, sure: bool = False) -> Import:
    """Do what was shown. Raises Refused (409) `changed_meanwhile` when it would be something else by now.

    Raises Refused (422) `near` unless `sure` when it would take in a participant called nearly as one that is there.

    A long one is only wished for: the workers do it, and show how far they are.
    """
    if run.state != "checked":
        raise Refused("import_state", _("This file is not waiting to be imported."), state=run.state)
    if person.pk != run.person_id or role != run.role or role not in KINDS[run.table].write:
        sentence = _("A file is imported by whoever sent it, with the role they had then. Send it yourself.")
        raise Refused("import_role", sentence, status=403)
    near = [change for change in run.changes if change.get("near")]
    if near and not sure:
        sentence = _(
            "Line %(line)s makes a new participant, '%(name)s', beside '%(near)s'. Correct the file, or confirm that it is new."
        )
        told = {"line": near[0]["line"], "name": near[0]["name"], "near": near[0]["near"]}
        lines = [change["line"] for change in near]
        raise Refused(NEAR, sentence % told, status=422, field="sure", lines=lines)
    run.asked_by = by
    Import.objects.filter(pk=run.pk).update(asked_by=by)
    if run.rows > AT_ONCE:
        move(run, "applying", by=by, columns={"done": 0}, file=run.name)
        due.wish(WAITS, run.pk, tenant=run.tenant_id)
        return run
    outcome = carry_out(run, stored(run), staff=staff, keep=True)
    if outcome.problems:
        raise _faulty(outcome.problems)
    _done(run, outcome)
    return run


def look_again(*, run: Import, staff: bool) -> Import:
    """Check a short file anew, after the rows it speaks of were changed: what is shown is then what is."""
    outcome = carry_out(run, stored(run), staff=staff, keep=False)
    before = dict(map(tuple, run.marks))
    now = dict(map(tuple, outcome.marks))
    run.meanwhile = sorted(line for line in {*before, *now} if before.get(line) != now.get(line))[:MOST_CHANGES]
    if not outcome.problems and not outcome.differs:
        _tell(run, outcome)
        return run
    _put(run, outcome)
    run.save(update_fields=[*FOUND, "meanwhile"])
    return run


def cancel(*, run: Import, by: str) -> None:
    """Call it off; what is at work takes back all it did."""
    move(run, "cancelled", by=by, columns={"ended_at": timezone.now(), **EMPTY}, file=run.name)
    _forget_file(run)


def _forget_file(run: Import) -> None:
    """What is over needs its file no more, and it may name people; the bytes go with the next sweep."""
    Attachment.objects.filter(subject=Import.SUBJECT, subject_id=run.pk).delete()


def call_off_the_old() -> int:
    """Files that nobody imported within a week are called off, within the scope; how many were. Old faults are forgotten."""
    edge = timezone.now() - KEPT
    rows = list(Import.objects.filter(state="checked", created_at__lt=edge)[:500])
    for run in rows:
        cancel(run=run, by="engine")
    Import.objects.filter(state="faulty", created_at__lt=edge).exclude(problems=[]).update(problems=[])
    return len(rows)


def stored(run: Import) -> Sheet:
    """The file of a run as it was sent, read again."""
    attachment = Attachment.objects.filter(subject=Import.SUBJECT, subject_id=run.pk).first()
    if attachment is None:
        raise Refused("file_lost", _("The file of this import is gone; send it again."), status=410)
    alone = not Tenant.objects.get(pk=run.tenant_id).is_office
    return parsed(KINDS[run.table], run.name, files.content_of(attachment), alone=alone)


def carry_out(run: Import, sheet: Sheet, *, staff: bool, keep: bool, beat: Beat | None = None) -> Outcome:
    """Do what every line says, through the actions of the pages; kept only without faults, with `keep`, and as it was shown.

    Raises Refused `changed_meanwhile` with the lines that would do something else than they were shown to.
    """
    kind, place = KINDS[run.table], Tenant.objects.get(pk=run.tenant_id)
    person = Person.objects.get(pk=run.person_id)
    tenants = reach(place, run.role, person)
    hand = Hand(run.asked_by, person, run.role, f"imported from {run.name}", staff)
    outcome = Outcome()
    try:
        with _within(tenants, sheet, staff) as there:
            around = kind.around(there)
            outcome.steps, outcome.problems = decide(kind, sheet, kind.rows(there), tenants, around)
            if keep and not outcome.problems:
                _refuse_what_was_not_shown(run, outcome)
            if not outcome.problems:
                outcome.problems = _do(kind, outcome.steps, around, hand, beat)
            if outcome.problems or not keep:
                raise _TakenBack
    except _TakenBack:
        pass
    return outcome


@contextmanager
def _within(tenants: dict[str, Tenant], sheet: Sheet, staff: bool) -> Iterator[list[Tenant]]:
    """The scope of the participants that a file names; of all of them where a line names none."""
    cells = [line.cells.get("participant") for line in sheet.lines]
    named = {cell.text.strip() for cell in cells if cell is not None}
    whole = "" in named or None in cells or "id" in sheet.headers
    there = [tenant for slug, tenant in tenants.items() if whole or slug in named]
    with acting_for(*there, staff=staff):
        yield there


def _refuse_what_was_not_shown(run: Import, outcome: Outcome) -> None:
    shown, now = dict(map(tuple, run.marks)), dict(map(tuple, outcome.marks))
    lines = sorted(line for line in {*shown, *now} if shown.get(line) != now.get(line))
    if lines:
        sentence = _(
            "Rows were changed since the file was checked (lines %(lines)s). Look at what would happen now, and import again."
        )
        told = ", ".join(str(line) for line in lines[:10]) + ("…" if len(lines) > 10 else "")
        raise Refused(MEANWHILE, sentence % {"lines": told}, lines=lines[:MOST_CHANGES])


def _do(kind: Kind, steps: Sequence[Step], around: Any, hand: Hand, beat: Beat | None) -> list[Problem]:
    problems: list[Problem] = []
    for first in range(0, len(steps), TOGETHER):
        some = steps[first : first + TOGETHER]
        if beat is not None:
            beat(first)
        if _together(kind, some, around, hand):
            continue
        for done, step in enumerate(some, first):
            if beat is not None:
                beat(done)
            try:
                _one(kind, step, around, hand)
            except Refused as refused:
                # Nothing of this transaction is kept any more, so that the next lines may still be looked at.
                fields = refused.facts.get("fields", {}) or {"": [refused.sentence]}
                for name, sentences in fields.items():
                    column = name if name in kind.by_name else ""
                    problems += [Problem(step.line, column, str(sentence)) for sentence in sentences]
            except IntegrityError:
                sentence = _(
                    "It breaks a rule of the data together with another row. What comes after it was not looked at."
                )
                return [*problems, Problem(step.line, "", sentence)]
    return problems


def _together(kind: Kind, steps: Sequence[Step], around: Any, hand: Hand) -> bool:
    """Do these in few statements; False, and nothing is done, where they have to be done one by one."""
    changed = [(step.row, _values(step)) for step in steps if step.what == CHANGED and step.row is not None]
    new = [step.given for step in steps if step.what == NEW]
    try:
        with transaction.atomic():
            if changed:
                kind.change_together(changed, hand)
            if new:
                kind.add_together(new, around, hand)
    except OneByOne:
        return False
    return True


def _one(kind: Kind, step: Step, around: Any, hand: Hand) -> None:
    if step.what == NEW:
        kind.add(step.given, around, hand)
    elif step.what == CHANGED and step.row is not None:
        kind.change(step.row, _values(step), hand)


def _values(step: Step) -> dict[str, Any]:
    return {name: new for name, (_old, new) in step.changes.items()}


FOUND = ("added", "changed", "same", "problem_count", "problems", "changes", "marks")
EMPTY: dict[str, Any] = {"problems": [], "changes": [], "marks": [], "meanwhile": []}


def _found(run: Import, outcome: Outcome) -> dict[str, Any]:
    kind = KINDS[run.table]
    changes = [
        {
            "line": step.line, "what": step.what, "name": step.name, "fresh": step.fresh, "near": step.near,
            "cells": [
                [name, *("" if value is None else str(kind.by_name[name].write(value))[:300] for value in pair)]
                for name, pair in step.changes.items()
            ],
        }
        # What somebody is asked about comes first, so that it is among those that are kept.
        for step in sorted(outcome.steps, key=lambda step: not step.near)
        if step.what != SAME
    ]  # fmt: skip
    return {
        "added": outcome.count(NEW), "changed": outcome.count(CHANGED), "same": outcome.count(SAME),
        "problem_count": len(outcome.problems), "problems": [each.plain() for each in outcome.problems[:MOST_SHOWN]],
        "changes": [] if outcome.problems else changes[:MOST_CHANGES], "marks": [] if outcome.problems else outcome.marks,
    }  # fmt: skip


def _put(run: Import, outcome: Outcome) -> None:
    for column, value in _found(run, outcome).items():
        setattr(run, column, value)


def _tell(run: Import, outcome: Outcome) -> None:
    """What was found out; where there is nothing to import, it is over."""
    found = _found(run, outcome)
    told = {"file": run.name, "new": found["added"], "changed": found["changed"], "problems": found["problem_count"]}
    state = "faulty" if outcome.problems else "checked" if outcome.differs else "unchanged"
    over = state != "checked"
    ended = {"ended_at": timezone.now()} if over else {}
    move(run, state, by=run.asked_by, columns={**found, **ended, "done": run.rows}, **told)
    if over:
        _forget_file(run)


def _done(run: Import, outcome: Outcome) -> None:
    found = _found(run, outcome)
    columns = {**found, **EMPTY, "done": run.rows, "ended_at": timezone.now()}
    move(run, "imported", by=run.asked_by, columns=columns, file=run.name, new=found["added"], changed=found["changed"])
    _forget_file(run)


@loop.handler(WAITS, queue="slow")
def work(held: due.Held) -> None:
    """Check or apply a long file. Whoever dies in the middle leaves nothing; the next holder begins anew."""
    with acting_for(held.tenant_id, staff=True):
        run = Import.objects.select_related("person", "tenant").get(pk=held.ref)
    with override(run.person.language), Beside(held) as beside:
        try:
            with acting_for(held.tenant_id, staff=True):
                _live_long()
                if run.state in UNDER_WAY:
                    _work(run, beat=beside.beat)
                due.remove(held)
        except (CalledOff, LostRace):
            log.info("import_called_off", run=str(run.pk))
            due.remove(held)


def _live_long() -> None:
    """Nought ends the clock that runs already; another limit alone would not move it."""
    with connection.cursor() as cursor:
        for limit in ("0", LONGEST):
            cursor.execute("select set_config('transaction_timeout', %s, true)", [limit])


def _work(run: Import, *, beat: Beat) -> None:
    keep, staff = run.state == "applying", run.role in roles.SEES_INTERNAL
    try:
        outcome = carry_out(run, stored(run), staff=staff, keep=keep, beat=beat)
    except Refused as refused:
        if refused.code != MEANWHILE:
            # Trying again would end the same way; whoever sent the file has to know.
            _tell(run, Outcome(problems=[Problem(None, "", str(refused.sentence))]))
            return
        outcome, keep = carry_out(run, stored(run), staff=staff, keep=False, beat=beat), False
        run.meanwhile = refused.facts["lines"]
        run.save(update_fields=["meanwhile"])
    if keep and not outcome.problems:
        _done(run, outcome)
    else:
        _tell(run, outcome)


class Beside:
    """A second connection, on which a long transaction tells how far it is, keeps its lease, and learns that it is called off."""

    def __init__(self, held: due.Held) -> None:
        self.held, self.other, self.told, self.renewed = held, connection.copy(), time.monotonic(), time.monotonic()

    def __enter__(self) -> "Beside":
        return self

    def __exit__(self, *_error: object) -> None:
        self.other.close()

    def beat(self, done: int) -> None:
        """Tell it at most every second. Raises CalledOff when nobody wants it any more."""
        now = time.monotonic()
        if now - self.told < PROGRESS_SECONDS:
            return
        self.told = now
        with self.other.cursor() as cursor:
            cursor.execute("begin")
            cursor.execute(SET, ["none", "{" + str(self.held.tenant_id) + "}", "on"])
            cursor.execute("update tenants_import set done = %s where id = %s returning state", [done, self.held.ref])
            row = cursor.fetchone()
            if now - self.renewed > RENEW_SECONDS:
                self.renewed = now
                cursor.execute(due.RENEW, [due.lease(), self.held.id, self.held.epoch])
            cursor.execute("commit")
        if row is not None and row[0] not in UNDER_WAY:
            raise CalledOff
