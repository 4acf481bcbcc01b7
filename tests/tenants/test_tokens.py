"""The command that issues a token: the token alone on the last line, every mistake a sentence."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tenants.history.models import Entry
from tenants.models import ApiToken
from tenants.wall.acting import acting_for


def issue(*arguments: str) -> str:
    out = StringIO()
    call_command("issue_token", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_the_token_stands_alone_on_the_last_line_and_opens_the_api(world, client):
    text = issue("Platform_Engineer.hoshi@example.org")
    assert text.endswith("\n") and " " not in text.splitlines()[-1]
    answer = client.get("/api/v1/me/", headers={"Authorization": f"Bearer {text.splitlines()[-1]}"})
    assert (answer.json()["email"], answer.json()["tenant"]) == ("platform_engineer.hoshi@example.org", "hoshi")


def test_a_token_can_be_narrowed_to_a_tenant_to_reading_and_in_time(world, client):
    text = issue(
        "programme_manager@example.org",
        "--tenant",
        "umi",
        "--days",
        "3",
        "--read",
        "--internal",
        "--name",
        "weekly export",
    ).strip()
    token = ApiToken.objects.get()
    assert (token.scope, token.internal, token.tenant, token.name) == ("read", True, world.umi, "weekly export")
    headers = {"Authorization": f"Bearer {text}"}
    assert [row["tenant"] for row in client.get("/api/v1/participations/", headers=headers).json()["results"]] == [
        "umi"
    ]
    assert client.get("/api/v1/t/hoshi/clusters/", headers=headers).status_code == 404


def test_that_a_token_was_issued_stands_in_the_history_and_the_token_nowhere(world):
    text = issue("viewer.hoshi@example.org", "--tenant", "hoshi").strip()
    with acting_for(world.hoshi):
        [entry] = Entry.objects.filter(kind="token.issued")
    assert text not in str(entry.facts)
    row = ApiToken.objects.get()
    assert text not in "".join(str(value) for value in vars(row).values())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nobody@example.org"], "Nobody who may sign in has the address nobody@example.org."),
        (
            ["viewer.hoshi@example.org", "--tenant", "hosi"],
            "There is no tenant 'hosi'. There are: hoshi, programme, umi.",
        ),
        (["viewer.hoshi@example.org", "--tenant", "umi"], "has no role at Umi Vision"),
        (["stranger@example.org"], "has no role anywhere"),
        (["viewer.hoshi@example.org", "--days", "0"], "1 to 365 days; you asked for 0"),
        (["viewer.hoshi@example.org", "--days", "366"], "1 to 365 days; you asked for 366"),
        (["viewer.hoshi@example.org", "--days", "many"], "invalid int value"),
        (["viewer.hoshi@example.org", "--name", ""], "1 to 80 characters"),
        ([], "email"),
    ],
)
def test_every_mistake_is_a_sentence_and_issues_nothing(world, arguments, says):
    with pytest.raises(CommandError) as refused:
        issue(*arguments)
    assert says in str(refused.value)
    assert refused.value.returncode == 1
    assert not ApiToken.objects.exists()
