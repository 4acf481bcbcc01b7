"""Files: what is kept and under which name, who may open one, and that no death leaves a row without its content."""

import os
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client

from support.actions import ask_customer, escalate_case, open_case
from support.models import Case
from tenants import files
from tenants.files import attach, fit_name, lost, name_from, sweep
from tenants.history.models import Entry
from tenants.models import Attachment, Membership, Tenant
from tenants.wall.acting import acting_for
from tenants.wall.identity import issue_token
from tenants.web.problems import Refused
from tests.conftest import World

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def case(world: World) -> Case:
    with acting_for(world.hoshi):
        return open_case(tenant=world.hoshi, title="It broke", severity="high", by="engine")


def signed_in(world: World, role: str, tenant: Tenant | None = None) -> Client:
    client = Client()
    client.force_login(world.person(role, tenant), "allauth.account.auth_backends.AuthenticationBackend")
    return client


def with_token(world: World, role: str, tenant: Tenant | None = None) -> Client:
    _row, text = issue_token(person=world.person(role, tenant), name="test")
    return Client(headers={"Authorization": f"Bearer {text}"})


def kept(case: Case, name: str = "a.log", content: bytes = b"line", audience: str = "shared") -> Attachment:
    with acting_for(case.tenant_id, staff=True):
        return attach(about=case, name=name, content=content, media_type="text/plain", by="engine", audience=audience)


def page_of(case: Case) -> str:
    return f"/t/hoshi/cases/{case.pk}/"


def upload(name: str, content: bytes = b"content") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, "text/plain")


JAPANESE = "学習ログ（三月）.txt"


@pytest.mark.parametrize(
    ("sent", "kept_as"),
    [
        ("train.log", "train.log"),
        (f"  {JAPANESE} ", JAPANESE),
        (unicodedata.normalize("NFD", "ガ.txt"), "ガ.txt"),  # as macOS sends it
        ('a "b" & c;.log', 'a "b" & c;.log'),
        ("x" * 200, "x" * 200),
    ],
)
def test_a_name_is_kept_as_it_is_read(sent: str, kept_as: str) -> None:
    assert fit_name(sent) == kept_as


@pytest.mark.parametrize(
    "sent", ["", " ", ".", "..", "../x", "a/b", "a\\b", "a\x00b", "a\nb", "gnp\u202eexe", "x" * 201]
)
def test_a_name_that_is_none_is_refused_in_a_sentence(sent: str) -> None:
    with pytest.raises(Refused) as refused:
        fit_name(sent)
    assert (refused.value.code, refused.value.status) == ("file_name", 422) and str(refused.value).endswith(".")


@pytest.mark.parametrize("text", ["run/1.log", "..", "", "a\x00.log", "x" * 300, "普通.log"])
def test_a_program_always_finds_a_name(text: str) -> None:
    assert fit_name(name_from(text))


@pytest.mark.django_db
def test_a_file_is_handed_out_as_a_download_with_its_name(world: World, case: Case) -> None:
    row = kept(case, JAPANESE, b"\xff\x00<script>")
    answer = signed_in(world, "viewer").get(f"/t/hoshi/files/{row.pk}/")
    assert answer.content == b"\xff\x00<script>"
    assert answer["Content-Disposition"].startswith("attachment; filename*=utf-8''%E5%AD%A6")
    assert answer["Content-Type"] == "application/octet-stream" and answer["X-Content-Type-Options"] == "nosniff"


@pytest.mark.django_db
def test_an_internal_file_does_not_exist_for_the_participant(world: World, case: Case) -> None:
    row = kept(case, audience="internal")
    for door in (f"/t/hoshi/files/{row.pk}/", f"/api/v1/files/{row.pk}/", f"/api/v1/t/hoshi/files/{row.pk}/content/"):
        assert signed_in(world, "platform_engineer").get(door).status_code == 404, door
        assert signed_in(world, "frameworks_specialist").get(door).status_code == 200, door
    assert signed_in(world, "viewer").get("/api/v1/t/hoshi/files/").json()["results"] == []
    assert str(row.pk) not in signed_in(world, "viewer").get(page_of(case)).content.decode()


@pytest.mark.django_db
def test_a_service_engineer_opens_the_files_of_the_own_components_cases_only(world: World, case: Case) -> None:
    row = kept(case)
    engineer = world.person("service_engineer")
    Membership.objects.filter(person=engineer).update(team="fsx")
    with acting_for(world.hoshi, staff=True):
        other = open_case(tenant=world.hoshi, title="Storage", severity="high", by="engine")
        escalate_case(case=other, component="fsx", why="They know.", by="engine")
    theirs = kept(other)
    client = signed_in(world, "service_engineer")
    assert client.get(f"/t/hoshi/files/{theirs.pk}/").status_code == 200
    assert client.get(f"/t/hoshi/files/{row.pk}/").status_code == 404


@pytest.mark.django_db
def test_what_no_layer_declared_is_handed_out_to_nobody(world: World, case: Case, monkeypatch: Any) -> None:
    row = kept(case)
    monkeypatch.delitem(files.SUBJECTS, "case")
    assert signed_in(world, "programme_manager").get(f"/t/hoshi/files/{row.pk}/").status_code == 404


