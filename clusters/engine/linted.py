"""Looks at the templates of an architecture with cfn-lint, in the slow worker, when somebody wished it."""

from django.db import transaction

from clusters import architectures, linting
from tenants.work import due


def step(held: due.Held) -> None:
    """`ref` says which: the architecture, its version and the Region."""
    slug, version, region = held.ref.split()
    if version in architectures.versions(slug):
        made_of = architectures.architecture(slug, version)
        linting.keep([made_of.text(part.template) for part in made_of.parts if part.template], region)
    with transaction.atomic():
        due.finish(held, again_in=None)
