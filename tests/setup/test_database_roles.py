"""The roles that the tests and the portal run under."""

import pytest
from django.db import connection


@pytest.mark.django_db
def test_tests_run_as_the_role_of_web_and_workers() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select session_user, current_user, current_setting('statement_timeout')")
        assert cursor.fetchone() == ("cohort", "cohort", "5s")
