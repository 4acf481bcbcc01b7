"""The catalogue as a plain repository, for teams that deploy by hand: templates, scripts, filled-in requests, guides, checksums.

Requests are made by the same functions that the engine uses, with `${names}` where an account's own values belong.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import yaml

from clusters import catalogue, facts
from clusters.architectures import FOLDER, Architecture, Parameter
from clusters.architectures.configuration import Configuration, read_configuration
from clusters.architectures.parts import OBSERVABILITY, Wiring, monitor_files, parts

BY_HAND = FOLDER / "by_hand"
PLACES = {
    "ZoneId": "${zone}",
    "ZoneA": "${zone}",
    "ZoneB": "${other_zone}",
    "ControlZoneA": "${control_zone_a}",
    "ControlZoneB": "${control_zone_b}",
}
NODES, HEAD = 2, "m5.8xlarge"
EFFECTS = {
    "none": "nothing changes on a running cluster",
    "in_place": "a running cluster takes it without stopping jobs",
    "drain": "nodes are replaced group by group, once their jobs have ended",
    "rebuild": "needs a new cluster; the file systems stay",
}
# A zip knows no earlier day; the same catalogue is the same file, whenever it is written.
EPOCH = (1980, 1, 1, 0, 0, 0)


class _Outputs(Mapping[str, str]):
    """Stands for what a stack gives once it is there."""

    def __init__(self, stack: str) -> None:
        self.stack = stack

    def __getitem__(self, name: str) -> str:
        return f"${{{self.stack}_{name}}}"

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


def repository(architectures: Iterable[Architecture]) -> dict[str, str]:
    """Path -> text of every file."""
    shelf = list(architectures)
    found = {"README.md": _front(shelf)}
    for each in shelf:
        found |= {f"{each.slug}/{path}": text for path, text in folder(each).items()}
    return found


def folder(architecture: Architecture) -> dict[str, str]:
    """The files of one architecture."""
    wish = example(architecture)
    asked = {f"templates/{part.role}.yaml" for part in architecture.parts if not part.when or getattr(wish, part.when)}
    found = {
        file.path: file.text
        for file in catalogue.files(architecture)
        if not file.path.startswith("templates/") or file.path in asked
    }
    found |= {name: (BY_HAND / name).read_text("utf-8") for name in ("deploy.sh", "fill.py")}
    found |= _monitoring(architecture)
    found |= _requests(architecture, wish)
    found["settings.env"] = _settings(architecture, wish)
    found["README.md"] = _readme(architecture)
    found["DEPLOY.md"] = _guide(architecture, wish)
    # Whoever deploys is meant to change the settings and the requests.
    kept = {path: text for path, text in found.items() if path.startswith(("templates/", "lifecycle/"))}
    found["CHECKSUMS.sha256"] = "".join(f"{digest(text)}  {path}\n" for path, text in sorted(kept.items()))
    return found


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def zipped(files: Mapping[str, str], root: str) -> bytes:
    """The files in one archive, below a folder; scripts stay executable."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{root}/{path}", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if path.endswith(".sh") else 0o644) << 16
            archive.writestr(entry, text)
    return held.getvalue()


def _monitoring(architecture: Architecture) -> dict[str, str]:
    """What a cluster is watched with, to be deployed beside it: templates, rules, dashboards, the collector's set-up."""
    if "observability" not in architecture.parameters:
        return {}
    named = [part.template for part in architecture.parts if part.role in ("grafana", "observability")]
    found = {f"monitoring/{name.rpartition('/')[2]}": architecture.text(name) for name in named}
    found |= {f"monitoring/{name}": text for name, text in monitor_files().items()}
    return found | {"monitoring/alerts.yaml": (OBSERVABILITY / "alerts.yaml").read_text("utf-8")}


def example(architecture: Architecture) -> Configuration:
    """A small cluster that the architecture is meant for, in the first Region and zone that has the nodes."""
    fit = next(fit for fit in catalogue.fits(architecture) if fit.types)
    instance_type, zones = _usual(fit, architecture)
    groups: list[dict[str, Any]] = [{"name": "workers", "instance_type": instance_type, "count": NODES}]
    for role in architecture.roles.values():
        if role.name != "compute" and role.least:
            groups.insert(0, {"name": role.name, "instance_type": HEAD, "count": role.count or 1, "role": role.name})
    return read_configuration(
        {
            "architecture": architecture.slug,
            "version": architecture.version,
            "region": fit.region,
            "az_id": zones[0],
            "instance_groups": groups,
            "storage": {"lustre": {}},
        }
    )


def _usual(fit: catalogue.Fit, architecture: Architecture) -> tuple[str, tuple[str, ...]]:
    """The type to begin with: the one that the architecture is named after, else a P5."""
    named = [pair for pair in fit.types if architecture.slug.endswith(f"-{pair[0].split('.')[0]}")]
    p5 = [pair for pair in fit.types if pair[0] == "p5.48xlarge"]
    return (named or p5 or list(fit.types))[0]