@pytest.mark.django_db
def test_what_an_auditor_opened_is_recorded(world: World, case: Case) -> None:
    row = kept(case)
    signed_in(world, "auditor").get(f"/t/hoshi/files/{row.pk}/")
    with acting_for(world.hoshi, staff=True):
        assert Entry.objects.get(kind="audit.opened").facts["path"] == f"/t/hoshi/files/{row.pk}/"


@pytest.mark.django_db
@pytest.mark.parametrize("damage", [None, b"", b"othe"])
def test_content_that_is_lost_or_damaged_is_said_and_found_by_verify(
    world: World, case: Case, damage: bytes | None, capsys: Any
) -> None:
    row = kept(case, "precious.log")
    path = Path(default_storage.path(row.stored_as))
    path.unlink() if damage is None else path.write_bytes(damage)
    answer = signed_in(world, "viewer").get(f"/api/v1/files/{row.pk}/content/")
    assert answer.status_code == 410 and "precious.log" in answer.json()["detail"]
    if damage != b"othe":  # of the same size: only opening it shows
        with pytest.raises(SystemExit):
            call_command("verify")
        assert "precious.log" in capsys.readouterr().out


@pytest.mark.django_db
def test_the_api_lists_files_and_takes_any_accept_header_for_their_bytes(world: World, case: Case) -> None:
    first, second = kept(case, "1.log"), kept(case, "2.log", b"22")
    client = with_token(world, "viewer")
    page = client.get(f"/api/v1/files/?subject=case&subject_id={case.pk}&page_size=1").json()
    with acting_for(world.hoshi):
        newest = max((first, second), key=lambda row: (Attachment.objects.get(pk=row.pk).created_at, row.pk))
    assert [row["name"] for row in page["results"]] == [newest.name]
    following = client.get(page["next"]).json()
    assert {row["name"] for row in page["results"] + following["results"]} == {"1.log", "2.log"}
    [shown] = [row for row in page["results"] + following["results"] if row["name"] == "2.log"]
    answer = client.get(shown["content"], headers={"Accept": "application/octet-stream"})
    assert (answer.status_code, answer.content, shown["size"]) == (200, b"22", 2)
    assert client.get("/api/v1/files/?subject=part").json()["results"] == []


@pytest.mark.django_db
def test_a_customer_attaches_a_file_on_the_page_and_the_history_says_so(world: World, case: Case) -> None:
    client = signed_in(world, "ml_engineer")
    answer = client.post(page_of(case) + "attach/", {"file": upload(JAPANESE), "audience": "internal"})
    assert answer.status_code == 303, answer.content.decode()
    with acting_for(world.hoshi, staff=True):
        row = Attachment.objects.get()
        entry = Entry.objects.get(kind="case.file")
    assert (row.name, row.audience, row.size) == (JAPANESE, "shared", 7)
    assert entry.facts["name"] == JAPANESE and entry.actor == world.person("ml_engineer").actor
    page = client.get(page_of(case)).content.decode()
    assert f"/t/hoshi/files/{row.pk}/" in page and JAPANESE in page


@pytest.mark.django_db
def test_staff_say_who_may_read_it(world: World, case: Case) -> None:
    client = signed_in(world, "lead_architect")
    assert client.post(page_of(case) + "attach/", {"file": upload("a.log")}).status_code == 422
    client.post(page_of(case) + "attach/", {"file": upload("a.log"), "audience": "internal"})
    with acting_for(world.hoshi):
        assert not Attachment.objects.exists() and not Entry.objects.filter(kind="case.file").exists()
    with acting_for(world.hoshi, staff=True):
        assert Attachment.objects.get().audience == "internal"


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["viewer", "auditor", "business_lead"])
def test_who_may_not_answer_may_not_attach(world: World, case: Case, role: str) -> None:
    assert signed_in(world, role).post(page_of(case) + "attach/", {"file": upload("a.log")}).status_code == 403
    assert "attach/" not in signed_in(world, role).get(page_of(case)).content.decode()


@pytest.mark.django_db
def test_what_a_customer_sends_ends_the_wait_for_it(world: World, case: Case) -> None:
    with acting_for(world.hoshi, staff=True):
        ask_customer(case=case, text="Send the log.", by=world.person("lead_architect").actor)
    signed_in(world, "ml_engineer").post(page_of(case) + "attach/", {"file": upload("a.log")})
    with acting_for(world.hoshi, staff=True):
        assert Case.objects.get(pk=case.pk).state == "in_progress"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("file", "status", "says"),
    [
        (upload("empty.log", b""), 422, "empty"),
        (None, 422, "file"),
        (upload("big.bin", b"x" * (20 * 1024 * 1024 + 1)), 413, "20"),
        (upload("huge.bin", b"x" * (22 * 1024 * 1024)), 413, "20 MiB"),
        (upload("x" * 230 + ".log"), 422, "200"),
    ],
)
def test_a_file_that_cannot_be_kept_is_refused_at_both_doors(
    world: World, case: Case, file: Any, status: int, says: str
) -> None:
    for client, address in (
        (signed_in(world, "ml_engineer"), page_of(case) + "attach/"),
        (with_token(world, "ml_engineer"), f"/api/v1/t/hoshi/cases/{case.pk}/files/"),
    ):
        if file:
            file.seek(0)
        answer = client.post(address, {"file": file} if file else {"audience": "shared"})
        said = answer.content.decode()
        assert answer.status_code == status and says in said, said
    with acting_for(world.hoshi, staff=True):
        assert not Attachment.objects.exists()


