"""Tables of the tenants layer, gathered for Django."""

from tenants.history.models import Entry, Note, Seal
from tenants.models.contacts import Contact
from tenants.models.delivery import Attachment, Delivery, IdempotencyKey
from tenants.models.duty import DutyShift
from tenants.models.erasing import Erasure
from tenants.models.imports import Import
from tenants.models.joining import Invitation, JoinRequest
from tenants.models.people import ApiToken, Person
from tenants.models.progress import DataIngest, Evaluation, Milestone, MonitoringLink, Result
from tenants.models.record import FrameworkUse, SoftwareVersion, TrainingModel
from tenants.models.tenancy import (
    Assignment,
    Cycle,
    Dated,
    Membership,
    Participation,
    Programme,
    Tenant,
    TenantManager,
    TenantOwned,
    holding,
    tied,
    within,
)
from tenants.work.models import Due, Lane

__all__ = [
    "ApiToken",
    "Assignment",
    "Attachment",
    "Contact",
    "Cycle",
    "Dated",
    "DataIngest",
    "Delivery",
    "Due",
    "DutyShift",
    "Entry",
    "Erasure",
    "Evaluation",
    "FrameworkUse",
    "IdempotencyKey",
    "Import",
    "Invitation",
    "JoinRequest",
    "Lane",
    "Membership",
    "Milestone",
    "MonitoringLink",
    "Note",
    "Participation",
    "Person",
    "Programme",
    "Result",
    "Seal",
    "SoftwareVersion",
    "Tenant",
    "TenantManager",
    "TenantOwned",
    "TrainingModel",
    "holding",
    "tied",
    "within",
]
