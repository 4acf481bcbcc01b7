"""With accounts that have not let Cohort in, no cluster becomes ready, nothing is made, and each says who has to do what."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from program.demo import launches
from program.transfer import programme_file
from tests.asking import Cloud, Portal, wait_for
from tests.tree import RunningTree

pytestmark = pytest.mark.tree

MANAGER = "hana.pm@nfmp.example"
CLUSTERS = {cluster["name"]: row for row, cluster in launches.launchable(programme_file.read())}
# The demo's clusters, asked for and approved by its people, but nobody plays the owner of an account.
ASKS = """
from django.utils import timezone
from program.demo import accounts, launches
from program.transfer import directory, programme_file, record
accounts._let_in = lambda *account: None
launches._wait_for_quotas = lambda *accounts: None
told = programme_file.read()
shift = programme_file.shift(told, timezone.now())
who = directory.load(told, shift)
record.load(told, shift, who)
assert launches.load(told, who, accounts.load(told, who), print) == []
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTree]:
    running = RunningTree(tmp_path_factory.mktemp("no-role") / "var", BELL_SECONDS="1", SANDBOX_SPEED="1200")
    try:
        running.wait_until_ready()
        running.manage("shell", "-c", ASKS, seconds=120)
        yield running
    finally:
        running.stop()


def test_every_cluster_waits_for_its_accounts_owner_and_says_so(tree: RunningTree) -> None:
    portal, seen = Portal(tree, MANAGER), set()

    def all_say() -> bool:
        rows = portal.rows("clusters/")
        seen.update(row["state"] for row in rows)
        return len(rows) == len(CLUSTERS) and all(row["needs_person"] for row in rows)

    wait_for("every cluster says that a person has to do something", all_say, 120)
    for row in portal.rows("clusters/"):
        account = CLUSTERS[row["name"]]["provider_account"]
        assert row["needs_person"].startswith(
            f"Account {account} does not let Cohort in. Its owner has to create the role"
        )
        assert f"arn:aws:iam::{account}:role/" in row["needs_person"]
    assert seen <= {"approved", "creating"} and portal.rows("nodes/") == []
    cloud = Cloud(tree)
    assert cloud.created() == []
    assert not [call for call in cloud.journal(limit=10_000) if call["operation"] != "AssumeRole" and call["effective"]]
