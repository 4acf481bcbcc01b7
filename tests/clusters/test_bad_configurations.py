"""The bad inputs 59 to 71 for cluster configurations, by the real form: refused before any call, in a sentence with numbers.

Elsewhere: 63 asks nothing of a participant, since the scripts that run are ours (test_node_scripts); 69 lies with the
configurations that are kept (test_configurations); 71 with the plan of a change (test_change_plan); 72 and 73 speak of
job scripts and manifests and are told where jobs are launched.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from clusters.models import CloudAccount, Cluster, Reservation
from tenants.wall.acting import acting_for
from tenants.work.models import Due
from tests.clusters.test_pages import REQUEST, signed_in, told
from tests.clusters.test_pages import hoshi as hoshi
from tests.conftest import World
from tests.examples import Examples

COUNT, TYPE, PLAN = "groups-1-count", "groups-1-instance_type", "groups-1-training_plan"
ROWS = {
    "59 none": ({COUNT: "0"}, "You asked for 0 instances in group 2, Nodes; the least is 1."),
    "59 fewer than none": ({COUNT: "-4"}, "You asked for -4 instances in group 2, Nodes; the least is 1."),
    "59 more than the quota": ({COUNT: "17"}, "You asked for 17 ml.p5.48xlarge instances"),
    "59 more than the plan holds": (
        {COUNT: "21", PLAN: "tp-hoshi"},
        "from the training plan tp-hoshi; 20 of its 20 are left.",
    ),
    "60 a misspelt type": ({TYPE: "p5.48xlage"}, "Did you mean p5.48xlarge"),
    "61 a type that the zone does not have": ({TYPE: "p5en.48xlarge", "az_id": "apne1-az1"}, "apne1-az1"),
    "61 another zone than the plan": ({PLAN: "tp-hoshi", "az_id": "apne1-az1"}, "apne1-az4"),
    "62 an underscore": ({"name": "my_cluster"}, "my_cluster"),
    "62 too long": ({"name": "a" * 64}, "63"),
    "62 a digit in front": ({"name": "1st"}, "1st"),
    "62 a dash in front": ({"name": "-x"}, "-x"),
    "64 a subnet that is too small": ({"subnet": "/25", COUNT: "4"}, "129"),
    "65 a size that Lustre does not come in": ({"lustre_gib": "1300"}, "1300"),
    "66 a plan that is over": ({PLAN: "tp-over"}, "tp-over"),
    "67 a subnet outside its network": ({"vpc_cidr": "10.9.0.0/23"}, "10.9.0.0/23"),
    "67 a network that is everybody's": ({"vpc_cidr": "8.8.0.0/16"}, "8.8.0.0/16"),
    "68 two groups of one name": ({"groups-1-name": "head"}, "Two instance groups are called “head”."),
}


@pytest.mark.parametrize(("changes", "says"), ROWS.values(), ids=list(ROWS))
def test_it_is_refused_in_a_sentence_and_nothing_is_asked_for(
    world: World, hoshi: Examples, changes: dict[str, str], says: str
) -> None:
    with acting_for(world.hoshi):
        now = timezone.now()
        Reservation.objects.create(
            state="bought",
            tenant=world.hoshi,
            participation=world.participations["hoshi"],
            kind="training_plan",
            external_id="tp-over",
            region="ap-northeast-1",
            az_id="apne1-az4",
            instance_type="p5.48xlarge",
            count=20,
            starts_at=now - timedelta(days=9),
            ends_at=now - timedelta(days=1),
        )
    before = Due.objects.count()
    answer = signed_in(world.person("platform_engineer")).post(REQUEST, told(hoshi, **changes))
    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert Due.objects.count() == before
    with acting_for(world.hoshi):
        assert list(Cluster.objects.values_list("name", flat=True)) == ["lab-hoshi"]


@pytest.mark.parametrize(
    ("role", "says"),
    [
        ("arn:aws:iam::999999999999:role/Trainers", "is no role of this account, whose roles are arn:aws:iam::"),
        ("arn:aws-cn:iam::{number}:role/Trainers", "is no role of this account"),
        ("arn:aws:iam::{number}:root", "which is not the ARN of a role"),
        ("arn:aws:iam::{number}:user/me", "which is not the ARN of a role"),
        ("arn:aws:iam::{number}:role/*", "which is not the ARN of a role"),
    ],
)
def test_row_70_a_role_of_elsewhere_is_refused(world: World, hoshi: Examples, role: str, says: str) -> None:
    with acting_for(world.hoshi):
        number = CloudAccount.objects.get().account_id
    form = {name: value for name, value in told(hoshi).items() if not name.startswith("groups-")} | {
        "architecture": "hyperpod-eks",
        "kubernetes": "1.33",
        "tiered_storage": "0",
        "editor_role": role.format(number=number),
        "groups-TOTAL_FORMS": "1",
        "groups-INITIAL_FORMS": "0",
        "groups-0-name": "workers",
        "groups-0-instance_type": "p5.48xlarge",
        "groups-0-count": "2",
        "groups-0-role": "compute",
    }
    page = signed_in(world.person("platform_engineer")).post(REQUEST, form)
    assert page.status_code == 422
    assert says in page.content.decode()
