"""What goes wrong with a file of somebody's own though it can be read: known mistakes of published packs, each with its line. Pure.

The codes are those of `findings`; what a file is, its text says. Templates, ParallelCluster configurations, manifests
for Kubernetes and shell scripts are known; anything else is looked at for what holds for every file.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from clusters.architectures.configuration import RESERVATION
from clusters.documents import reading, secrets
from clusters.findings import Finding

LARGEST = 1_000_000
PLACEHOLDER = re.compile(r"\$\{([A-Za-z_]\w*)\}")
UNPINNED = re.compile(
    r"https?://(?:raw\.githubusercontent\.com/[^/\s'\"]+/[^/\s'\"]+/(?!(?:refs/tags/|[0-9a-f]{40}/|v?\d+(?:\.\d+)+/))[^\s'\"]+"
    r"|github\.com/[^/\s'\"]+/[^/\s'\"]+/(?:raw|archive/refs/heads)/[^\s'\"]+)"
)
CLONE = re.compile(r"\bgit\s+clone\b(?!.*(?:--branch|-b)\s+v?\d)[^\n;&|]*")
SECRET_NAME = re.compile(r"(?:^|_)(?:TOKEN|PASSWORD|SECRET|API_?KEY|ACCESS_KEY)$", re.I)
# ParallelCluster 3.16.1 takes these, as its own schema says.
SYSTEMS = ("alinux2023", "ubuntu2204", "ubuntu2404", "rhel8", "rhel9", "rocky8", "rocky9")
# Resources that have a name of their own in an account and Region -> the property that holds it.
NAMED = {
    "AWS::SSM::Document": "Name",
    "AWS::SSM::Parameter": "Name",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::EC2::FlowLog": "LogGroupName",
    "AWS::IAM::Role": "RoleName",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::EKS::Cluster": "Name",
    "AWS::SageMaker::Cluster": "ClusterName",
    "AWS::SecretsManager::Secret": "Name",
    "AWS::SNS::Topic": "TopicName",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::RDS::DBCluster": "DBClusterIdentifier",
}
MODEL_SIZE = re.compile(r"(?<![\w.])[a-z]+[\w.-]*?[-_](\d+(?:\.\d+)?)b(?![a-z0-9])", re.I)
WIDTHS = ("hidden_width", "hidden_size", "hidden_dim", "d_model")
LAYERS = ("num_layers", "n_layers", "num_hidden_layers")
APART = 0.4  # a model whose layers make 40 % more or fewer parameters than its name says is another one


HOSTILE = frozenset({"read_code", "read_alias", "read_deep", "read_too_large", "read_number"})


class _Tolerant(yaml.SafeLoader):
    """Reads `!Ref` and the like as what they hold, and never anything that runs."""


def _any_tag(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {suffix: loader.construct_mapping(node, deep=True)}
    if isinstance(node, yaml.SequenceNode):
        return {suffix: loader.construct_sequence(node, deep=True)}
    return {suffix: loader.construct_scalar(node)}  # type: ignore[arg-type]


_Tolerant.add_multi_constructor("!", _any_tag)


def findings(name: str, text: str) -> list[Finding]:
    """Everything that is known to go wrong with this file, in the order of its lines."""
    if len(text) > LARGEST:
        return [Finding("too_large", "refused", name, len(text), LARGEST, "characters", values={"line": 1})]
    if not text.strip():
        return [_found("file_empty", 1)]
    found = [*secrets.findings(text), *_of_any(text)]
    if text.startswith("#!") or name.endswith((".sh", ".sbatch")):
        found += _of_script(text)
    elif hostile := _hostile(text):
        found.append(hostile)  # and nothing is built of it
    else:
        for document in _documents(text):
            found += _of_document(document, text)
    return sorted(found, key=lambda each: int(each.values["line"]))


def _hostile(text: str) -> Finding | None:
    """What would run, unfold or never end when something is built of it; a file of several documents is none of that."""
    for part in re.split(r"^---[^\n]*\n", text, flags=re.M):
        try:
            reading.read(part, tags=True)
        except reading.Unreadable as error:
            if error.finding.code in HOSTILE:
                before = text.count("\n", 0, text.find(part))
                values = {**error.finding.values, "line": int(error.finding.values["line"]) + before}
                return dataclasses.replace(error.finding, field="", values=values)
    return None


def _found(code: str, line: int, asked: Any = "", allowed: Any = "", **values: Any) -> Finding:
    return Finding(code, "warning", "", asked, allowed, values={"line": line, **values})


def line_of(text: str, part: str, start: int = 0) -> int:
    """The number of the line on which a piece of the text stands; 1 when it was spelt otherwise."""
    at = text.find(part, start)
    return text.count("\n", 0, at) + 1 if at >= 0 else 1


def _documents(text: str) -> list[dict[str, Any]]:
    """The mappings in it; none when it is no YAML and no JSON, which others tell."""
    try:
        return [each for each in yaml.load_all(text, _Tolerant) if isinstance(each, dict)]
    except (yaml.YAMLError, RecursionError, ValueError):
        return []


def _of_any(text: str) -> Iterator[Finding]:
    for pattern in (UNPINNED, CLONE):
        for match in pattern.finditer(text):
            yield _found("source_unpinned", text.count("\n", 0, match.start()) + 1, match[0][:120])
    if "\r" in text:
        yield _found("carriage_return", line_of(text, "\r"))
    for match in re.finditer(r"\bcb-[0-9a-f]{8,17}\b", text):
        yield _found("offering_for_reservation", text.count("\n", 0, match.start()) + 1, match[0], RESERVATION.pattern)
    yield from _mixed_placeholders(text)


def _mixed_placeholders(text: str) -> Iterator[Finding]:
    """`${PublicSubnet}` beside `${PRIVATE_SUBNET_ID}`: whoever fills in one set of names leaves the other empty."""
    named = {name for name in PLACEHOLDER.findall(text) if "subnet" in name.lower()}
    shouted = sorted(name for name in named if name.isupper())
    spoken = sorted(named - set(shouted))
    if shouted and spoken:
        yield _found("placeholders_mixed", line_of(text, f"${{{shouted[0]}}}"), shouted[0], spoken[0])


def _of_script(text: str) -> Iterator[Finding]:
    depth = 0
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.split("#")[0].strip()
        if re.match(r"(?:function\s+)?[\w-]+\s*\(\)\s*\{?|function\s+\w+", bare):
            depth += bare.count("{") - bare.count("}") if "{" in bare else 1
        elif depth:
            depth += len(re.findall(r"(?<!\$)\{(?=\s|$)", bare)) - len(re.findall(r"^\}|[;\s]\}", bare))
        elif re.match(r"(?:.*(?:&&|\|\||;)\s*)?return\b", bare):
            yield _found("return_outside", number)
    if not re.search(r"^\s*set\s+-\w*u|^\s*set\s+-o\s+nounset", text, re.M):
        yield _found("script_not_strict", 1)


def _of_document(told: dict[str, Any], text: str) -> Iterator[Finding]:
    if isinstance(told.get("Resources"), dict):
        yield from _of_template(told, text)
    if isinstance(told.get("HeadNode"), dict) or isinstance(told.get("Scheduling"), dict):
        yield from _of_parallelcluster(told, text)
    if told.get("apiVersion") and told.get("kind"):
        yield from _of_manifest(told, text)


def _of_parallelcluster(told: dict[str, Any], text: str) -> Iterator[Finding]:
    system = (told.get("Image") or {}).get("Os")
    if isinstance(system, str) and system not in SYSTEMS and not PLACEHOLDER.search(system):
        yield _found("system_refused", line_of(text, system), system, ", ".join(SYSTEMS))


def _of_template(told: dict[str, Any], text: str) -> Iterator[Finding]:
    resources = {name: each for name, each in told["Resources"].items() if isinstance(each, dict)}
    for name, each in resources.items():
        held = (each.get("Properties") or {}).get(NAMED.get(str(each.get("Type")), ""))
        if isinstance(held, str) and not PLACEHOLDER.search(held):
            yield _found("name_fixed", line_of(text, held, text.find(name)), held, name)
    yield from _itself(resources, text)
    for match in re.finditer(r"docker run[^\n]*grafana[^\n]*", text):
        if "GF_SECURITY_ADMIN_PASSWORD" not in match[0]:
            yield _found("grafana_default_password", text.count("\n", 0, match.start()) + 1)
    for match in re.finditer(r"http://[^\s\"']*:3000", text):
        yield _found("grafana_without_tls", text.count("\n", 0, match.start()) + 1)
        break


def _itself(resources: Mapping[str, dict[str, Any]], text: str) -> Iterator[Finding]:
    """EFA wants a security group that names itself in both directions; one that nobody opened says nothing and fails."""
    groups = {name for name, each in resources.items() if each.get("Type") == "AWS::EC2::SecurityGroup"}
    used = {
        name
        for name in groups
        for other in resources.values()
        if other.get("Type") in ("AWS::FSx::FileSystem", "AWS::SageMaker::Cluster")
        and name in _references(other.get("Properties") or {})
    }
    for name in sorted(used):
        for way, kind, own in (
            ("ingress", "AWS::EC2::SecurityGroupIngress", "SourceSecurityGroupId"),
            ("egress", "AWS::EC2::SecurityGroupEgress", "DestinationSecurityGroupId"),
        ):
            rules = [
                each.get("Properties") or {}
                for each in resources.values()
                if each.get("Type") == kind and name in _references((each.get("Properties") or {}).get("GroupId"))
            ]
            if not any(name in _references(rule.get(own)) and str(rule.get("IpProtocol")) == "-1" for rule in rules):
                yield _found("efa_rule_missing", line_of(text, f"{name}:"), name, way)


def _references(value: Any) -> set[str]:
    """The resources that a piece of a template speaks of."""
    if isinstance(value, dict):
        found = {str(value["Ref"])} if set(value) == {"Ref"} else set()
        got = value.get("GetAtt", value.get("Fn::GetAtt"))
        if got:
            found.add((got if isinstance(got, str) else str(got[0])).split(".")[0])
        return found.union(*(_references(inner) for inner in value.values()))
    return set().union(*(_references(inner) for inner in value)) if isinstance(value, list) else set()


def _of_manifest(told: dict[str, Any], text: str) -> Iterator[Finding]:
    training = told["kind"] == "PyTorchJob"
    for pod in _pods(told):
        for container in [each for each in pod.get("containers") or [] if isinstance(each, dict)]:
            if training and container.get("name") != "pytorch":
                name = str(container.get("name"))
                yield _found("container_name", line_of(text, f"name: {name}"), name)
            yield from _of_container(container, text)
    yield from _of_size(told, text)


def _pods(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list):
            yield value
        else:
            for inner in value.values():
                yield from _pods(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _pods(inner)


def _words(container: Mapping[str, Any]) -> list[str]:
    return [
        str(word) for name in ("command", "args") for word in container.get(name) or [] if not isinstance(word, dict)
    ]


def _of_container(container: Mapping[str, Any], text: str) -> Iterator[Finding]:
    for variable in [each for each in container.get("env") or [] if isinstance(each, dict)]:
        if SECRET_NAME.search(str(variable.get("name", ""))) and variable.get("value"):
            yield _found("secret_in_env", line_of(text, f"name: {variable['name']}"), variable["name"])
    mounts = [str(each.get("mountPath", "")).rstrip("/") for each in container.get("volumeMounts") or [] if each]
    for word in _words(container):
        option, sign, folder = word.partition("=")
        if sign and re.fullmatch(r"-{0,2}(checkpoint|save|output)[_-]?(dir|path|folder)?", option, re.I):
            inside = not any(folder == mount or folder.startswith(f"{mount}/") for mount in mounts)
            if inside and not PLACEHOLDER.search(folder) and "://" not in folder:
                yield _found("checkpoint_inside", line_of(text, word), folder)


def _of_size(told: Mapping[str, Any], text: str) -> Iterator[Finding]:
    """A name that says 8b over layers that make 13: whoever reads the name plans for the wrong model."""
    name = str((told.get("metadata") or {}).get("name", ""))
    named = MODEL_SIZE.search(name)
    words = [
        word for pod in _pods(told) for each in pod["containers"] if isinstance(each, dict) for word in _words(each)
    ]
    width, layers = _option(words, WIDTHS), _option(words, LAYERS)
    if not (named and width and layers):
        return
    made = 12 * layers * width * width / 1e9  # the blocks of a transformer; what is left out is small beside APART
    said = float(named[1])
    if abs(made - said) > APART * said:
        yield _found("model_size", line_of(text, name), f"{said:g}", f"{made:.0f}", name=name)


def _option(words: list[str], names: tuple[str, ...]) -> int:
    found = [word.partition("=")[2] for word in words if word.lstrip("-").partition("=")[0].replace("-", "_") in names]
    return int(found[0]) if found and found[0].isdigit() else 0
