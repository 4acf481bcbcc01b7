"""The API of who belongs to an organisation and who is invited."""

from typing import Any
from uuid import UUID
from zoneinfo import available_timezones

from django.conf import settings
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants import confirming, inviting, joining, leaving, people, states
from tenants import contacts as written
from tenants.models import Contact, Invitation, JoinRequest, Person
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import based_on, endpoint, versioned
from tenants.web.bodies import Asked, asked, refusal
from tenants.web.idempotency import repeatable
from tenants.web.listing import Listing, OneOf, Shown, one


class MemberShown(Shown):
    """A person's role at an organisation, from a day to a day, both included."""

    id = serializers.IntegerField()
    person = serializers.UUIDField(source="person_id")
    name = serializers.CharField(source="person.name")
    email = serializers.EmailField(source="person.email")
    role = serializers.ChoiceField(choices=roles.ROLES)
    team = serializers.CharField(help_text="For service engineers: the component they answer for.")
    starts_on = serializers.DateField()
    ends_on = serializers.DateField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True, help_text="Taken away before the last day was over.")
    confirmed_at = serializers.DateTimeField(allow_null=True, help_text="When it was last confirmed to be right.")


MEMBERS = Listing("members", MemberShown, {"role": OneOf("role", roles.ROLES)}, newest="created_at")


@allow(roles.READ)
@MEMBERS.described
@endpoint("GET")
def members(request: Request) -> Response:
    """Seats of people, also those that ended and those that begin later."""
    return MEMBERS.answer(request, people.memberships())


class SeatAsked(Asked):
    role = serializers.ChoiceField(choices=roles.ROLES)
    starts_on = serializers.DateField(
        required=False, allow_null=True, help_text="Of another role; at once unless said."
    )
    ends_on = serializers.DateField(required=False, allow_null=True, help_text="The last day; open unless said.")
    team = serializers.CharField(max_length=40, required=False, help_text="For service engineers: their component.")


class RemovalAsked(Asked):
    why = serializers.CharField(max_length=300, required=False, help_text="For the history.")
    to = serializers.UUIDField(
        required=False,
        allow_null=True,
        help_text="A member who goes on with open cases, action items, duties and shifts.",
    )


class LeftShown(serializers.Serializer):
    """What ended with a person's access."""

    member = MemberShown()
    tokens = serializers.IntegerField(help_text="Tokens that were revoked.")
    invitations = serializers.IntegerField(help_text="Open invitations to and from the person that were withdrawn.")
    duties = serializers.IntegerField(help_text="Participants the person looked after.")
    contacts = serializers.IntegerField()
    unowned = serializers.DictField(
        child=serializers.IntegerField(), help_text="Kind of thing: how many have no owner."
    )


def _member(pk: Any) -> dict[str, Any]:
    return one(people.memberships(), MemberShown, pk)


@allow(roles.READ)
@extend_schema(responses=MemberShown)
@endpoint("GET")
def member(request: Request, pk: int) -> Response:
    """One seat."""
    return Response(MemberShown(_member(pk)).data)


@allow(roles.MANAGE_PEOPLE)
@extend_schema(request=SeatAsked, responses=MemberShown)
@endpoint("POST")
@repeatable(required=False)
def change_member(request: Request, pk: int) -> Response:
    """Give a member another role from a day on, or another last day; the answer is the seat that holds then."""
    sent = asked(SeatAsked, request)
    row = one(people.memberships(), None, pk)
    new = leaving.change(seat=row, by=request.actor, person=request.person, giver=request.role, **sent)
    return Response(MemberShown(_member(new.pk)).data)


@allow(roles.MANAGE_PEOPLE)
@extend_schema(request=RemovalAsked, responses=LeftShown)
@endpoint("POST")
@repeatable(required=False)
def remove_member(request: Request, pk: int) -> Response:
    """Take a member's access away at once, and say what ended with it."""
    sent = asked(RemovalAsked, request)
    row = one(people.memberships(), None, pk)
    heir = sent.pop("to", None)
    to = None
    if heir is not None:
        to = Person.objects.filter(pk=heir, pk__in=people.memberships().values("person")).first()
        if to is None:
            raise refusal("to", _("There is no such member."), str(heir), "does_not_exist")
    left = leaving.remove(seat=row, by=request.actor, person=request.person, to=to, **sent)
    return Response(LeftShown({"member": _member(pk), **leaving.told(left)}).data)


