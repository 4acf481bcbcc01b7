"""A participant's own script is looked at before it is kept, keeps its versions, and is named when it fails."""

import json

import pytest

from clusters import node_setups
from clusters.models import NodeSetupVersion
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused, Stale

GOOD = "#!/bin/bash\nset -euo pipefail\nnvidia-smi\n"


def keep(world, text=GOOD, name="drivers", **more):
    with acting_for(world.hoshi):
        return node_setups.keep(tenant=world.hoshi, name=name, text=text, by="engine", **more)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD.replace("\n", "\r\n"), "Line 1 ends as on Windows"),
        ("echo hello\n", "a script begins with #!"),
        ("", "empty"),
        ("#!/bin/bash\n" + "x" * node_setups.LARGEST, f"the most is {node_setups.LARGEST}"),
        (GOOD + "export K=AKIAABCDEFGHIJKLMNOP\n", "Line 4 holds what looks like a secret (an access key of AWS)"),
    ],
)
def test_what_a_node_would_stumble_over_is_not_kept(world, text, told):
    with pytest.raises(Refused) as refused:
        keep(world, text)
    assert told in refused.value.sentence and refused.value.facts["field"] == "text"


@pytest.mark.parametrize("name", ["", "Drivers", "a b", "-x", "x" * 41, "../etc"])
def test_a_name_is_plain(world, name):
    with pytest.raises(Refused) as refused:
        keep(world, name=name)
    assert refused.value.code == "node_setup_name"


def test_versions_are_counted_and_the_same_text_is_none(world):
    first = keep(world)
    with pytest.raises(Refused) as refused:
        keep(world)
    assert refused.value.code == "nothing_new"
    assert keep(world, GOOD + "true\n", version=2).number == 2
    with pytest.raises(Stale):
        keep(world, GOOD + "false\n", version=2)
    with acting_for(world.hoshi):
        body, wrong = node_setups.resolved({"node_setup": {"name": "drivers", "version": 1}})
        assert body["node_setup"]["sha256"] == first.sha256 and wrong == []
        for version in (3, 0, "1", True, 2**40):
            _body, wrong = node_setups.resolved({"node_setup": {"name": "drivers", "version": version}})
            assert [each.code for each in wrong] == ["node_setup_unknown"]
        changed = {"name": "drivers", "version": 1, "sha256": "0" * 64}
        assert node_setups.resolved({"node_setup": changed})[1]
        assert NodeSetupVersion.objects.count() == 2
    with acting_for(world.umi):
        assert node_setups.resolved({"node_setup": {"name": "drivers", "version": 1}})[1]


def test_the_newest_report_counts_and_only_its_own_node_speaks():
    def line(node, text):
        return {"at": 1, "node": node, "text": text}

    report = {"name": "drivers", "version": 3, "code": 7, "host": "ip-1"}
    lines = [
        line("b", "cohort-participant-said another node"),
        *[line("a", f"cohort-participant-said step {n}") for n in range(7)],
        line("a", f"x cohort-participant-setup {json.dumps(report)}"),
        line("a", "cohort-participant-setup {broken"),
    ]
    found = node_setups.failure(lines)
    assert (found.name, found.number, found.code, found.lines) == (
        "drivers", 3, 7, ("step 2", "step 3", "step 4", "step 5", "step 6"))  # fmt: skip
    assert node_setups.failure(lines[:3]) is None
