"""What happens to the ways in which somebody signs in: told in the history of wherever they sit, and asked for where it is a rule."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset
from allauth.socialaccount.signals import social_account_added, social_account_removed
from django.contrib import messages
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest
from django.utils.translation import gettext as _

from tenants import entries
from tenants.history import timeline
from tenants.models import Membership, Person, holding
from tenants.wall import second_step
from tenants.wall.acting import acting_for


def tell(person: Person, kind: str) -> None:
    """One entry at each organisation where the person has a seat; it says what, and nothing that opens anything."""
    for seat in Membership.objects.filter(holding(), person=person).select_related("tenant").order_by("pk"):
        with acting_for(seat.tenant, staff=True):
            timeline.record(kind, about=seat.tenant, by=person.actor, person=str(person.pk))


def ask(request: HttpRequest, person: Person) -> None:
    """Say by which day a second step has to be there, where it has to."""
    by = second_step.look(request, person)
    if by is not None:
        sentence = _("Set up the second step of signing in by %(day)s; from then on nothing opens without it.")
        messages.warning(request, sentence % {"day": by.isoformat()}, fail_silently=True)


def signed_in(sender: Any, request: HttpRequest, user: Person, **more: Any) -> None:
    ask(request, user)


def added(sender: Any, request: HttpRequest, user: Person, authenticator: Authenticator, **more: Any) -> None:
    if authenticator.type == second_step.APP:
        tell(user, entries.SECOND_STEP_ON)
        second_step.look(request, user)


def removed(sender: Any, request: HttpRequest, user: Person, authenticator: Authenticator, **more: Any) -> None:
    if authenticator.type == second_step.APP:
        tell(user, entries.SECOND_STEP_OFF)
        ask(request, user)


def renewed(sender: Any, request: HttpRequest, user: Person, authenticator: Authenticator, **more: Any) -> None:
    tell(user, entries.CODES_RENEWED)


def linked(sender: Any, request: HttpRequest, sociallogin: Any, **more: Any) -> None:
    tell(sociallogin.user, entries.ACCOUNT_LINKED)


def unlinked(sender: Any, request: HttpRequest, socialaccount: Any, **more: Any) -> None:
    tell(socialaccount.user, entries.ACCOUNT_UNLINKED)


def listen() -> None:
    """allauth says these things by signals and in no other way."""
    for signal, receiver in (
        (user_logged_in, signed_in),
        (authenticator_added, added),
        (authenticator_removed, removed),
        (authenticator_reset, renewed),
        (social_account_added, linked),
        (social_account_removed, unlinked),
    ):
        signal.connect(receiver, dispatch_uid=f"cohort_{receiver.__name__}")
