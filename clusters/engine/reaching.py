"""How the engine reaches a cluster's scheduler: what was read of it is kept, what proves who we are is made for each step."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models.functions import Now

from clusters.access import job_logs, kubernetes_endpoint, kubernetes_token, slurm_endpoint
from clusters.architectures.configuration import KubernetesPlace
from clusters.launchers import AgentEndpoint, Endpoint, KubernetesEndpoint, SlurmEndpoint
from clusters.models import Cluster, ClusterAccess, Revision
from clusters.providers import Account


@dataclass(frozen=True)
class Way:
    """What is known of a cluster before anybody is asked. `names`: role of a part -> its name."""

    orchestrator: str
    account: Account
    names: Mapping[str, str]
    namespace: str = KubernetesPlace().namespace
    agent: AgentEndpoint | None = None  # the head node asks us, and nobody there is asked

    @property
    def kubernetes(self) -> bool:
        return self.orchestrator == "hyperpod-eks"


def on_kubernetes(cluster: Cluster) -> KubernetesPlace:
    """Where jobs of the cluster are put, as its newest configuration says. Read inside a scope."""
    if cluster.orchestrator != "hyperpod-eks":
        return KubernetesPlace()
    rows = Revision.objects.filter(cluster=cluster).order_by("-number").values_list("body__kubernetes", flat=True)
    told = rows.first()  # clusters that were asked for before one could say have none
    return KubernetesPlace(**told) if isinstance(told, Mapping) else KubernetesPlace()


def agent_of(cluster: Cluster) -> AgentEndpoint | None:
    """The agent on the head node, where the cluster is reached by it."""
    by_agent = cluster.reach == Cluster.Reach.AGENT
    return AgentEndpoint(str(cluster.tenant_id), str(cluster.pk)) if by_agent else None


def look(way: Way) -> Endpoint | None:
    """Ask the participant's account; None while nothing is there to be reached. Raises ProviderError."""
    if way.agent is not None:
        return way.agent
    cluster = way.names.get("cluster", "")
    if way.kubernetes:
        return kubernetes_endpoint(way.account, way.names.get("eks", ""), cluster, way.namespace)
    return slurm_endpoint(way.account, cluster)


def kept(way: Way, access: ClusterAccess) -> Endpoint:
    """From what was read before; for Kubernetes with a fresh token, which may have to ask AWS for the role."""
    if way.agent is not None:
        return way.agent
    secret = base64.b64decode(access.jwt_key)
    if way.kubernetes:
        token = kubernetes_token(way.account, way.names["eks"])
        return KubernetesEndpoint(access.url, secret.decode(), token, way.namespace, job_logs(way.names["cluster"]))
    return SlurmEndpoint(access.url, tuple(access.versions), access.username, secret, access.log_group)


def keep(cluster: Cluster, endpoint: Endpoint) -> ClusterAccess:
    """Remember how the scheduler is reached; the key, or the authority that its certificate is held against, is sealed."""
    assert not isinstance(endpoint, AgentEndpoint)  # its way is written in the cluster itself
    if isinstance(endpoint, KubernetesEndpoint):
        told = {"versions": [], "username": "", "jwt_key": base64.b64encode(endpoint.ca_pem.encode()).decode()}
    else:
        told = {
            "versions": list(endpoint.versions),
            "username": endpoint.user,
            "jwt_key": base64.b64encode(endpoint.jwt_key).decode(),
        }
    row, _ = ClusterAccess.objects.update_or_create(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        defaults={**told, "url": endpoint.url, "log_group": endpoint.log_group, "read_at": Now()},
    )
    return row
