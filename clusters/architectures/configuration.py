"""A cluster's configuration: the body of a revision, read strictly, written out the same way for ever."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from clusters import architectures, facts
from clusters.architectures import Architecture, Parameter, engine_settings
from clusters.findings import Finding, Refusals

NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*")
BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
PLAN = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*")
RESERVATION = re.compile(r"cr-[0-9a-f]{17}")
QUEUE = re.compile(r"[a-z](-?[a-z0-9])*")  # what ParallelCluster takes for a queue
PLAN_ARN = re.compile(r"arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:\d{12}:training-plan/(.+)")
ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]{1,128}")
NAME_LENGTH, QUEUE_LENGTH, GROUPS, TEXT_LENGTH, SOFTWARE = 63, 25, 100, 200, 60
VPC_CIDR, SUBNET_PREFIX = "10.0.0.0/16", 22
OPENZFS_MBS = 256  # at least, unless said
VPC_PREFIXES = range(16, 23)  # with less there is no room for the small subnets beside the nodes' own
SMALLEST_SUBNET = 28
IMAGES = 20
REGISTRY = re.compile(r"\d{12}\.dkr\.ecr(?:-fips)?\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?")
REPOSITORY = re.compile(r"[a-z0-9]+(?:[._/-]+[a-z0-9]+)*")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
KUBERNETES_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
IMAGE_NAME = re.compile(r"[a-z0-9](?:-?[a-z0-9])*")


@dataclass(frozen=True)
class Group:
    name: str
    instance_type: str  # plain, e.g. p5.48xlarge
    count: int
    role: str
    training_plan: str = ""  # HyperPod: its name; "": whatever AWS has free
    reservation: str = ""  # EC2: the id of an on-demand reservation or a Capacity Block
    capacity: str = ""  # EC2: on-demand or capacity-block
    placement_group: bool = False  # EC2: close together, by a group that is made for it


@dataclass(frozen=True)
class Lustre:
    capacity_gib: int
    mbs_per_tib: int

    @property
    def mbs(self) -> int:
        return self.capacity_gib * self.mbs_per_tib // 1024


@dataclass(frozen=True)
class OpenZfs:
    capacity_gib: int
    mbs: int
    deployment: str = ""  # FSx's own word; "": SINGLE_AZ_1, before one could choose


@dataclass(frozen=True)
class Storage:
    lustre: Lustre
    openzfs: OpenZfs | None = None
    bucket: str = ""
    bucket_exists: bool = False  # True: the participant has it already; False: the base stack makes it


@dataclass(frozen=True)
class Image:
    """An image for jobs, by what it is and not by what it is called today."""

    name: str
    registry: str
    repository: str
    digest: str

    @property
    def uri(self) -> str:
        return f"{self.registry}/{self.repository}@{self.digest}"

    @property
    def file(self) -> str:
        """Its name in the folder of images on /fsx."""
        return f"{self.name}-{self.digest.removeprefix('sha256:')[:12]}.sqsh"


@dataclass(frozen=True)
class NodeSetup:
    """Which version of which script of the participant runs after ours, and what it says."""

    name: str
    version: int
    sha256: str


@dataclass(frozen=True)
class KubernetesPlace:
    """Where on Kubernetes jobs are put, and by which queue and priority of Kueue they are let in."""

    namespace: str = "default"
    queue: str = ""  # a LocalQueue of that namespace; empty: nobody queues them
    priority: str = ""  # a WorkloadPriorityClass


@dataclass(frozen=True)
class Configuration:
    """What a cluster is to be. `document()` is its stored form; reading that gives an equal configuration."""

    architecture: str
    version: str
    region: str
    az_id: str
    vpc_cidr: str
    subnet_cidr: str
    instance_groups: tuple[Group, ...]
    node_recovery: str
    storage: Storage
    deep_health_checks: tuple[str, ...] = ()
    software: Mapping[str, str] = field(default_factory=dict)
    accounting: bool = False  # a database in which Slurm keeps who used how much
    tiered_storage: int = 0  # percent of the nodes' memory that holds checkpoints; 0: none
    editor_role: str = ""  # a role of the account that may work with jobs in Kubernetes
    engine_settings: Mapping[str, Any] = field(default_factory=dict)  # in the engine's own words, beside what we write
    observability: str = "none"  # none, managed (Amazon Managed Grafana), instance (Grafana on a machine)
    images: tuple[Image, ...] = ()
    node_setup: NodeSetup | None = None
    kubernetes: KubernetesPlace | None = None  # of architectures that say so; others have none
    reach: str = "direct"  # how its scheduler is reached at first: direct, or agent, which its head node runs

    @property
    def watched(self) -> bool:
        return self.observability != "none"

    @property
    def managed_grafana(self) -> bool:
        return self.observability == "managed"

    def document(self) -> dict[str, Any]:
        told = asdict(self)
        return {
            **told,
            "instance_groups": list(told["instance_groups"]),
            "deep_health_checks": list(self.deep_health_checks),
            "images": [{"name": image.name, "uri": image.uri} for image in self.images],
        }

    def made_of(self) -> Architecture:
        return architectures.architecture(self.architecture, self.version)

    def counts(self) -> dict[str, int]:
        """Instances by type over all groups."""
        counts: dict[str, int] = {}
        for group in self.instance_groups:
            counts[group.instance_type] = counts.get(group.instance_type, 0) + group.count
        return counts


def read_configuration(document: Any) -> Configuration:
    """The configuration that a document describes, or `Refusals` with everything that is wrong with it.

    A type may be written with or without `ml.`, a subnet as its size (`/21`), a plan by name or ARN. What is left out
    gets the architecture's default.
    """
    if not isinstance(document, Mapping):
        raise Refusals([Finding("not_fields", "refused", "configuration")])
    reader = _Reader(_architecture(document))
    configuration = reader.configuration(document)
    if reader.findings:
        raise Refusals(reader.findings)
    return configuration


def _architecture(document: Mapping[str, Any]) -> Architecture:
    slug, version = document.get("architecture"), document.get("version")
    known = architectures.versions(slug) if isinstance(slug, str) else ()
    if not known:
        slugs = ", ".join(each.slug for each in architectures.architectures())
        raise Refusals([Finding("unknown_architecture", "refused", "architecture", _short(slug), slugs)])
    if version not in (None, "", *known):
        values = {"slug": slug}
        raise Refusals(
            [Finding("unknown_version", "refused", "version", _short(version), ", ".join(known), values=values)]
        )
    return architectures.architecture(str(slug), version or None)


def _short(value: Any) -> str:
    return str(value)[:TEXT_LENGTH].replace("\0", "\\0")


class _Reader:
    """Reads field by field and goes on after a mistake, so that a person learns of all of them at once."""

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture
        self.findings: list[Finding] = []

    def refuse(self, code: str, path: str, asked: Any = "", allowed: Any = "", **more: Any) -> None:
        self.findings.append(Finding(code, "refused", path, asked, allowed, **more))

    def configuration(self, document: Mapping[str, Any]) -> Configuration:
        self.only(document, "", Configuration.__dataclass_fields__)
        region, az_id = self.text(document, "region"), self.text(document, "az_id")
        vpc, subnet = self.network(document)
        groups = self.groups(document.get("instance_groups"))
        self.roles(groups)
        return Configuration(
            architecture=self.architecture.slug,
            version=self.architecture.version,
            region=region,
            az_id=az_id,
            vpc_cidr=vpc,
            subnet_cidr=subnet,
            instance_groups=groups,
            node_recovery=self.limited("node_recovery", document.get("node_recovery")),
            storage=self.storage(document.get("storage"), region),
            deep_health_checks=self.checks(document.get("deep_health_checks")),
            software=self.software(document.get("software")),
            engine_settings=self.engine_settings(document.get("engine_settings")),
            accounting=self.optional(document, "accounting", False),
            tiered_storage=self.optional(document, "tiered_storage", 0),
            editor_role=self.role(document),
            observability=self.observability(document, region),
            images=self.images(document.get("images")),
            node_setup=self.node_setup(document.get("node_setup")),
            kubernetes=self.kubernetes(document.get("kubernetes")),
            reach=str(self.optional(document, "reach", "direct")),
        )

    def only(self, given: Mapping[str, Any], path: str, known: Any) -> None:
        for name in given:
            if name not in known:
                self.refuse("unknown_field", f"{path}{_short(name)}")

    def text(self, given: Mapping[str, Any], name: str, path: str = "", *, needed: bool = True) -> str:
        value = given.get(name)
        if value is None or value == "":
            if needed:
                self.refuse("missing", f"{path}{name}")
            return ""
        if not isinstance(value, str) or not value.isprintable():
            self.refuse("not_text", f"{path}{name}", _short(repr(value)))
            return ""
        if len(value) > TEXT_LENGTH:
            self.refuse("too_large", f"{path}{name}", len(value), TEXT_LENGTH, unit="characters")
            return ""
        return value

    def limited(self, name: str, value: Any, path: str = "") -> Any:
        """A field whose limits stand in architecture.toml; `path` is where it really is, e.g. in the second group."""
        limits, path = self.architecture.parameters[name], path or name
        if value is None:
            if limits.default is None:
                self.refuse("missing", path)
            return limits.default
        if limits.kind == "choice":
            if value not in limits.choices:
                allowed = ", ".join(map(str, limits.choices))
                self.refuse("not_a_choice", path, _short(value), allowed, unit=limits.unit)
            return value
        return self.number(limits, value, path)

    def number(self, limits: Parameter, value: Any, path: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse("not_number", path, _short(repr(value)), unit=limits.unit)
            return limits.minimum or 0
        if limits.minimum is not None and value < limits.minimum:
            self.refuse("too_small", path, value, limits.minimum, unit=limits.unit)
        elif limits.maximum is not None and value > limits.maximum:
            self.refuse("too_large", path, value, limits.maximum, unit=limits.unit)
        elif limits.step and value != limits.minimum and value % limits.step:
            allowed = f"{limits.minimum}, {limits.step}, {2 * limits.step}, {3 * limits.step}, …"
            nearest = max(round(value / limits.step) * limits.step, limits.step)
            self.refuse("not_a_step", path, value, allowed, unit=limits.unit, suggestion=str(nearest))
        return value

    def network(self, document: Mapping[str, Any]) -> tuple[str, str]:
        vpc = self._range(document.get("vpc_cidr") or VPC_CIDR, "vpc_cidr")
        if vpc is None:
            return "", ""
        if not vpc.is_private or vpc.is_loopback or vpc.is_link_local:
            self.refuse("network_not_private", "vpc_cidr", str(vpc))
        elif vpc.prefixlen not in VPC_PREFIXES:
            self.refuse("network_size", "vpc_cidr", str(vpc), f"/{VPC_PREFIXES[0]} … /{VPC_PREFIXES[-1]}")
        asked = document.get("subnet_cidr") or f"/{max(SUBNET_PREFIX, vpc.prefixlen + 1)}"
        upper = vpc if vpc.prefixlen > 31 else list(vpc.subnets(1))[1]  # the lower half is for the small subnets
        if isinstance(asked, str) and re.fullmatch(r"/\d{1,2}", asked):
            prefix = int(asked[1:])
            if not vpc.prefixlen < prefix <= SMALLEST_SUBNET:
                self.refuse("subnet_outside", "subnet_cidr", asked, str(vpc))
                return str(vpc), ""
            return str(vpc), f"{upper.network_address}/{prefix}"
        subnet = self._range(asked, "subnet_cidr")
        if subnet is None:
            return str(vpc), ""
        if not subnet.subnet_of(upper) or subnet.prefixlen > SMALLEST_SUBNET:
            self.refuse("subnet_outside", "subnet_cidr", str(subnet), str(upper))
        return str(vpc), str(subnet)

    def _range(self, value: Any, path: str) -> ipaddress.IPv4Network | None:
        try:
            return ipaddress.IPv4Network(value if isinstance(value, str) and "/" in value else "")
        except ValueError:
            self.refuse("bad_network", path, _short(value), suggestion=VPC_CIDR if path == "vpc_cidr" else "/21")
            return None

    def groups(self, given: Any) -> tuple[Group, ...]:
        if not isinstance(given, list) or not given:
            self.refuse("missing" if not given else "not_list", "instance_groups")
            return ()
        if len(given) > GROUPS:
            self.refuse("too_large", "instance_groups", len(given), GROUPS, unit="groups")
            return ()
        groups = tuple(self.group(each, f"instance_groups[{index}]") for index, each in enumerate(given))
        for name in sorted({each.name for each in groups if each.name}):
            if sum(each.name.lower() == name.lower() for each in groups) > 1:
                self.refuse("twice", "instance_groups", name)
        return groups

    def group(self, given: Any, path: str) -> Group:
        if not isinstance(given, Mapping):
            self.refuse("not_fields", path)
            return Group("", "", 0, "")
        self.only(given, f"{path}.", Group.__dataclass_fields__)
        on_ec2 = "instance_groups.capacity" in self.architecture.parameters
        name = self.text(given, "name", f"{path}.")
        pattern, longest, code = (QUEUE, QUEUE_LENGTH, "bad_queue") if on_ec2 else (NAME, NAME_LENGTH, "bad_name")
        if name and (len(name) > longest or not pattern.fullmatch(name)):
            self.refuse(code, f"{path}.name", name, longest)
        strange = ["training_plan"] if on_ec2 else ["reservation", "capacity", "placement_group"]
        for field_name in [each for each in strange if given.get(each)]:
            self.refuse("not_here", f"{path}.{field_name}", values={"title": self.architecture.title})
        group = self.plain_group(given, path, name)
        return replace(group, **self.ec2_capacity(given, path)) if on_ec2 else group

    def plain_group(self, given: Mapping[str, Any], path: str, name: str) -> Group:
        return Group(
            name=name,
            instance_type=facts.plain_name(self.text(given, "instance_type", f"{path}.").strip()),
            count=self.limited("instance_groups.count", given.get("count"), f"{path}.count"),
            role=self.limited("instance_groups.role", given.get("role"), f"{path}.role"),
            training_plan=self.plan(given, path),
        )

    def ec2_capacity(self, given: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Where EC2 takes the instances from."""
        reservation = self.text(given, "reservation", f"{path}.", needed=False)
        if reservation and not RESERVATION.fullmatch(reservation):
            self.refuse("bad_reservation", f"{path}.reservation", reservation)
        close = given.get("placement_group", False)
        if not isinstance(close, bool):
            self.refuse("not_yes_or_no", f"{path}.placement_group", _short(repr(close)))
        capacity = self.limited("instance_groups.capacity", given.get("capacity") or None, f"{path}.capacity")
        return {"reservation": reservation, "capacity": capacity, "placement_group": close is True}

    def plan(self, given: Mapping[str, Any], path: str) -> str:
        plan = self.text(given, "training_plan", f"{path}.", needed=False)
        arn = PLAN_ARN.fullmatch(plan)
        name = arn[1] if arn else plan
        if name and not PLAN.fullmatch(name):
            self.refuse("bad_plan", f"{path}.training_plan", plan)
        return name

    def roles(self, groups: tuple[Group, ...]) -> None:
        for role in self.architecture.roles.values():
            held = [group for group in groups if group.role == role.name]
            values = {"role": role.name, "title": self.architecture.title}
            if len(held) < role.least:
                self.refuse("role_too_few", "instance_groups", len(held), role.least, unit="groups", values=values)
            elif role.most is not None and len(held) > role.most:
                self.refuse("role_too_many", "instance_groups", len(held), role.most, unit="groups", values=values)
            for group in held:
                if role.count is not None and group.count != role.count:
                    values = {"role": role.name, "group": group.name}
                    self.refuse(
                        "role_count", "instance_groups", group.count, role.count, unit="instances", values=values
                    )

    def storage(self, given: Any, region: str) -> Storage:
        given = self.fields(given, "storage", Storage)
        lustre = self.fields(given.get("lustre"), "storage.lustre", Lustre)
        bucket = self.text(given, "bucket", "storage.", needed=False)
        if bucket and (not BUCKET.fullmatch(bucket) or ".." in bucket):
            self.refuse("bad_bucket", "storage.bucket", bucket)
        exists = given.get("bucket_exists", False)
        if not isinstance(exists, bool):
            self.refuse("not_yes_or_no", "storage.bucket_exists", _short(repr(exists)))
        return Storage(
            lustre=Lustre(
                self.limited("storage.lustre.capacity_gib", lustre.get("capacity_gib")),
                self.limited("storage.lustre.mbs_per_tib", lustre.get("mbs_per_tib")),
            ),
            openzfs=self.openzfs(given.get("openzfs"), region),
            bucket=bucket,
            bucket_exists=exists,
        )

    def openzfs(self, given: Any, region: str) -> OpenZfs | None:
        if given is None:
            return None
        if "storage.openzfs.capacity_gib" not in self.architecture.parameters:
            self.refuse("no_openzfs", "storage.openzfs", values={"title": self.architecture.title})
            return None
        given = self.fields(given, "storage.openzfs", OpenZfs)
        size = self.limited("storage.openzfs.capacity_gib", given.get("capacity_gib"))
        if "storage.openzfs.deployment" not in self.architecture.parameters:
            if given.get("deployment") not in (None, ""):
                self.refuse("not_here", "storage.openzfs.deployment", values={"title": self.architecture.title})
            return OpenZfs(size, self.limited("storage.openzfs.mbs", given.get("mbs")))
        asked = given.get("deployment") or None
        deployment = self.limited("storage.openzfs.deployment", asked)
        offered = facts.openzfs(region)
        if asked and region and deployment not in offered:
            self.refuse("not_a_choice", "storage.openzfs.deployment", _short(asked), ", ".join(offered))
            return OpenZfs(size, 0, "")
        # Only some kinds have some throughputs: with the kind left out, the safest that has the one asked for.
        mbs = given.get("mbs")
        kinds = [deployment] if asked else [kind for kind in offered if mbs is None or mbs in offered[kind]]
        rates = offered.get(kinds[0], ()) if kinds else ()
        if mbs is None:
            mbs = next((rate for rate in rates if rate >= OPENZFS_MBS), 0)
        elif not kinds or (rates and mbs not in rates):
            allowed = sorted(set(rates or [rate for each in offered.values() for rate in each]))
            self.refuse("not_a_choice", "storage.openzfs.mbs", _short(mbs), ", ".join(map(str, allowed)), unit="MB/s")
        return OpenZfs(size, mbs, kinds[0] if kinds else "")

    def fields(self, given: Any, path: str, known: Any) -> Mapping[str, Any]:
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            self.refuse("not_fields", path)
            return {}
        self.only(given, f"{path}.", known.__dataclass_fields__)
        return given

    def checks(self, given: Any) -> tuple[str, ...]:
        if not isinstance(given or [], list):
            self.refuse("not_list", "deep_health_checks")
            return ()
        if given and "deep_health_checks" not in self.architecture.parameters:
            self.refuse("not_here", "deep_health_checks", values={"title": self.architecture.title})
            return ()
        checks = [self.limited("deep_health_checks", each) for each in given or []]
        return tuple(dict.fromkeys(each for each in checks if isinstance(each, str)))

    def software(self, given: Any) -> dict[str, str]:
        if not isinstance(given or {}, Mapping):
            self.refuse("not_fields", "software")
            return {}
        if len(given or {}) > SOFTWARE:
            self.refuse("too_large", "software", len(given), SOFTWARE)
            return {}
        software = {_short(name): self.text(given, name, "software.") for name in given or {}}
        if "software.kubernetes" in self.architecture.parameters:
            software["kubernetes"] = self.limited("software.kubernetes", software.get("kubernetes"))
        return software

    def optional(self, document: Mapping[str, Any], name: str, without: Any) -> Any:
        """A field that not every architecture has; there, only saying nothing or `without` is right."""
        value = document.get(name)
        if name not in self.architecture.parameters:
            if value not in (None, without):
                self.refuse("not_here", name, values={"title": self.architecture.title})
            return without
        if value is not None and isinstance(value, bool) != isinstance(without, bool):
            value = repr(value)  # 1 is no yes, and false is no number
        return self.limited(name, value)

    def role(self, document: Mapping[str, Any]) -> str:
        role = self.text(document, "editor_role", needed=False)
        if role and "editor_role" not in self.architecture.parameters:
            self.refuse("not_here", "editor_role", values={"title": self.architecture.title})
        elif role and not ROLE_ARN.fullmatch(role):
            self.refuse("bad_role", "editor_role", role)
        return role

    def observability(self, document: Mapping[str, Any], region: str) -> str:
        chosen = str(self.optional(document, "observability", "none"))
        if chosen == "managed" and region and region not in facts.grafana_regions():
            self.refuse("no_managed_grafana", "observability", region, ", ".join(facts.grafana_regions()))
        return chosen

    def kubernetes(self, given: Any) -> KubernetesPlace | None:
        if "kubernetes.namespace" not in self.architecture.parameters:
            if given:
                self.refuse("not_here", "kubernetes", values={"title": self.architecture.title})
            return None
        given = self.fields(given, "kubernetes", KubernetesPlace)
        found = {}
        for name in ("namespace", "queue", "priority"):
            found[name] = self.text(given, name, "kubernetes.", needed=False)
            if found[name] and not (len(found[name]) <= NAME_LENGTH and KUBERNETES_NAME.fullmatch(found[name])):
                self.refuse("bad_kubernetes_name", f"kubernetes.{name}", found[name], NAME_LENGTH)
        if found["namespace"].startswith("kube-"):
            self.refuse("namespace_of_kubernetes", "kubernetes.namespace", found["namespace"])
        if found["priority"] and not found["queue"]:
            self.refuse("priority_without_queue", "kubernetes.priority", found["priority"])
        return KubernetesPlace(found["namespace"] or "default", found["queue"], found["priority"])

    def images(self, given: Any) -> tuple[Image, ...]:
        if not given and not isinstance(given, str):
            return ()
        if "images" not in self.architecture.parameters:
            self.refuse("not_here", "images", values={"title": self.architecture.title})
            return ()
        if not isinstance(given, list):
            self.refuse("not_list", "images")
            return ()
        if len(given) > IMAGES:
            self.refuse("too_large", "images", len(given), IMAGES)
            return ()
        found = [image for index, each in enumerate(given) if (image := self.image(each, f"images[{index}]"))]
        for name in sorted({each.name for each in found}):
            if sum(each.name == name for each in found) > 1:
                self.refuse("image_twice", "images", name)
        return tuple(found)

    def image(self, given: Any, path: str) -> Image | None:
        if not isinstance(given, Mapping):
            self.refuse("not_fields", path)
            return None
        self.only(given, f"{path}.", ("name", "uri"))
        uri, name = self.text(given, "uri", f"{path}."), self.text(given, "name", f"{path}.", needed=False)
        place, _at, digest = uri.partition("@")
        registry, _slash, repository = place.partition("/")
        if not uri:
            return None
        if not DIGEST.fullmatch(digest):
            self.refuse("image_tag", f"{path}.uri", uri)
            return None
        if not REGISTRY.fullmatch(registry) or not REPOSITORY.fullmatch(repository):
            self.refuse("image_registry", f"{path}.uri", uri)
            return None
        name = name or re.sub(r"[^a-z0-9]+", "-", repository.rpartition("/")[2]).strip("-")
        if not IMAGE_NAME.fullmatch(name) or len(name) > NAME_LENGTH:
            self.refuse("image_name", f"{path}.name", name, NAME_LENGTH)
            return None
        return Image(name, registry, repository, digest)

    def node_setup(self, given: Any) -> NodeSetup | None:
        if not given:
            return None
        if "node_setup" not in self.architecture.parameters:
            self.refuse("not_here", "node_setup", values={"title": self.architecture.title})
            return None
        if not isinstance(given, Mapping):
            self.refuse("not_fields", "node_setup")
            return None
        self.only(given, "node_setup.", NodeSetup.__dataclass_fields__)
        name, sha256 = self.text(given, "name", "node_setup."), self.text(given, "sha256", "node_setup.")
        version = given.get("version")
        if isinstance(version, bool) or not isinstance(version, int):
            self.refuse("not_number", "node_setup.version", _short(repr(version)))
            return None
        return NodeSetup(name, version, sha256)

    def engine_settings(self, given: Any) -> dict[str, Any]:
        if not given and not isinstance(given, str | list):
            return {}
        if not self.architecture.engine_settings:
            self.refuse("not_here", engine_settings.FIELD, values={"title": self.architecture.title})
        elif not isinstance(given, Mapping):
            self.refuse("not_fields", engine_settings.FIELD)
        elif wrong := engine_settings.wrong(given, self.architecture.engine_settings):
            self.findings += wrong
        else:
            return dict(given)
        return {}
