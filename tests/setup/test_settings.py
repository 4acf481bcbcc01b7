"""Settings: production is the default, and what must not be there stops the start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from program.apps import refuse_another_driver

CHECKOUT = Path(__file__).parents[2]
PRODUCTION = {
    "INSTALLATION_ID": "prod",
    "SITE_URL": "https://cohort.example.org",
    "ALLOWED_HOSTS": "cohort.example.org",
    "SECRET_KEY": "a" * 50,
    "SECRET_KEYS": "k1:" + "A" * 43 + "=",
    "DB_HOST": "db.example.org",
    "DB_PASSWORD": "secret",
    "BROKER_URL": "redis://broker.example.org",
    "MAIL_HOST": "mail.example.org",
    "MAIL_FROM": "cohort@example.org",
    "TRUSTED_PRINCIPAL": "arn:aws:iam::111111111111:role/cohort",
    "DJANGO_SETTINGS_MODULE": "program.settings",
}


def start(code: str = "", **environment: str | None) -> subprocess.CompletedProcess[str]:
    """Set Django up in a process of its own, in production's environment with these changes."""
    wanted = {"PATH": os.environ["PATH"], **PRODUCTION, **environment}
    return subprocess.run(
        [sys.executable, "-c", f"import django; django.setup()\nfrom django.conf import settings\n{code}"],
        cwd=CHECKOUT,
        env={name: value for name, value in wanted.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_production_starts_with_its_settings_and_is_strict() -> None:
    done = start(
        "print(settings.DEBUG, settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE, "
        "settings.SECURE_SSL_REDIRECT, settings.SECURE_HSTS_SECONDS > 0, settings.PERSONA_PICKER, settings.DEMO)"
    )
    assert done.stdout.split() == ["False", "True", "True", "True", "True", "False", "False"], done.stderr


@pytest.mark.parametrize("name", [name for name in PRODUCTION if name != "DJANGO_SETTINGS_MODULE"])
def test_a_missing_setting_stops_the_start_and_is_named(name: str) -> None:
    done = start(**{name: None})
    assert done.returncode
    assert f"The setting {name} is missing" in done.stderr


def test_a_setting_can_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("b" * 50 + "\n")
    done = start("print(settings.SECRET_KEY)", SECRET_KEY=None, SECRET_KEY_FILE=str(tmp_path / "key"))
    assert done.stdout.strip() == "b" * 50, done.stderr


def test_an_empty_setting_is_a_missing_one() -> None:
    assert "The setting SECRET_KEY is missing" in start(SECRET_KEY="").stderr


def test_a_missing_setting_is_a_sentence_and_no_traceback_for_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=CHECKOUT,
        env={"PATH": os.environ["PATH"], **PRODUCTION, "MAIL_FROM": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("The setting MAIL_FROM is missing")
    assert "Traceback" not in done.stderr


def test_production_refuses_the_persona_picker() -> None:
    assert "PERSONA_PICKER lets anybody sign in as anybody" in start(PERSONA_PICKER="1").stderr


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:5000", "http://localhost:5000", "http://[::1]:5000", "http://127.9.9.9", "http://0.0.0.0:1",
     "http://cloud.localhost"],
)  # fmt: skip
def test_production_refuses_the_sandbox_cloud(url: str) -> None:
    done = start(AWS_ENDPOINT_URL=url)
    assert done.returncode
    assert "the sandbox cloud on this machine" in done.stderr


def test_production_refuses_the_sandbox_cloud_for_a_single_service_too() -> None:
    done = start(AWS_ENDPOINT_URL_SAGEMAKER="http://127.0.0.1:5000")
    assert done.returncode
    assert "AWS_ENDPOINT_URL_SAGEMAKER is http://127.0.0.1:5000, the sandbox cloud on this machine" in done.stderr
    assert start(AWS_ENDPOINT_URL_S3="https://vpce.example.org").returncode == 0


def test_production_accepts_another_endpoint() -> None:
    assert start(AWS_ENDPOINT_URL="https://vpce.example.org").returncode == 0


def test_no_driver_but_psycopg2_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_another_driver()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if name == "psycopg" else None)
    with pytest.raises(ImproperlyConfigured, match="psycopg 3 is installed"):
        refuse_another_driver()