def _requests(architecture: Architecture, wish: Configuration) -> dict[str, str]:
    roles = [part.role for part in architecture.parts]
    wiring = Wiring(
        account_id="${account}",
        role_arn="${operator_role_arn}",
        names={role: "${cluster}" if role == "cluster" else f"${{cluster}}-{role}" for role in roles},
        outputs={role: _Outputs(role) for role in roles},
    )
    found: dict[str, str] = {}
    for spec in parts(architecture, wish):
        if spec.kind == "stack":
            given = {**spec.body(wiring)["Parameters"], **_places(architecture, spec.role)}
            rows = [{"ParameterKey": key, "ParameterValue": value} for key, value in given.items()]
            found[f"parameters/{spec.role}.json"] = _json(rows)
        else:
            elsewhere = replace(wish, region="${region}", az_id="${zone}")
            again = next(each for each in parts(architecture, elsewhere) if each.role == spec.role)
            found |= _cluster(again.body(wiring))
    return found


def _places(architecture: Architecture, role: str) -> dict[str, str]:
    template = next(part.template for part in architecture.parts if part.role == role)
    known = architecture.text(template)
    return {name: place for name, place in PLACES.items() if f"\n  {name}:\n" in known}


def _cluster(body: Mapping[str, Any]) -> dict[str, str]:
    """The request for the cluster itself, with its scripts where deploy.sh puts them."""
    scripts = {each["key"].rpartition("/")[2]: each["text"] for each in body["objects"]}
    key = body["objects"][0]["key"].rpartition("/")[0]
    found = {}
    if "provisioning_parameters.json" in scripts:
        found["provisioning_parameters.json"] = scripts["provisioning_parameters.json"]
    if "request" in body:
        return found | {"cluster.json": _json(body["request"]).replace(key, "lifecycle/${cluster}")}
    text = yaml.safe_dump(json.loads(json.dumps(body["configuration"])), sort_keys=False)
    return found | {"cluster.yaml": text.replace(key, "lifecycle/${cluster}")}


def _json(told: Any) -> str:
    return json.dumps(told, indent=2) + "\n"


def _settings(architecture: Architecture, wish: Configuration) -> str:
    stacks = " ".join(spec.role for spec in parts(architecture, wish) if spec.kind == "stack")
    lines = [
        "# What is yours: deploy.sh reads this file. README.md lists the Regions and zones that fit.",
        "cluster=my-cluster  # lower-case letters, digits and dashes; also the beginning of the stacks' names",
        f"region={wish.region}",
        f"zone={wish.az_id}  # the id of the zone, not its name: aws ec2 describe-availability-zones",
    ]
    if architecture.control_zones:
        first, second = sorted(architecture.control_zones[wish.region], key=lambda zone: zone != wish.az_id)[:2]
        lines += [
            f"control_zone_a={first}",
            f"control_zone_b={second}",
            "operator_role_arn=  # who is to administer Kubernetes: the ARN of a role in this account",
        ]
    if "accounting" in stacks.split():
        other = next(zone for zone in facts.load().zones[wish.region] if zone != wish.az_id)
        lines.append(f"other_zone={other}  # the database of accounts wants a second one")
    lines += ["", "# What belongs to this architecture.", f'stacks="{stacks}"']
    lines.append(f'engine_pin="{architecture.made_by.pin}"')
    return "\n".join(lines) + "\n"


