"""The database roles: what web and workers may, and which connections are refused."""

from collections.abc import Iterator
from typing import Any

import psycopg2
import psycopg2.errors
import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import ProgrammingError, connection, connections

from program.apps import refuse_an_unfit_connection, take_no_unfit_connection
from program.celery import connect_once
from program.devstack.embedded import ROLES


@pytest.fixture
def superuser(django_db_setup: None) -> Iterator[Any]:
    found = psycopg2.connect(
        host=settings.DATABASES["default"]["HOST"], user="postgres", dbname=connection.settings_dict["NAME"]
    )
    found.autocommit = True
    yield found
    found.close()


def asked(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()


@pytest.mark.django_db
def test_tests_run_as_the_role_of_web_and_workers_with_its_limits() -> None:
    assert asked("select session_user, current_user") == ("cohort", "cohort")
    limits = ("statement", "lock", "idle_in_transaction_session", "transaction")
    assert [asked(f"show {limit}_timeout")[0] for limit in limits] == ["5s", "2s", "15s", "1min"]


@pytest.mark.django_db
def test_the_role_owns_no_table_and_can_change_none() -> None:
    owners = "select array_agg(distinct tableowner::text) from pg_tables where schemaname = 'public'"
    assert asked(owners) == (["cohort_owner"],)
    with pytest.raises(ProgrammingError):
        asked("alter table tenants_person add column x int")


@pytest.mark.django_db
def test_the_reader_may_only_read() -> None:
    granted = """select array_agg(distinct privilege_type) from pg_class, aclexplode(relacl)
                 where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
                   and grantee = 'cohort_reader'::regrole"""
    assert asked(granted) == (["SELECT"],)


def test_a_command_that_acts_as_the_owner_gives_the_role_and_the_limits_back(transactional_db: None) -> None:
    call_command("migrate", verbosity=0)
    assert asked("select current_user") == ("cohort",)
    assert asked("show statement_timeout") == ("5s",)
    assert asked("show transaction_timeout") == ("1min",)


def test_roles_can_be_made_again(superuser: Any) -> None:
    with superuser.cursor() as cursor:
        cursor.execute("begin")
        cursor.execute(ROLES.read_text())
        cursor.execute("rollback")


@pytest.mark.parametrize(
    "change",
    [
        "alter role cohort inherit",
        "alter role cohort superuser",
        "alter role cohort bypassrls",
        "grant cohort_reader to cohort with inherit true",
    ],
)
def test_a_role_that_row_security_does_not_bind_is_refused(superuser: Any, change: str) -> None:
    probe = psycopg2.connect(
        host=settings.DATABASES["default"]["HOST"], user="cohort", dbname=connection.settings_dict["NAME"]
    )
    with superuser.cursor() as cursor:
        refuse_an_unfit_connection(probe)
        # Uncommitted, and seen only by the connection that asks the same question in the superuser's place.
        cursor.execute("begin")
        cursor.execute(change)
        cursor.execute("set session authorization cohort")
        with pytest.raises(ImproperlyConfigured, match="tenants would not be kept apart"):
            refuse_an_unfit_connection(superuser)
        cursor.execute("reset session authorization")
        cursor.execute("rollback")
    probe.close()


def test_the_superuser_is_refused(superuser: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match="The database role postgres is a superuser"):
        refuse_an_unfit_connection(superuser)


def test_a_refused_connection_is_not_left_for_whoever_asks_next(superuser: Any, django_db_blocker: Any) -> None:
    again = connections.create_connection("default")
    again.settings_dict = {**again.settings_dict, "USER": "postgres"}
    with django_db_blocker.unblock():
        for _ in range(2):
            with pytest.raises(ImproperlyConfigured, match="postgres is a superuser"), again.cursor() as cursor:
                cursor.execute("select 1")
        assert again.connection is None


def test_a_worker_with_an_unfit_role_ends_at_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def unfit() -> None:
        raise ImproperlyConfigured("tenants would not be kept apart")

    monkeypatch.setattr(connection, "ensure_connection", unfit)
    with pytest.raises(SystemExit, match="tenants would not be kept apart"):
        connect_once()


def test_an_old_server_is_refused() -> None:
    class Old:
        def cursor(self) -> "Old":
            return self

        __enter__ = cursor

        def __exit__(self, *_: Any) -> None: ...
        def execute(self, sql: str) -> None: ...
        def fetchone(self) -> tuple[int]:
            return (160_004,)

    with pytest.raises(ImproperlyConfigured, match="PostgreSQL 17 or newer is needed; this server is 16"):
        refuse_an_unfit_connection(Old())


def test_django_asks_at_every_new_connection(django_db_setup: None, django_db_blocker: Any) -> None:
    from django.db.backends.signals import connection_created

    assert take_no_unfit_connection in [receiver() for _, receiver, *_ in connection_created.receivers]
    assert connections["default"].vendor == "postgresql"
