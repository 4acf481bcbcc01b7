"""How a cluster's scheduler is reached: read from the participant's account, where the cluster itself wrote it."""

import base64
import binascii
import ipaddress
import json
from urllib.parse import urlsplit

from clusters.launchers import SlurmEndpoint
from clusters.providers import Account, ProviderError, aws

NOT_YET = frozenset({"ParameterNotFound", "ResourceNotFoundException"})


def slurm_parameter(cluster_name: str) -> str:
    return f"/cohort/clusters/{cluster_name}/slurm"


def slurm_secret(cluster_name: str) -> str:
    return f"cohort/clusters/{cluster_name}/slurm-jwt"


def slurm_endpoint(account: Account, cluster_name: str) -> SlurmEndpoint | None:
    """The Slurm REST endpoint of a cluster; None while its controller has not written it yet."""
    try:
        parameter = aws.call(account, "ssm", "GetParameter", Name=slurm_parameter(cluster_name))
        secret = aws.call(account, "secretsmanager", "GetSecretValue", SecretId=slurm_secret(cluster_name))
    except ProviderError as error:
        if error.code in NOT_YET:
            return None
        raise
    return _endpoint(parameter["Parameter"]["Value"], secret["SecretString"])


def _address(url: str) -> str:
    """The participant's account says where we connect to, so it must not be a place that only we can reach."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError("no address of a REST server")
    try:
        host = ipaddress.ip_address(parts.hostname)
    except ValueError:
        return url.rstrip("/")  # a name
    if host.is_link_local or host.is_multicast or host.is_unspecified:
        raise ValueError("not an address of a cluster")
    return url.rstrip("/")


def _endpoint(told: str, secret: str) -> SlurmEndpoint:
    try:
        fields = json.loads(told)
        return SlurmEndpoint(
            url=_address(fields["url"]),
            versions=tuple(fields["versions"]),
            user=fields["user"],
            jwt_key=base64.b64decode(secret, validate=True),
            log_group=fields["log_group"],
        )
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        sentence = f"What the cluster wrote about its scheduler cannot be read: {error!r}"
        raise ProviderError("refused", sentence, code="UnreadableEndpoint") from error
