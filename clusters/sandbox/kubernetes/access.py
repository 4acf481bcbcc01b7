"""Who calls a cluster's API: a token that is a presigned question to STS, and what the cluster's access entries allow."""

import base64
import binascii
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from moto.core.request import Request

from clusters.sandbox import credentials
from clusters.sandbox.cloud import Cloud, environment
from clusters.sandbox.errors import AwsError

PREFIX = "k8s-aws-v1."
HEADER = "x-k8s-aws-id"
LONGEST = 900  # seconds for which such a question may be asked
READS = ("get", "list", "watch")
NAMESPACED = (
    "pods",
    "pods/log",
    "secrets",
    "events",
    "pytorchjobs",
    "hyperpodpytorchjobs",
    "trainjobs",
    "workloads",
    "localqueues",
)
# What EKS's own policies allow in the namespaces of their scope.
POLICIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "AmazonEKSClusterAdminPolicy": (("*",), ("*",)),
    "AmazonEKSAdminPolicy": (("*",), NAMESPACED),
    "AmazonEKSEditPolicy": (("*",), NAMESPACED),
    "AmazonEKSViewPolicy": (READS, tuple(one for one in NAMESPACED if one != "secrets")),
}


def caller(cloud: Cloud, cluster: str, header: str) -> credentials.Principal | None:
    """The principal behind a bearer token, or None: then the answer is 401."""
    token = header.removeprefix("Bearer ").strip()
    if not token.startswith(PREFIX):
        return None
    try:
        told = token.removeprefix(PREFIX)
        url = base64.urlsafe_b64decode(told + "=" * (-len(told) % 4)).decode()
        return _asked(cloud, cluster, url)
    except (ValueError, binascii.Error, AwsError):
        return None


def _asked(cloud: Cloud, cluster: str, url: str) -> credentials.Principal | None:
    """What STS would say to this question, asked with the cluster's name in its header."""
    parts = urlsplit(url)
    headers = {"Host": parts.netloc, HEADER: cluster}
    request = Request(environment("GET", parts.path or "/", parts.query, b"", headers))
    signed = credentials.signature_of(request)
    if signed is None or signed.service != "sts" or HEADER not in signed.headers.split(";"):
        return None
    if request.args.get("Action") != "GetCallerIdentity" or int(request.args.get("X-Amz-Expires", "0")) > LONGEST:
        return None
    return credentials.check(cloud.store, request, signed, "sts", cloud.clock.callers_now())


def allowed(eks: dict[str, Any], who: credentials.Principal, verb: str, resource: str, namespace: str) -> bool:
    """Whether one of the caller's policies lets it do this there; `namespace` is empty for all of them."""
    entry = eks["entries"].get(who.role_arn or who.arn)
    if entry is None:
        return False
    for arn, policy in entry["policies"].items():
        verbs, resources = POLICIES.get(arn.rsplit("/", 1)[-1], ((), ()))
        scope = policy["accessScope"]
        inside = scope["type"] == "cluster" or any(
            namespace and fnmatchcase(namespace, one) for one in scope.get("namespaces") or []
        )
        if inside and ("*" in verbs or verb in verbs) and ("*" in resources or resource in resources):
            return True
    return False


def known(eks: dict[str, Any], who: credentials.Principal) -> bool:
    return (who.role_arn or who.arn) in eks["entries"]
