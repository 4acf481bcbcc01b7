"""Brings the token of a head node's agent into the participant's account, where the head node fetches it."""

import json
from datetime import timedelta

import structlog
from django.conf import settings
from django.db.models.functions import Now

from clusters.access import agent_secret
from clusters.engine import names
from clusters.engine.facts import account_of
from clusters.models import Cluster, ExternalObject, HeadNodeAgent
from clusters.providers import Account, ProviderError, aws
from tenants import metrics
from tenants.models import Tenant
from tenants.wall.acting import acting_for
from tenants.work import due

log = structlog.get_logger(__name__)

NOT_YET, LOST = timedelta(seconds=30), timedelta(minutes=1)


def step(held: due.Held) -> None:
    """Deliver the token that waits for it, once the cluster has a name in the account."""
    with acting_for(held.tenant_id, staff=True):
        cluster = Cluster.objects.select_related("account").filter(pk=held.ref).first()
        agent = HeadNodeAgent.objects.filter(cluster=held.ref, revoked_at=None).first()
        if cluster is None or agent is None or not agent.undelivered or not cluster.wanted:
            due.finish(held, again_in=None)
            return
        part = ExternalObject.objects.filter(cluster=cluster, role="cluster").first()
        if part is None:
            due.finish(held, again_in=NOT_YET)
            return
        slug = Tenant.objects.values_list("slug", flat=True).get(pk=cluster.tenant_id)
    told = {
        "url": f"{settings.SITE_URL}/api/v1/t/{slug}/clusters/{cluster.pk}/agent",
        "token": str(agent.undelivered),
    }
    tags = names.tags(settings.INSTALLATION_ID, cluster.tenant_id, cluster.pk, cluster.incarnation)
    try:
        _put(account_of(cluster.account, cluster.region), agent_secret(part.name), json.dumps(told), tags)
    except ProviderError as error:
        metrics.provider_error("secret", error.kind)
        log.warning("agent_token_not_delivered", cluster=cluster.name, kind=error.kind, message=error.message)
        with acting_for(held.tenant_id, staff=True):
            throttled = error.kind == "throttled"
            due.finish(held, again_in=LOST, give_back=throttled, progress=throttled)
        return
    with acting_for(held.tenant_id, staff=True):
        # Another token may have been made meanwhile: that one waits still.
        rows = HeadNodeAgent.objects.filter(pk=agent.pk, digest=agent.digest)
        rows.update(undelivered="", delivered_at=Now())
        due.finish(held, again_in=None)


def _put(account: Account, name: str, value: str, tags: dict[str, str]) -> None:
    """To put the same value twice is to put it once."""
    try:
        wanted = [{"Key": key, "Value": text} for key, text in sorted(tags.items())]
        aws.call(account, "secretsmanager", "CreateSecret", Name=name, SecretString=value, Tags=wanted)
    except ProviderError as error:
        if error.code != "ResourceExistsException":
            raise
        aws.call(account, "secretsmanager", "PutSecretValue", SecretId=name, SecretString=value)
