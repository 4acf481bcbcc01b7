"""`manage.py role_template`: prints the template of the role that participants' accounts trust, for a bucket of the operator."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from clusters import account_opening, accounts


class Command(BaseCommand):
    help = "Print the CloudFormation template of the role; ROLE_TEMPLATE_URL says where in S3 it lies then."

    def handle(self, *args: Any, **options: Any) -> None:
        body = account_opening.template(accounts.permissions(), settings.TRUSTED_PRINCIPAL)
        self.stdout.write(json.dumps(body, indent=2))
