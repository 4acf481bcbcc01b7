"""Taking an organisation in: it, its place in a cycle, and the history that begins with that."""

from datetime import timedelta
from typing import Any

from django.utils.translation import gettext as _

from tenants import entries
from tenants.actions import add_record, because, refuse_what_breaks_a_rule
from tenants.history import timeline
from tenants.models import Cycle, Participation, Tenant
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.work import due


def enrol(*, slug: str, name: str, cycle: Cycle, by: str, why: str = "", **fields: Any) -> Participation:
    """Let an organisation take part in a cycle, as applied; a new one is made. Raises Refused (422) naming the field."""
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is not None and (tenant.is_office or name not in ("", tenant.name)):
        sentence = _("'%(slug)s' is taken by '%(name)s'. Write that name, or choose another short name.")
        sentence %= {"slug": slug, "name": tenant.name}
        raise Refused("taken", sentence, status=422, fields={"participant": [sentence]})
    known = tenant is not None
    tenant = tenant or Tenant(slug=slug, name=name)
    if not known:
        refuse_what_breaks_a_rule(tenant)
    with acting_for(tenant, staff=True):
        if not known:
            tenant.save(force_insert=True)
            timeline.record(entries.RECORD_ADDED, about=tenant, by=by, what=name, **because(why))
            due.wish("seal", tenant.pk, tenant=tenant, after=timedelta(hours=1))
        participation = Participation(tenant=tenant, cycle=cycle, **fields)
        add_record(block=participation, by=by, why=why)
    return participation
