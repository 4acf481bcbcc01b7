"""How a cluster's scheduler is reached: read from the participant's account, where it or AWS says so."""

import base64
import binascii
import ipaddress
import json
from urllib.parse import urlsplit

from clusters.launchers import KubernetesEndpoint, SlurmEndpoint
from clusters.providers import Account, ProviderError, aws

NOT_YET = frozenset({"ParameterNotFound", "ResourceNotFoundException"})


def slurm_parameter(cluster_name: str) -> str:
    return f"/cohort/clusters/{cluster_name}/slurm"


def slurm_secret(cluster_name: str) -> str:
    return f"cohort/clusters/{cluster_name}/slurm-jwt"


def agent_secret(cluster_name: str) -> str:
    """Where the head node finds the address and the token with which its agent speaks to us."""
    return f"cohort/clusters/{cluster_name}/agent"


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


def job_logs(cluster_name: str) -> str:
    """The log group of a cluster's jobs."""
    return f"/cohort/clusters/{cluster_name}/jobs"


def kubernetes_endpoint(
    account: Account, eks_name: str, cluster_name: str, namespace: str
) -> KubernetesEndpoint | None:
    """The Kubernetes API of a cluster as AWS tells it, with a fresh token; None while EKS is still making it."""
    try:
        told = aws.call(account, "eks", "DescribeCluster", name=eks_name)["cluster"]
    except ProviderError as error:
        if error.code in NOT_YET:
            return None
        raise
    if told.get("status") not in ("ACTIVE", "UPDATING") or not told.get("endpoint"):
        return None
    try:
        authority = base64.b64decode(told["certificateAuthority"]["data"], validate=True).decode()
        url = _address(told["endpoint"])
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        sentence = f"What EKS says about the API of {eks_name} cannot be read: {error!r}"
        raise ProviderError("refused", sentence, code="UnreadableEndpoint") from error
    token = kubernetes_token(account, eks_name)
    return KubernetesEndpoint(url, authority, token, namespace, job_logs(cluster_name))


def kubernetes_token(account: Account, eks_name: str) -> str:
    """What the API takes for the participant's role: good for some minutes, so it is made for each step and never kept."""
    question = aws.identity_question(account, {"x-k8s-aws-id": eks_name})
    return "k8s-aws-v1." + base64.urlsafe_b64encode(question.encode()).decode().rstrip("=")


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
