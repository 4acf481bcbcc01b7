"""People who sign in, and the tokens that programs use in their name."""

import uuid

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower, Now
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _


class PersonManager(BaseUserManager["Person"]):
    def create_user(self, email: str, password: str | None = None, **fields: object) -> "Person":
        person = self.model(email=email.strip().lower(), **fields)
        person.set_password(password) if password else person.set_unusable_password()
        person.save(using=self._db)
        return person

    def get_by_natural_key(self, username: str | None) -> "Person":
        return self.get(email__iexact=username)


class Person(AbstractBaseUser):
    """Someone who signs in. Never deleted: erasure empties the row, so that the history keeps its actors."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(_("e-mail address"), max_length=254)
    name = models.CharField(_("name"), max_length=120, blank=True)
    language = models.CharField(_("language"), max_length=8, default="en")
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC")
    mail_off = ArrayField(models.CharField(max_length=24), default=list, db_default=[], blank=True)
    is_active = models.BooleanField(default=True)
    joined_at = models.DateTimeField(db_default=Now())
    signed_out = models.PositiveIntegerField(default=0, db_default=0)  # how often all sessions were ended at once
    erased_at = models.DateTimeField(null=True)  # from then on the row says nothing about anybody

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: list[str] = []
    objects = PersonManager()

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="one_person_per_email")]

    def __str__(self) -> str:
        if self.erased_at is not None:
            return gettext("a former member (%(code)s)") % {"code": self.code}
        return self.name or self.email

    @property
    def code(self) -> str:
        """What tells one erased person from another."""
        return str(self.pk)[:6]

    @property
    def actor(self) -> str:
        return f"person:{self.pk}"

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """What a session must show to go on: another password ends it, and so does ending all sessions."""
        # Nought leaves the hash as Django makes it, so that the sessions of whoever was never signed out go on.
        if not self.signed_out:
            return super()._get_session_auth_hash(secret=secret)  # type: ignore[misc,no-any-return]
        value = f"{self.password}:{self.signed_out}"
        return salted_hmac("cohort.session", value, secret=secret, algorithm="sha256").hexdigest()


class ApiToken(models.Model):
    """A program's key. Only its SHA-256 is kept; `prefix` finds it, `tenant` narrows it to one tenant."""

    class Scope(models.TextChoices):
        READ = "read", _("read")
        WRITE = "write", _("read and write")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    person = models.ForeignKey(Person, models.PROTECT, related_name="tokens")
    tenant = models.ForeignKey("tenants.Tenant", models.PROTECT, null=True, blank=True)
    name = models.CharField(max_length=80)
    scope = models.CharField(max_length=5, choices=Scope.choices, default=Scope.WRITE)
    internal = models.BooleanField(default=False, help_text=_("May read internal text, where its person may."))
    prefix = models.CharField(max_length=12, unique=True)
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    @property
    def actor(self) -> str:
        return f"token:{self.pk}"
