"""Prints a new API token once, alone on the last line."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.http import Http404

from tenants.actions import grant_token
from tenants.models import Person, Tenant
from tenants.wall.access import seat
from tenants.web.problems import Refused


class Command(BaseCommand):
    help = "Issue an API token for a person. The token is printed once, on the last line, and kept nowhere."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="whose role the token gets")
        parser.add_argument("--tenant", metavar="SLUG", help="only this tenant, instead of all that the person may see")
        parser.add_argument("--days", type=int, default=90, help="how long it lives: 1 to 365, 90 unless said")
        parser.add_argument("--read", action="store_true", help="may read and not write")
        parser.add_argument("--internal", action="store_true", help="may read internal text, where its person may")
        parser.add_argument(
            "--name", default="command line", help="what the token is called in lists and in the history"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        person = Person.objects.filter(email__iexact=options["email"].strip()).first()
        if person is None or not person.is_active:
            raise CommandError(f"Nobody who may sign in has the address {options['email']}.")
        if not 1 <= len(options["name"]) <= 80:
            raise CommandError(f"A token's name has 1 to 80 characters; yours has {len(options['name'])}.")
        tenant = None
        if options["tenant"]:
            tenant = Tenant.objects.filter(slug=options["tenant"]).first()
            if tenant is None:
                known = ", ".join(Tenant.objects.order_by("slug").values_list("slug", flat=True)[:40])
                raise CommandError(f"There is no tenant '{options['tenant']}'. There are: {known}.")
        try:
            found = seat(person, tenant.slug if tenant else None)
            text = grant_token(
                person=person,
                tenant=tenant,
                days=options["days"],
                name=options["name"],
                scope="read" if options["read"] else "write",
                internal=options["internal"],
                by=person.actor,
            )
        except Http404:
            where = f"at {tenant}" if tenant else "anywhere"
            raise CommandError(f"{person.email} has no role {where}, so a token would open nothing.") from None
        except Refused as refused:
            raise CommandError(str(refused)) from None
        reach = str(tenant) if tenant else "all that its person may see"
        self.stderr.write(f"A token for {person.email} ({found.role}), {options['days']} days, {reach}:")
        self.stdout.write(text)