class InvitationShown(Shown):
    """An address that was invited. The secret of its link is in the mail and nowhere else."""

    email = serializers.EmailField()
    role = serializers.ChoiceField(choices=roles.ROLES)
    team = serializers.CharField()
    starts_on = serializers.DateField()
    ends_on = serializers.DateField(allow_null=True)
    language = serializers.ChoiceField(choices=settings.LANGUAGES)
    state = serializers.ChoiceField(choices=sorted(states.INVITATION))
    expires_at = serializers.DateTimeField(
        help_text="From then on the link opens nothing, also where it is still open."
    )
    invited_by = serializers.CharField(help_text="person:… or token:…")


class InvitationAsked(Asked):
    email = serializers.EmailField(max_length=254)
    role = serializers.ChoiceField(choices=roles.ROLES)
    starts_on = serializers.DateField(required=False, allow_null=True, help_text="Today unless said.")
    ends_on = serializers.DateField(required=False, allow_null=True, help_text="The last day; open unless said.")
    language = serializers.ChoiceField(choices=settings.LANGUAGES, default="en", help_text="Of the mail.")
    team = serializers.CharField(max_length=40, required=False, help_text="For service engineers: their component.")


class InvitationResendAsked(Asked):
    language = serializers.ChoiceField(choices=settings.LANGUAGES, required=False, help_text="Of this mail.")


class InvitationWithdrawAsked(Asked):
    why = serializers.CharField(max_length=300, required=False, help_text="For the history.")


INVITATIONS = Listing("invitations", InvitationShown, {"state": OneOf("state", states.INVITATION)}, newest="created_at")


@allow(roles.READ)
@INVITATIONS.described
@endpoint("GET")
def invitations(request: Request) -> Response:
    """Invitations, the newest first."""
    return INVITATIONS.answer(request, Invitation.objects.all())


@allow(roles.READ, write=roles.MANAGE_PEOPLE)
@extend_schema(methods=["POST"], request=InvitationAsked, responses={201: InvitationShown})
@INVITATIONS.described
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_invitations(request: Request) -> Response:
    """Invitations; POST invites an address by mail."""
    if request.method != "POST":
        return INVITATIONS.answer(request, Invitation.objects.all())
    sent: dict[str, Any] = asked(InvitationAsked, request)
    made = inviting.invite(tenant=request.tenant, by=request.actor, giver=request.role, **sent)
    return _invitation(made.pk, 201)


@allow(roles.READ)
@extend_schema(responses=InvitationShown)
@endpoint("GET")
def invitation(request: Request, pk: UUID) -> Response:
    """One invitation."""
    return _invitation(pk)


def _invitation(pk: Any, status: int = 200) -> Response:
    return Response(InvitationShown(one(Invitation.objects.all(), InvitationShown, pk)).data, status=status)


@allow(roles.MANAGE_PEOPLE)
@extend_schema(request=InvitationResendAsked, responses=InvitationShown)
@endpoint("POST")
@repeatable(required=False)
def resend(request: Request, pk: UUID) -> Response:
    """Write to the address again: the link before is dead, the new one lives its full time."""
    sent = asked(InvitationResendAsked, request)
    row = one(Invitation.objects.all(), None, pk)
    inviting.resend(invitation=row, by=request.actor, giver=request.role, **sent)
    return _invitation(pk)


@allow(roles.MANAGE_PEOPLE)
@extend_schema(request=InvitationWithdrawAsked, responses=InvitationShown)
@endpoint("POST")
@repeatable(required=False)
def withdraw(request: Request, pk: UUID) -> Response:
    """Make the link of an open invitation worthless."""
    sent = asked(InvitationWithdrawAsked, request)
    inviting.withdraw(invitation=one(Invitation.objects.all(), None, pk), by=request.actor, **sent)
    return _invitation(pk)


