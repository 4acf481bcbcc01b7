"""What must be true before the portal starts: the database's role, version and driver, and nothing of the demo in production."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.backends.signals import connection_created

OLDEST_SERVER = 170_000
# `rolinherit` is only the default of later grants; what counts since PostgreSQL 16 is each membership's own option.
ROLE = """
select session_user, current_setting('server_version_num')::int, rolsuper, rolbypassrls, rolinherit,
       exists (select from pg_auth_members where member = pg_roles.oid and inherit_option)
from pg_roles where rolname = session_user"""


def refuse_an_unfit_connection(connection: Any) -> None:
    """Refuse a server that is too old and a role that row security does not bind."""
    with connection.cursor() as cursor:
        cursor.execute("select current_setting('server_version_num')::int")
        version = cursor.fetchone()[0]
        if version < OLDEST_SERVER:
            raise ImproperlyConfigured(f"PostgreSQL 17 or newer is needed; this server is {version // 10_000}.")
        cursor.execute(ROLE)
        role, _, superuser, bypasses, inherits, member = cursor.fetchone()
    if superuser or bypasses or inherits or member:
        raise ImproperlyConfigured(
            f"The database role {role} is a superuser, bypasses row security, or inherits other roles; "
            "tenants would not be kept apart. Use the role `cohort` of program/db/roles.sql."
        )


def take_no_unfit_connection(connection: Any, **kwargs: Any) -> None:
    """Look at a new connection; left open after a refusal, it would serve whoever asks next, unseen."""
    try:
        refuse_an_unfit_connection(connection)
    except ImproperlyConfigured:
        connection.close()
        raise


def refuse_another_driver() -> None:
    """Django prefers psycopg 3 silently when it is installed; the portal is written and measured for psycopg2."""
    if importlib.util.find_spec("psycopg") is not None:
        raise ImproperlyConfigured("psycopg 3 is installed and Django would use it instead of psycopg2; remove it.")


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine itself."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def refuse_the_demo_in_production() -> None:
    """Outside development nobody picks a persona, and no cloud is played by a program on this machine."""
    if settings.DEBUG:
        return
    if settings.OIDC_ISSUER and not settings.OIDC_ISSUER.startswith("https://"):
        raise ImproperlyConfigured(
            f"OIDC_ISSUER is {settings.OIDC_ISSUER}; without https anybody on the way could sign in as anybody."
        )
    if settings.PERSONA_PICKER:
        raise ImproperlyConfigured("PERSONA_PICKER lets anybody sign in as anybody; it is refused without DEBUG=1.")
    # The provider's library reads one for each service too, straight from the environment.
    endpoints = {name: value for name, value in os.environ.items() if name.startswith("AWS_ENDPOINT_URL_")}
    for name, value in {"AWS_ENDPOINT_URL": settings.AWS_ENDPOINT_URL, **endpoints}.items():
        if is_loopback(value):
            raise ImproperlyConfigured(
                f"{name} is {value}, the sandbox cloud on this machine; it is refused without DEBUG=1."
            )


class ProgramConfig(AppConfig):
    """The composition root as Django sees it."""

    name = "program"

    def ready(self) -> None:
        import program.calls.applying
        import program.demo.live_jobs
        import program.launch_checks
        import program.leaving
        import program.publishing
        import program.record_reminding
        import program.reminding
        import program.report_reminding  # noqa: F401  register who makes the minutes, and who reminds whom of what
        from program import second_step
        from program.models import OnboardingStep, Report
        from tenants import files
        from tenants.wall import roles

        for proven_by_files in (OnboardingStep, Report):
            files.subject(proven_by_files.SUBJECT, readers=roles.READ)

        second_step.listen()
        refuse_another_driver()
        refuse_the_demo_in_production()
        connection_created.connect(take_no_unfit_connection, dispatch_uid="take_no_unfit_connection")
