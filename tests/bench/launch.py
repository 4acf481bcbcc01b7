"""`make bench`: eight HyperPod clusters launched together, by Cohort with two engine processes and by bare boto3.

Both run against the same sandbox process at the same speed, one after the other, each in accounts of its own with the
same quotas and training plans. Nothing is written down here but what was measured.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import django
import yaml

CHECKOUT = Path(__file__).parents[2]
TWIN = 500_000_000_000  # what is added to an account's number to get the one in which the bare calls are made
BOTH = "aim 1.5 or less, wish 1.25"

# What Cohort asks for beside the same work: that it fits, read afresh before anything is made, and that it works, by a job.
BESIDE = (
    "service-quotas:", "ec2:Describe", "sagemaker:ListTrainingPlans", "s3:ListBuckets", "slurm:", "ssm:", "secretsmanager:",
    "logs:",
)  # fmt: skip

APPROVED = """
import json
from clusters.models import Cluster
from tenants.history.models import Entry
from tenants.wall.acting import reading_everyone
with reading_everyone():
    rows = Cluster.objects.values_list("name", "state", "ready_at", "pk")
    began = dict(Entry.objects.filter(kind="cluster.requested").values_list("subject_id", "recorded_at"))
    print("MEASURED", json.dumps([[n, s, str(r), str(began[k])] for n, s, r, k in rows]))
"""


def twins(whole: dict[str, Any]) -> dict[str, Any]:
    """The programme with a second account beside each: same quotas, same reservations."""
    told = copy.deepcopy(whole)
    told["participants"] += [
        {**row, "slug": f"{row['slug']}-bare", "provider_account": _twin(row["provider_account"])}
        for row in whole["participants"]
    ]
    told["reservations"] += [{**row, "participant": f"{row['participant']}-bare"} for row in whole["reservations"]]
    told["sandbox_quotas"] += [{**row, "account": _twin(row["account"])} for row in whole["sandbox_quotas"]]
    return told


def _twin(account: Any) -> str:
    return str(TWIN + int(account))


def calls(cloud: Any, after: int, accounts: Iterable[str]) -> Counter[str]:
    """Calls by operation since then, in these accounts or into them; the sandbox counts every call that reached it.
    IAM is left out: only the loader of the demo calls it, as the owners of the accounts."""
    wanted = set(accounts)
    return Counter(
        f"{call['service']}:{call['operation']}"
        for call in cloud.journal(after=after, limit=200_000)
        if (call["account"] in wanted or wanted & set(call["parameters"].get("RoleArn", "").split(":")))
        and call["service"] != "iam"
    )


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument(
        "--speed", type=float, default=60, help="how many seconds of the cloud pass in one (60, as make up)"
    )
    words.add_argument("--every", type=float, default=15, help="seconds between two looks of the bare script")
    words.add_argument("--workers", type=int, default=2, help="engine processes of Cohort")
    wish = words.parse_args()
    os.environ |= {"DEBUG": "1", "DJANGO_SETTINGS_MODULE": "program.settings"}
    os.environ |= dict.fromkeys(("DB_HOST", "DB_PASSWORD", "BROKER_URL"), "unused")
    os.environ |= {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    django.setup()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return measure(Path(folder), wish)


def measure(folder: Path, wish: Any) -> int:
    from program.demo import launches
    from program.transfer import clusters, programme_file
    from tests import programmes
    from tests.asking import Cloud
    from tests.bench import bare
    from tests.tree import RunningTree

    whole = programme_file.read()
    eight = [(row, cluster) for row, cluster in launches.launchable(whole) if "hyperpod" in cluster["orchestrator"]]
    (folder / "cloud.yaml").write_text(yaml.safe_dump(twins(whole), sort_keys=False))
    none, all_eight = (
        programmes.only((), folder / "none"),
        programmes.only({c["name"] for _, c in eight}, folder / "all"),
    )
    print(f"{len(eight)} clusters, {sum(g['count'] for _, c in eight for g in c['instance_groups'])} instances; "
          f"{wish.workers} engine processes; the cloud {wish.speed:g} times as fast; bare looks every {wish.every:g} s; "
          f"Python {platform.python_version()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip
    tree = RunningTree(
        folder / "var", SANDBOX_SPEED=str(wish.speed), SANDBOX_PROGRAMME=str(folder / "cloud.yaml"),
        ENGINE_WORKERS=str(wish.workers),
    )  # fmt: skip
    try:
        tree.wait_until_ready()
        cloud = Cloud(tree)
        tree.manage("demo", "--file", str(none), seconds=300)  # accounts are known and read before anything is measured

        doing = []
        for row, cluster in eight:
            document = copy.deepcopy(clusters.configuration(row, cluster))
            document["storage"]["bucket"] = f"bare-{document['storage']['bucket']}"
            doing.append(
                bare.Launch.of(cloud.url, _twin(row["provider_account"]), cluster["name"], document, wish.every)
            )
        for account, region in {one.account: one.wish.region for one in doing}.items():
            bare.let_in(cloud.url, account, region)
        start = _last(cloud)
        began, ended = bare.together(doing)
        without = calls(cloud, start, {one.account for one in doing})
        alone = ended - began

        start = _last(cloud)
        tree.manage("demo", "--file", str(all_eight), "--wait", "--timeout", "900", seconds=1000)
        with_us = calls(cloud, start, {row["provider_account"] for row, _ in eight})
        rows = json.loads(tree.manage("shell", "-c", APPROVED).split("MEASURED", 1)[1])
        assert len(rows) == len(eight) and {state for _, state, _, _ in rows} == {"ready"}, rows
        ours = (max(_at(ready) for _, _, ready, _ in rows) - min(_at(began) for _, _, _, began in rows)).total_seconds()
    finally:
        tree.stop()
    return told(alone, ours, without, with_us)


def _last(cloud: Any) -> int:
    found = cloud.journal(limit=200_000)
    return int(found[-1]["id"]) if found else 0


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def told(alone: float, ours: float, without: Counter[str], with_us: Counter[str]) -> int:
    print(f"\n{'call':<46}{'bare':>7}{'Cohort':>8}")
    for name in sorted(without | with_us, key=lambda name: -(without[name] + with_us[name])):
        print(f"{name:<46}{without[name]:>7}{with_us[name]:>8}")
    time_ratio, call_ratio = ours / alone, with_us.total() / without.total()
    beside = sum(count for name, count in with_us.items() if name.startswith(BESIDE))
    same = (with_us.total() - beside) / without.total()
    print(f"\n{beside} of Cohort's calls are its preflight and its smoke jobs, which the script does not do; "
          f"the same work took {with_us.total() - beside}: ratio {same:.2f}")  # fmt: skip
    print(f"calls   bare {without.total()}, Cohort {with_us.total()}: ratio {call_ratio:.2f} ({BOTH})")
    print(
        f"seconds bare {alone:.1f} until in service, Cohort {ours:.1f} until proven ready: ratio {time_ratio:.2f} ({BOTH})"
    )
    print(json.dumps({
        "metric": "launch_of_eight", "seconds_bare": round(alone, 1), "seconds_cohort": round(ours, 1),
        "time_ratio": round(time_ratio, 2), "calls_bare": without.total(), "calls_cohort": with_us.total(),
        "call_ratio": round(call_ratio, 2), "same_work_call_ratio": round(same, 2),
    }))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