class JoinRequestShown(Shown):
    """Somebody asks to belong to an organisation; nothing was shown to them."""

    email = serializers.EmailField()
    name = serializers.CharField()
    message = serializers.CharField()
    language = serializers.ChoiceField(choices=settings.LANGUAGES)
    state = serializers.ChoiceField(choices=sorted(states.JOIN_REQUEST))


class AcceptRequestAsked(Asked):
    role = serializers.ChoiceField(choices=roles.CUSTOMER_ROLES)
    starts_on = serializers.DateField(required=False, allow_null=True, help_text="Today unless said.")
    ends_on = serializers.DateField(required=False, allow_null=True, help_text="The last day; open unless said.")


class DeclineRequestAsked(Asked):
    why = serializers.CharField(max_length=300, required=False, help_text="For the history; nobody is told.")


JOIN_REQUESTS = Listing(
    "join_requests", JoinRequestShown, {"state": OneOf("state", states.JOIN_REQUEST)}, newest="created_at"
)


@allow(roles.MANAGE_PEOPLE)
@JOIN_REQUESTS.described
@endpoint("GET")
def join_requests(request: Request) -> Response:
    """Requests to join, the newest first."""
    return JOIN_REQUESTS.answer(request, JoinRequest.objects.all())


@allow(roles.LEADS)
@extend_schema(request=AcceptRequestAsked, responses={201: InvitationShown})
@endpoint("POST")
@repeatable(required=False)
def accept_request(request: Request, pk: UUID) -> Response:
    """Say yes to a request to join: the address is invited."""
    sent = asked(AcceptRequestAsked, request)
    row = one(JoinRequest.objects.all(), None, pk)
    made = joining.accept(request=row, by=request.actor, giver=request.role, **sent)
    return _invitation(made.pk, 201)


@allow(roles.LEADS)
@extend_schema(request=DeclineRequestAsked, responses=JoinRequestShown)
@endpoint("POST")
@repeatable(required=False)
def decline_request(request: Request, pk: UUID) -> Response:
    """Say no to a request to join; whoever asked is not told."""
    sent = asked(DeclineRequestAsked, request)
    row = one(JoinRequest.objects.all(), None, pk)
    joining.decline(request=row, by=request.actor, giver=request.role, **sent)
    return Response(JoinRequestShown(one(JoinRequest.objects.all(), JoinRequestShown, pk)).data)


class ContactShown(Shown):
    """Who answers for a duty of an organisation."""

    duty = serializers.ChoiceField(choices=Contact.Duty.values)
    person = serializers.UUIDField(source="person_id", allow_null=True, help_text="A member, where it is one.")
    name = serializers.CharField()
    email = serializers.EmailField()
    phone = serializers.CharField()
    timezone = serializers.CharField()
    hours = serializers.CharField()
    checked_at = serializers.DateTimeField(help_text="When somebody last said that it is right.")
    checked_by = serializers.CharField()
    version = serializers.IntegerField()


def known_zone(name: str) -> None:
    """A name of the time zone database."""
    if name not in available_timezones():
        raise serializers.ValidationError(_("Write it like Asia/Tokyo."))


class ContactAsked(Asked):
    duty = serializers.ChoiceField(choices=Contact.Duty.values)
    person = serializers.UUIDField(required=False, allow_null=True)
    name = serializers.CharField(max_length=120)
    email = serializers.EmailField(max_length=254, required=False, allow_blank=True)
    phone = serializers.CharField(max_length=40, required=False, allow_blank=True)
    timezone = serializers.CharField(max_length=64, required=False, validators=[known_zone])
    hours = serializers.CharField(max_length=80, required=False, allow_blank=True)


class ContactChanged(ContactAsked):
    version = serializers.IntegerField(required=False, min_value=0, max_value=2_147_483_647)


class ContactStepAsked(Asked):
    why = serializers.CharField(max_length=300, required=False, help_text="Nothing has to be said.")


