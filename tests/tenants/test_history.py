"""The history: one writer, declared kinds, moves that happen whole or not at all, seals that notice."""

import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone, translation

from tenants.history import seals, timeline
from tenants.history.models import Entry
from tenants.history.moves import IllegalMove, LostRace, move
from tenants.history.timeline import record, sentence
from tenants.models import Due, Participation
from tenants.wall.acting import NoScope, acting_for


def later(minutes=1):
    return timezone.now() + timedelta(minutes=minutes)


def as_owner(sql, *values):
    with connection.cursor() as cursor:
        cursor.execute("set local role cohort_owner")
        cursor.execute(sql, values)
        cursor.execute("set local role none")


def test_nothing_is_recorded_outside_a_scope(world):
    with pytest.raises(NoScope):
        record("member.left", about=world.hoshi, by="engine", person="x")


def test_an_undeclared_kind_is_refused(world):
    with acting_for(world.hoshi), pytest.raises(LookupError, match="member.vanished"):
        record("member.vanished", about=world.hoshi, by="engine")


def test_who_reacts_is_wished_for_in_the_same_transaction(world):
    timeline.kind("test.reacts", "{actor} did", reacts=["triage"])
    with acting_for(world.hoshi):
        entry = record("test.reacts", about=world.hoshi, by="engine")
        assert Due.objects.get(kind="triage", ref=str(entry.pk)).tenant_id == world.hoshi.pk


def test_a_sentence_is_filled_from_facts_and_says_so_when_one_is_missing():
    timeline.kind("test.filled", "{actor} gave {thing} to {whom}")
    assert sentence("test.filled", "Ana", {"thing": ["a", "b"]}) == "Ana gave a, b to …"
    assert "no longer declared" in sentence("test.nowhere", "Ana", {})


def test_a_fact_cannot_smuggle_in_another_placeholder():
    assert sentence("test.filled", "{whom}", {"thing": "{actor}", "whom": "x"}) == "{whom} gave {actor} to x"


@pytest.mark.parametrize(
    ("kind", "facts", "said"),
    [
        ("interaction.noted", {"medium": "call"}, "Ai が通話を記録しました"),
        ("interaction.noted", {"medium": "meeting"}, "Ai が会議を記録しました"),
        ("capacity_request.waiting", {"what": "fewer", "reason": "–"}, "（削減）"),
        ("cluster.reach", {"how": "directly", "name": "c"}, "直接"),
        ("cluster.proof", {"result": "passed", "name": "c", "proof": "p"}, "（合格）"),
        ("report.due", {"report": "final report", "period": "C2"}, "最終報告書"),
        ("budget_watch.paused", {"until": "2030-01-01T09:30:00+09:00"}, "2030年1月1日 00:30 UTC"),
    ],
)
def test_a_word_of_ours_in_a_sentence_is_in_the_reader_s_language(kind, facts, said):
    with translation.override("ja"):
        assert said in sentence(kind, "Ai", facts)


def test_of_two_moves_from_the_same_state_one_happens(world):
    with acting_for(world.hoshi):
        mine, same = Participation.objects.get(), Participation.objects.get()
        move(mine, "suspended", by="engine", why="x")
        with pytest.raises(LostRace):
            move(same, "closing", by="engine")
        assert Participation.objects.get().state == "suspended"
        assert [entry.kind for entry in Entry.objects.all()] == ["participation.suspended"]


def test_a_move_raises_the_version_and_writes_its_columns(world):
    with acting_for(world.hoshi):
        mine = Participation.objects.get()
        move(mine, "closing", by="engine", columns={"sector": "speech"})
        now = Participation.objects.get()
        assert (now.state, now.sector, now.version) == (
            "closing",
            "speech",
            mine.version + 1 if isinstance(mine.version, int) else 2,
        )


def test_a_state_that_the_table_does_not_know_is_refused(world):
    with acting_for(world.hoshi), pytest.raises(IllegalMove):
        move(Participation.objects.get(), "flying", by="engine")


@pytest.fixture
def sealed(world):
    with acting_for(world.hoshi, staff=True):
        for name in ("a", "b", "c"):
            record("member.left", about=world.hoshi, by="engine", person=name)
        assert seals.seal(world.hoshi, until=later()).counts == {"member.left": 3}
        yield world.hoshi


def test_an_untouched_history_fits_its_seals(sealed):
    assert seals.verify(sealed) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("update tenants_entry set facts = '{}' where id = (select min(id) from tenants_entry)", "changed"),
        (
            "update tenants_entry set occurred_at = occurred_at - interval '1 second' where id = (select max(id) from tenants_entry)",
            "changed",
        ),
        ("update tenants_entry set actor = 'person:x' where id = (select max(id) from tenants_entry)", "changed"),
        ("delete from tenants_entry where id = (select min(id) from tenants_entry)", "2 entries, was sealed with 3"),
        ("delete from tenants_entry where id = (select max(id) from tenants_entry)", "2 entries, was sealed with 3"),
        ("delete from tenants_entry", "0 entries, was sealed with 3"),
    ],
)
def test_a_changed_removed_or_cut_line_is_noticed(sealed, change, says):
    as_owner(change)
    assert says in seals.verify(sealed)[0].reason


def test_a_line_that_was_put_in_later_is_noticed(sealed):
    as_owner(
        "insert into tenants_entry (tenant_id, kind, subject, subject_id, actor, action_id, facts, audience, severity, source, on_behalf_of)"
        " values (%s, 'member.left', 'tenant', %s, 'engine', %s, '{}', 'shared', '', 'portal', '')",
        sealed.pk,
        sealed.pk,
        uuid.uuid4(),
    )
    assert "4 entries, was sealed with 3" in seals.verify(sealed)[0].reason


def test_a_seal_that_was_taken_out_is_missed_by_the_next(sealed):
    record("member.left", about=sealed, by="engine", person="d")
    as_owner(
        "update tenants_entry set recorded_at = recorded_at + interval '2 minutes' where id = (select max(id) from tenants_entry)"
    )
    assert seals.seal(sealed, until=later(5)).entries == 1
    assert seals.verify(sealed) == []
    as_owner("delete from tenants_seal where id = (select min(id) from tenants_seal)")
    assert any("does not follow" in broken.reason for broken in seals.verify(sealed))


def test_what_has_not_settled_is_not_sealed(world, settings):
    settings.SETTLE_SECONDS = 300
    with acting_for(world.hoshi, staff=True):
        record("member.left", about=world.hoshi, by="engine", person="x")
        assert seals.seal(world.hoshi) is None