@pytest.mark.django_db
def test_too_much_is_refused_before_it_is_read_and_before_anybody_is_asked(world: World) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.get("/accounts/login/")
    answer = strict.post("/accounts/login/", {"file": upload("huge.bin", b"x" * (22 * 1024 * 1024))})
    assert answer.status_code == 413 and "20 MiB" in answer.content.decode()


@pytest.mark.django_db
def test_the_api_takes_a_form_keeps_the_name_and_answers_a_repetition_alike(world: World, case: Case) -> None:
    client = with_token(world, "ml_engineer")
    address = f"/api/v1/t/hoshi/cases/{case.pk}/files/"
    key = {"Idempotency-Key": "once"}
    first = client.post(address, {"file": upload("../../etc/学習.log")}, headers=key)
    assert first.status_code == 201 and first.json()["name"] == "学習.log", first.content
    again = client.post(address, {"file": upload("../../etc/学習.log")}, headers=key)
    assert again.json() == first.json() and again["Idempotency-Replayed"] == "true"
    other = client.post(address, {"file": upload("../../etc/学習.log", b"other")}, headers=key)
    assert other.status_code == 422
    listed = client.get(address).json()["results"]
    assert [row["id"] for row in listed] == [first.json()["id"]]
    assert client.get(listed[0]["content"]).content == b"content"
    assert client.post(address, {"title": "x"}, content_type="application/json").status_code == 415
    assert client.post(address, {"file": upload("a"), "audience": "internal"}).status_code == 403
    broken = client.generic("POST", address, b"--x", content_type="multipart/form-data")
    assert broken.status_code == 400


DIES = """
import os, signal, sys
import django
django.setup()
from django.core.files.storage import default_storage
from tenants.files import attach
from tenants.models import Attachment, Tenant
from tenants import storage
from tenants.wall.acting import acting_for
where, slug = sys.argv[1:]
die = lambda *words, **more: os.kill(os.getpid(), signal.SIGKILL)
tenant = Tenant.objects.get(slug=slug)
about = type("About", (), {"tenant_id": tenant.pk, "pk": tenant.pk, "SUBJECT": "case"})
if where == "while writing":
    storage.os.fsync = die
if where == "between bytes and row":
    Attachment.save = die
with acting_for(tenant):
    attach(about=about, name="a.log", content=b"a" * 100_000, media_type="text/plain", by="engine")
    if where == "before the commit":
        die()
die()
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("where", ["while writing", "between bytes and row", "before the commit", "after the commit"])
def test_a_process_killed_while_attaching_leaves_no_row_without_its_content(where: str, db: Any) -> None:
    tenant = Tenant.objects.create(slug="killed", name="Killed")
    environment = {
        **os.environ,
        "DB_NAME": connection.settings_dict["NAME"],
        "DJANGO_SETTINGS_MODULE": "program.settings",
    }
    done = subprocess.run([sys.executable, "-c", DIES, where, "killed"], cwd=CHECKOUT, env=environment, timeout=60)
    assert done.returncode == -signal.SIGKILL
    with acting_for(tenant):
        rows = list(Attachment.objects.all())
        assert lost(tenant) == []
    assert len(rows) == (where == "after the commit")
    assert sweep(tenant) == 1 - len(rows), "what the dead left is removed, and what is kept stays"
    assert sweep(tenant) == 0
    with acting_for(tenant):
        assert all(len(files.handed_out(row).content) == 100_000 for row in rows)


@pytest.mark.django_db(transaction=True)
def test_a_sweep_takes_nothing_from_under_somebody_who_is_attaching(db: Any) -> None:
    tenant = Tenant.objects.create(slug="busy", name="Busy")
    about = type("About", (), {"tenant_id": tenant.pk, "pk": tenant.pk, "SUBJECT": "case"})
    with transaction.atomic(), acting_for(tenant):
        row = attach(about=about, name="a.log", content=b"a", media_type="", by="engine")
        environment = {**os.environ, "DB_NAME": connection.settings_dict["NAME"]}
        environment |= {"DJANGO_SETTINGS_MODULE": "program.settings"}
        words = "import django; django.setup(); from tenants import files, models; "
        words += "print(files.sweep(models.Tenant.objects.get(slug='busy')))"
        swept = subprocess.run(
            [sys.executable, "-c", words], cwd=CHECKOUT, env=environment, timeout=60, capture_output=True, text=True
        )
    assert swept.stdout.strip() == "0", swept.stderr
    with acting_for(tenant):
        assert files.handed_out(row).content == b"a"