CONTACTS = Listing("contacts", ContactShown, {"duty": OneOf("duty", Contact.Duty.values)}, newest="created_at")


def _contact(pk: Any, status: int = 200) -> Response:
    row = one(Contact.objects.all(), ContactShown, pk)
    return versioned(ContactShown(row).data, row["version"], status=status)


def _named(sent: dict[str, Any]) -> dict[str, Any]:
    """The member that an id means. Somebody else's id answers like one that is nobody's."""
    if sent.get("person") is None:
        return sent
    member = people.memberships().filter(person=sent["person"]).exists()
    if not member:
        raise refusal("person", _("There is no such member."), str(sent["person"]), "does_not_exist")
    return sent | {"person": Person.objects.get(pk=sent["person"])}


@allow(roles.READ)
@CONTACTS.described
@endpoint("GET")
def contacts(request: Request) -> Response:
    """Contacts by duty."""
    return CONTACTS.answer(request, Contact.objects.all())


@allow(roles.READ, write=roles.KEEP_CONTACTS)
@extend_schema(methods=["POST"], request=ContactAsked, responses={201: ContactShown})
@CONTACTS.described
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_contacts(request: Request) -> Response:
    """Contacts by duty; POST writes one down."""
    if request.method != "POST":
        return CONTACTS.answer(request, Contact.objects.all())
    sent = _named(asked(ContactAsked, request))
    return _contact(written.add(tenant=request.tenant, by=request.actor, **sent).pk, 201)


@allow(roles.READ)
@extend_schema(responses=ContactShown)
@endpoint("GET")
def contact(request: Request, pk: UUID) -> Response:
    """One contact."""
    return _contact(pk)


@allow(roles.READ, write=roles.KEEP_CONTACTS)
@extend_schema(methods=["GET"], responses=ContactShown)
@extend_schema(methods=["PATCH"], request=ContactChanged, responses=ContactShown)
@endpoint("GET", "PATCH")
def tenant_contact(request: Request, pk: UUID) -> Response:
    """One contact; PATCH changes it, which is also to confirm it."""
    row = one(Contact.objects.all(), None, pk)
    if request.method == "PATCH":
        sent = _named(asked(ContactChanged, request, partial=True))
        version = based_on(request, sent)
        sent.pop("version", None)
        written.edit(contact=row, by=request.actor, version=version, **sent)
    return _contact(pk)


@allow(roles.KEEP_CONTACTS)
@extend_schema(request=ContactStepAsked, responses=ContactShown)
@endpoint("POST")
@repeatable(required=False)
def confirm_contact(request: Request, pk: UUID) -> Response:
    """Say that a contact is still right."""
    asked(ContactStepAsked, request)
    written.confirm(contact=one(Contact.objects.all(), None, pk), by=request.actor)
    return _contact(pk)


@allow(roles.KEEP_CONTACTS)
@extend_schema(request=ContactStepAsked, responses=ContactShown)
@endpoint("POST")
@repeatable(required=False)
def remove_contact(request: Request, pk: UUID) -> Response:
    """Take a contact off the list; the answer is what it was."""
    asked(ContactStepAsked, request)
    row = one(Contact.objects.all(), ContactShown, pk)
    written.remove(contact=one(Contact.objects.all(), None, pk), by=request.actor)
    return Response(ContactShown(row).data)


class ConfirmAsked(Asked):
    members = serializers.ListField(
        child=serializers.IntegerField(min_value=1), min_length=1, max_length=people.MOST, help_text="Ids of members."
    )


class ConfirmedShown(serializers.Serializer):
    """How many seats were confirmed."""

    confirmed = serializers.IntegerField()


@allow(roles.MANAGE_PEOPLE)
@extend_schema(request=ConfirmAsked, responses=ConfirmedShown)
@endpoint("POST")
@repeatable(required=False)
def confirm_members(request: Request) -> Response:
    """Say of these members that their access is still right."""
    sent = asked(ConfirmAsked, request)
    done = confirming.confirm(tenant=request.tenant, seats=sent["members"], by=request.actor)
    return Response(ConfirmedShown({"confirmed": done}).data)
