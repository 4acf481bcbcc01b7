"""The sandbox cloud as a process of its own, reached by HTTP only, and an account in it that has let Cohort in."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from clusters.providers import Account, aws
from program.devstack.embedded import die_with_parent

ROOT = Path(__file__).parents[2]
HUB = {"AWS_ACCESS_KEY_ID": "AKIACOHORTHUB000000A", "AWS_SECRET_ACCESS_KEY": "cohort-hub"}
SPEED = 60.0  # a minute of the cloud in a second; what takes longer is skipped by moving its clock


@dataclass
class Sandbox:
    """The doors that only tests use: the clock, the faults and the journal of all calls."""

    url: str

    def ask(self, path: str, body: Any = None, method: str | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_sandbox/{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())

    def later(self, minutes: float) -> None:
        self.ask("clock", {"advance": minutes * 60})

    @contextmanager
    def slowly(self) -> Iterator[None]:
        """In step with our own clock, so that a program finds what is in motion still in motion."""
        self.ask("speed", {"speed": 1})
        try:
            yield
        finally:
            self.ask("speed", {"speed": SPEED})

    def fault(self, fault: str, **where: Any) -> None:
        self.ask("faults", [{"fault": fault, **where}])

    def heal(self) -> None:
        self.ask("faults", method="DELETE")

    def journal(self, operation: str, account: str, *, effective: bool | None = None) -> list[dict[str, Any]]:
        query = urllib.parse.urlencode({"operation": operation, "account": account, "limit": 10_000})
        calls = self.ask(f"journal?{query}")["calls"]
        return [call for call in calls if effective is None or call["effective"] == effective]


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    state = tmp_path_factory.mktemp("cloud")
    command = [sys.executable, "-m", "clusters.sandbox", "--port", "0", "--state", str(state), "--speed", str(SPEED)]
    command += ["--programme", str(ROOT / "program" / "demo" / "programme.yaml")]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    with (state / "log").open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            preexec_fn=die_with_parent(signal.SIGKILL),
        )
    try:
        assert process.stdout
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found, (state / "log").read_text()
        yield Sandbox(found[0])
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def cloud(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """The sandbox with our own credentials in the environment, as the product is started."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {"AWS_ENDPOINT_URL": sandbox.url, **HUB}.items():
        monkeypatch.setenv(name, value)
    aws._start_again()
    yield sandbox
    sandbox.heal()
    aws._start_again()


def let_in(sandbox: Sandbox, number: str, region: str) -> Account:
    """As the account's owner: a role that only Cohort can assume, with the id that was made for this account."""
    role, external_id = "CohortProvisioner", f"external-{number}"
    condition = {"StringEquals": {"sts:ExternalId": external_id}}
    principal = {"AWS": "arn:aws:iam::999999999999:root"}
    trust = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole", "Condition": condition}
    allow = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    owner = botocore.session.Session().create_client(
        "iam",
        region_name=region,
        endpoint_url=sandbox.url,
        aws_access_key_id=f"AKIAOWNER{number}",
        aws_secret_access_key="owner",
    )
    document = lambda statement: json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    try:
        owner.create_role(RoleName=role, AssumeRolePolicyDocument=document(trust))
    except owner.exceptions.EntityAlreadyExistsException:
        pass
    owner.put_role_policy(RoleName=role, PolicyName="all", PolicyDocument=document(allow))
    return Account(number, region, f"arn:aws:iam::{number}:role/{role}", external_id, "contract-tests")
