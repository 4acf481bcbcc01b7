"""How somebody comes to an organisation: invited by it, or asking it."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from tenants.models.tenancy import TenantOwned
from tenants.states import INVITATION, JOIN_REQUEST, checked
from tenants.wall.roles import ROLES

ROLE_CHOICES = [(name, name) for name in ROLES]


class Invitation(TenantOwned):
    """A role that waits for whoever reads the mail of an address. Of its link only the SHA-256 is kept."""

    SUBJECT = "invitation"
    MOVES = INVITATION

    email = models.EmailField(_("e-mail address"), max_length=254)  # in small letters
    role = models.CharField(_("role"), max_length=24, choices=ROLE_CHOICES)
    team = models.CharField(_("component"), max_length=40, blank=True)
    starts_on = models.DateField(_("from"))
    ends_on = models.DateField(_("until"), null=True, blank=True)
    language = models.CharField(_("language"), max_length=8, default="en")
    state = models.CharField(max_length=12, default="open")
    issue = models.PositiveSmallIntegerField(default=1)  # sent again, it has another link, and the one before is dead
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    invited_by = models.CharField(max_length=60)
    person = models.ForeignKey("tenants.Person", models.PROTECT, null=True, related_name="+")  # who accepted

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(
                fields=["tenant", "email"], condition=models.Q(state="open"), name="one_open_invitation"
            ),
            models.CheckConstraint(condition=models.Q(role__in=ROLES), name="invitation_role_known"),
            checked("invitation", INVITATION),
        ]
        indexes = [models.Index(fields=["tenant", "-created_at", "-id"], name="invitation_newest")]

    def __str__(self) -> str:
        return self.email


class JoinRequest(TenantOwned):
    """Somebody with an address asks to belong to an organisation; only its leads and the office see that."""

    SUBJECT = "join_request"
    MOVES = JOIN_REQUEST

    email = models.EmailField(_("e-mail address"), max_length=254)
    name = models.CharField(_("name"), max_length=120)
    message = models.CharField(_("message"), max_length=500, blank=True)
    language = models.CharField(_("language"), max_length=8, default="en")
    state = models.CharField(max_length=12, default="open")

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(
                fields=["tenant", "email"], condition=models.Q(state="open"), name="one_open_join_request"
            ),
            checked("join_request", JOIN_REQUEST),
        ]
        indexes = [models.Index(fields=["tenant", "-created_at", "-id"], name="join_request_newest")]

    def __str__(self) -> str:
        return self.email
