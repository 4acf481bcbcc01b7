"""The hand-over sheet: what stands on it, what a participant never gets of it, and the same words on page, file and API."""

from datetime import timedelta

from django.utils import timezone

from program.decisions import end_action_item, give_action_item
from support.actions import open_case, plan_case, take_case
from tenants.actions import note_interaction
from tenants.models import MonitoringLink
from tenants.wall.acting import acting_for
from tests.clusters.test_pages import hoshi, signed_in
from tests.conftest import World
from tests.examples import Examples

__all__ = ["hoshi"]


def test_the_sheet_tells_all_and_the_participants_one_holds_nothing_internal(world: World, hoshi: Examples) -> None:
    lead, soon = world.person("lead_architect"), (timezone.now() + timedelta(days=3)).date()
    place = hoshi["participations"]
    with acting_for(world.hoshi, staff=True):
        case = open_case(tenant=world.hoshi, title="A | pipe [slow]", severity="high", by="engine")
        take_case(case=case, person=lead, by=lead.actor)
        plan_case(case=case, owner=lead, next_step="Swap the node", due=soon, by=lead.actor)
        for audience, text in (("internal", "They may leave"), ("shared", "They like it")):
            note_interaction(participation=place, medium="call", text=text, audience=audience, by=lead.actor)
            give_action_item(
                tenant=world.hoshi, text=f"Item {audience}", owner=lead, due=soon, by=lead.actor, audience=audience
            )
        over = give_action_item(
            tenant=world.hoshi, text="Item that is done", owner=lead, due=soon, by=lead.actor, audience="shared"
        )
        end_action_item(item=over, outcome="done", by=lead.actor)
        MonitoringLink.objects.create(
            tenant=world.hoshi, participation=place, kind="channel", name="#hoshi", link="https://chat.example/hoshi"
        )
    staff, customer = signed_in(lead), signed_in(world.person("ml_engineer"))
    secret = ("They may leave", "Item internal")
    shared = ("They like it", "Item shared", "Swap the node", "#hoshi", soon.isoformat(), "Lead Architect", case.number)
    internal = staff.get("/t/hoshi/hand-over/").content.decode()
    assert all(words in internal for words in (*secret, *shared, "the participant never gets it"))
    for client, query in ((staff, "?audience=shared"), (customer, ""), (customer, "?audience=internal")):
        for address in ("/t/hoshi/hand-over/", "/t/hoshi/hand-over/markdown/", "/api/v1/t/hoshi/hand-over/"):
            told = client.get(address + query).content.decode()
            assert all(words.replace("#", "") in told for words in shared), (address, query)
            assert not [words for words in secret if words in told], (address, query)
    assert "Item that is done" not in internal
    file = staff.get("/t/hoshi/hand-over/markdown/").content.decode()
    assert r"A \| pipe \[slow\]" in file and "| Swap the node |" in file and "made for Lead Architect" in file
    sections = {one["code"]: one for one in staff.get("/api/v1/t/hoshi/hand-over/").json()["sections"]}
    assert [row[1] for row in sections["ahead"]["rows"]][:1] and len(sections) == 12
    assert all(len(row) == len(one["columns"]) for one in sections.values() for row in one["rows"])
    assert staff.get("/t/hoshi/hand-over/?audience=x").status_code == 400
    assert staff.get("/t/programme/hand-over/").status_code == 404
    other = signed_in(world.person("ml_engineer", world.umi))
    assert other.get("/t/hoshi/hand-over/").status_code == 404
    assert "Nothing is due." in other.get("/t/umi/hand-over/").content.decode()