def _front(shelf: list[Architecture]) -> str:
    rows = [
        f"| [{each.title}]({each.slug}/README.md) | {each.version} | {each.made_by.name}, {each.made_by.pin} "
        f"| {each.proof.on}, against {_against(each)} | {each.proof.expires} |"
        for each in shelf
    ]
    return "\n".join(
        [
            "# Reference architectures",
            "",
            "GPU and Trainium clusters as CloudFormation templates, scripts and requests, to be deployed by hand.",
            "Each folder stands alone: read its README.md, fill in settings.env, run deploy.sh.",
            "CHECKSUMS.sha256 in each folder covers its templates and scripts; deploy.sh checks it first.",
            "",
            "| Architecture | Version | Engine | Last proof | Proof expires |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _against(each: Architecture) -> str:
    return {"sandbox": "a simulated cloud", "account": "an account of AWS"}[each.proof.against]


def _readme(each: Architecture) -> str:
    places = [f"| {fit.region} | {_zones(fit)} |" for fit in catalogue.fits(each)]
    parameters = [f"| `{each.field}` | {each.help} | {limits(each)} |" for each in each.parameters.values()]
    changes = [
        f"* **{one.version}** ({one.on}): {one.text} For updates: {EFFECTS[one.effect]}." for one in each.changelog
    ]
    return "\n".join(
        [
            f"# {each.title}, version {each.version}",
            "",
            each.summary,
            "",
            f"* Engine: {each.made_by.name}, pinned to {each.made_by.pin}; checked with {each.made_by.checked_with}.",
            f"* Network: {each.provenance.network}",
            f"* Where it comes from: {each.provenance.source}",
            f"* Last proof: {each.proof.on} against {_against(each)}, worth something until {each.proof.expires}. "
            f"{each.proof.how}",
            "",
            "## What is known not to work",
            *(f"* {limit}" for limit in each.provenance.limits),
            "",
            "## Regions and zones",
            "Zones that offer a type, by a dated snapshot; your account's own list decides.",
            "",
            "| Region | Types and zones |",
            "|---|---|",
            *places,
            "",
            "## Parameters and their limits",
            "| Field | Meaning | Limits |",
            "|---|---|---|",
            *parameters,
            "",
            "## Changes",
            *changes,
            "",
        ]
    )


def _zones(fit: catalogue.Fit) -> str:
    told = [f"{name}: {', '.join(zones)}" for name, zones in fit.types]
    return "; ".join(told) or "no training type in our snapshot"


def limits(parameter: Parameter) -> str:
    """The limits of a parameter in a few words, e.g. `1200 to 1008000 GiB, in steps of 2400; 1200 unless said`."""
    if parameter.kind == "choice":
        told = ", ".join(map(str, parameter.choices))
    elif parameter.kind == "text":
        told = "text"
    else:
        told = f"{parameter.minimum} to {parameter.maximum}"
    told = f"{told} {parameter.unit}".strip()
    if parameter.step:
        told += f", in steps of {parameter.step}"
    return told if parameter.default in (None, "") else f"{told}; {parameter.default} unless said"


def _guide(each: Architecture, wish: Configuration) -> str:
    engine = _GUIDES["parallelcluster" if each.on_ec2 else "hyperpod"]
    stacks = [spec for spec in parts(each, wish) if spec.kind == "stack"]
    steps = "\n".join(f"* `$cluster-{part.role}` from templates/{part.role}.yaml" for part in stacks)
    return _GUIDE.format(title=each.title, pin=each.made_by.pin, stacks=steps, **engine)


_GUIDE = """# Deploying {title} by hand

1. Use credentials of the account in which the cluster is to stand. The quotas for its instances, and for one VPC, one
   NAT gateway and one elastic address, must be there: `aws service-quotas list-service-quotas`.
2. Fill in `settings.env`. Change sizes in `parameters/*.json` and node counts in `{request}`; README.md has the limits.
3. Run `./deploy.sh`. It checks the files, makes these stacks, puts the scripts into the bucket and asks for the cluster:
{stacks}
   A value that a stack did not give stops it with the value's name; nothing is ever filled with an empty text.
4. {follow}
5. Log in: {login}

## Changing it
{change}

## Deleting it
{delete}
Then delete the stacks in the opposite order with `aws cloudformation delete-stack`. The network, the file systems and the
buckets stay on purpose, because data is in them, and go on costing: delete them by hand once nobody needs the data.

Proven with {pin}.
"""
_GUIDES = {
    "hyperpod": {
        "request": "cluster.json",
        "follow": "Follow it: `aws sagemaker describe-cluster --cluster-name $cluster --query ClusterStatus`. It takes 15 to 25 "
        "minutes.\n   When a script fails, its words are in CloudWatch Logs, group `/aws/sagemaker/Clusters/$cluster/...`.",
        "login": "`aws ssm start-session --target sagemaker-cluster:<cluster id>_<group>-<instance id>`.",
        "change": "Change `cluster.json`, fill it, and send its InstanceGroups with `aws sagemaker update-cluster`. Subnets and\n"
        "security groups of a cluster cannot be changed. For a training plan put its ARN into the group as TrainingPlanArn.",
        "delete": "`aws sagemaker delete-cluster --cluster-name $cluster`, and wait until describe-cluster no longer finds it.",
    },
    "parallelcluster": {
        "request": "cluster.yaml",
        "follow": "Follow it: `pcluster describe-cluster --cluster-name $cluster --region $region`. It takes 15 to 20 minutes.\n"
        "   When it fails, `pcluster get-cluster-stack-events` and the log group `/aws/parallelcluster/$cluster-...` say why.",
        "login": "`aws ssm start-session --target <instance id of the head node>`.",
        "change": "Change `cluster.yaml`, fill it, and run `pcluster update-cluster --dryrun true` first: it says what has to\n"
        "stop. A reservation goes under CapacityReservationTarget, and then there is no placement group.",
        "delete": "`pcluster delete-cluster --cluster-name $cluster --region $region`, and wait until it is gone.",
    },
}
