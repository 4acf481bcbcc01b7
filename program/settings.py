"""Every setting, each read from the environment through env(); production is the default, DEBUG=1 is development."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from program import oidc
from program.logs import logging_settings

BASE_DIR = Path(__file__).resolve().parent.parent
DEBUG = os.environ.get("DEBUG", "0") == "1"


def env(name: str, default: str | None = None, *, debug: str | None = None) -> str:
    """A setting from NAME or from the file that NAME_FILE names; `debug` is the default of development only."""
    if value := os.environ.get(name):
        return value
    if path := os.environ.get(f"{name}_FILE"):
        return Path(path).read_text().strip()
    if DEBUG and debug is not None:
        return debug
    if default is None:
        raise ImproperlyConfigured(
            f"The setting {name} is missing. Set the environment variable {name}, or {name}_FILE to a file that holds it."
            + (
                ""
                if DEBUG
                else " (In a checkout, commands take their settings from the `make up` that runs there; none does now.)"
            )
        )
    return default


def listed(name: str, default: str | None = None, *, debug: str | None = None) -> list[str]:
    """A setting that is a list, written with commas."""
    return [item.strip() for item in env(name, default, debug=debug).split(",") if item.strip()]


# --- this installation
INSTALLATION_ID = env("INSTALLATION_ID", debug="local")
VAR = Path(env("VAR", str(BASE_DIR / "var"))).resolve()
PORT = int(env("PORT", "8000"))
SITE_URL = env("SITE_URL", debug=f"http://127.0.0.1:{PORT}")
WEB_WORKERS = int(env("WEB_WORKERS", "2"))
WEB_THREADS = int(env("WEB_THREADS", "4"))
ENGINE_WORKERS = int(env("ENGINE_WORKERS", "3"))
DEMO = env("DEMO", "0", debug="1") == "1"
PERSONA_PICKER = env("PERSONA_PICKER", "0") == "1"

# --- work that waits
LEASE_SECONDS = int(env("LEASE_SECONDS", "90"))
BELL_SECONDS = float(env("BELL_SECONDS", "2"))
SETTLE_SECONDS = int(env("SETTLE_SECONDS", "300"))
# How long "not found" proves nothing after a call; providers answer from copies that lag behind.
CONSISTENCY_SECONDS = int(env("CONSISTENCY_SECONDS", "300"))
CAPACITY_TRIES = int(env("CAPACITY_TRIES", "4"))

# --- metrics; the library reads the folder's variable itself. Empty: nothing is added up beyond one process.
PROMETHEUS_MULTIPROC_DIR = env("PROMETHEUS_MULTIPROC_DIR", "")
METRICS_HOST = env("METRICS_HOST", "127.0.0.1")
METRICS_PORT = int(env("METRICS_PORT", "9464"))

# --- clouds; boto3 itself reads these variables, the settings only check them
AWS_ENDPOINT_URL = env("AWS_ENDPOINT_URL", "")
# Whom a participant's role trusts: the identity of this installation at the provider.
TRUSTED_PRINCIPAL = env("TRUSTED_PRINCIPAL", debug="arn:aws:iam::999999999999:root")
# Where the operator has laid the template of that role into S3, for the link that makes it; empty: no link is shown.
ROLE_TEMPLATE_URL = env("ROLE_TEMPLATE_URL", "")
PCLUSTER = Path(env("PCLUSTER", str(BASE_DIR / ".pcluster-venv" / "bin" / "pcluster")))
# The socket of the process that knows ParallelCluster's schema; empty: configurations are not checked by it.
PCLUSTER_SCHEMA = env("PCLUSTER_SCHEMA", "")
LINT_TEMPLATES = env("LINT_TEMPLATES", "1") == "1"
# Whose prices hold; the file that ships is fictional and says so.
PRICE_FILE = env("PRICE_FILE", str(BASE_DIR / "clusters" / "facts" / "prices.toml"))
SANDBOX_SPEED = float(env("SANDBOX_SPEED", "60"))
# Whose quotas and reservations the sandbox cloud has.
SANDBOX_PROGRAMME = Path(env("SANDBOX_PROGRAMME", str(BASE_DIR / "program" / "demo" / "programme.yaml")))

# --- secrets
SECRET_KEY = env("SECRET_KEY", debug="development-only-" + "0123456789" * 4)
# "id:key,id:key": the first key encrypts, all of them decrypt. A key is 32 bytes in URL-safe base64.
SECRET_KEYS = listed(
    "SECRET_KEYS", debug="dev:" + base64.urlsafe_b64encode(hashlib.sha256(b"cohort development").digest()).decode()
)

# --- database
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": env("DB_NAME", "cohort"),
        "USER": env("DB_USER", "cohort"),
        "PASSWORD": env("DB_PASSWORD", debug=""),
        # A folder here means its Unix socket.
        "HOST": env("DB_HOST"),
        "PORT": env("DB_PORT", "5432"),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": 5, "application_name": "cohort"},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- applications
INSTALLED_APPS = [
    "tenants",
    "clusters",
    "support",
    "program",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "template_partials",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "axes",
]
MIDDLEWARE = [
    "tenants.metrics.CountAnswersMiddleware",
    "program.logs.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "program.security_headers.SecurityHeadersMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "tenants.web.problems.ProblemMiddleware",
    # Within ours: what it raises to ask for the password again is an answer of its own, and no mistake of ours.
    "allauth.account.middleware.AccountMiddleware",
    "tenants.wall.identity.IdentityMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "program.urls"
WSGI_APPLICATION = "program.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": [
                "django.templatetags.i18n",
                "django.templatetags.static",
                "template_partials.templatetags.partials",
                "tenants.web.templatetags.show",
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "tenants.web.shell.shell",
            ],
        },
    }
]

TEMPLATES.append(
    # Mail is plain text: escaped for HTML, an apostrophe would be read as it is written there.
    {
        "NAME": "mail",
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {"autoescape": False, "builtins": ["django.templatetags.i18n"]},
    }
)

# --- people
AUTH_USER_MODEL = "tenants.Person"
# Addresses are unique without regard to case, by an index on lower(email) that this check does not see.
SILENCED_SYSTEM_CHECKS = ["auth.W004"]
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "program.sign_in.InvitationOnly"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_ON_GET = False
# Changing how one signs in asks for the password again, when that was long ago.
ACCOUNT_REAUTHENTICATION_REQUIRED = True
# Failed passwords are counted by axes in the database, which all processes share. allauth counts per process, and
# only its count stands before the codes of the second step: so its limit is beyond that of axes, and not off.
ACCOUNT_RATE_LIMITS = {"login_failed": "20/15m/key"}
MFA_ADAPTER = "program.sign_in.SealedSecrets"
MFA_TOTP_ISSUER = "Cohort"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
# The provider of an organisation's own sign-in. Empty: there is none.
OIDC_ISSUER = env("OIDC_ISSUER", "")
OIDC_NAME = env("OIDC_NAME", "OpenID Connect")
SOCIALACCOUNT_ADAPTER = "program.sign_in.KnownSubjects"
SOCIALACCOUNT_PROVIDERS = oidc.providers(
    issuer=OIDC_ISSUER,
    client_id=env("OIDC_CLIENT_ID", "" if not OIDC_ISSUER else None),
    secret=env("OIDC_CLIENT_SECRET", "" if not OIDC_ISSUER else None),
    name=OIDC_NAME,
)
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_FORM_FIELD = "login"
AXES_USERNAME_CALLABLE = "program.sign_in.attempted_address"
AXES_VERBOSE = False

# --- sessions, cookies, headers
SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not DEBUG
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = False
CSRF_FAILURE_VIEW = "tenants.web.problems.csrf_failed"
ALLOWED_HOSTS = listed("ALLOWED_HOSTS", debug="localhost,127.0.0.1,[::1],testserver")
CSRF_TRUSTED_ORIGINS = listed("CSRF_TRUSTED_ORIGINS", "")
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_SSL_REDIRECT = not DEBUG
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 0 if DEBUG else 31_536_000
if not DEBUG:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- language and time
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("ja", _("Japanese"))]
LOCALE_PATHS = [BASE_DIR / "program" / "locale"]
FORMAT_MODULE_PATH = ["program.formats"]

# --- files
STATIC_URL = "/static/"
STATIC_ROOT = Path(env("STATIC_ROOT", str(BASE_DIR / "static-collected")))
MEDIA_ROOT = VAR / "files"
FILE_UPLOAD_HANDLERS = [
    "tenants.web.uploads.SmallEnough",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]
STORAGES = {
    "default": {"BACKEND": "tenants.storage.WholeFiles"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEBUG

# --- mail
EMAIL_FILE_PATH = VAR / "mail"
EMAIL_HOST = env("MAIL_HOST", debug="")
# `make up` writes mail into files, unless somebody names a server that takes it.
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'filebased'}.EmailBackend"
EMAIL_PORT = int(env("MAIL_PORT", "587"))
EMAIL_HOST_USER = env("MAIL_USER", "")
EMAIL_HOST_PASSWORD = env("MAIL_PASSWORD", "")
EMAIL_USE_TLS = not DEBUG
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env("MAIL_FROM", debug="cohort@localhost")

# --- Celery is a doorbell: any message may be lost, doubled or late, and none carries more than a queue's name
CELERY_BROKER_URL = env("BROKER_URL")
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Longer than the longest step of the queue `slow`, otherwise a second copy starts beside the first.
    "visibility_timeout": 900,
    # kombu's own pace would put back the work of a killed worker only after 100 seconds.
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    # A frozen broker must not freeze whoever rings.
    "socket_timeout": 1,
    "socket_connect_timeout": 1,
    "max_retries": 0,
}
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_SOFT_TIME_LIMIT = 60
CELERY_TASK_TIME_LIMIT = 75
CELERY_TASK_DEFAULT_QUEUE = "engine"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 0 if DEBUG else 30
CELERY_WORKER_MAX_TASKS_PER_CHILD = 500
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 600_000
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"

# --- API
# How often each person or token may ask one web process: "number/second, minute, hour or day".
# How often a head node's agent asks while jobs live, and after how long without its report nothing is known any more.
AGENT_SECONDS = int(env("AGENT_SECONDS", "5"))
AGENT_LOST_SECONDS = int(env("AGENT_LOST_SECONDS", "120"))
API_READS = env("API_READS", "1200/minute")
API_WRITES = env("API_WRITES", "600/minute")
# Each process for itself; what is not in it, is simply counted again.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "throttles": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "throttles",
        "OPTIONS": {"MAX_ENTRIES": 5_000},
    },
}
REST_FRAMEWORK = {
    "DEFAULT_THROTTLE_CLASSES": ["tenants.web.throttles.PerCaller"],
    "DEFAULT_SCHEMA_CLASS": "tenants.web.openapi.Described",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["tenants.web.bodies.StrictJSON"],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_AUTHENTICATION_CLASSES": ["tenants.web.authentication.HandedOver"],
    "EXCEPTION_HANDLER": "tenants.web.problems.api_exception",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Cohort",
    "DESCRIPTION": "The same actions as the pages. `/api/v1/<noun>/` is what you may see, `/api/v1/t/<tenant>/<noun>/` one tenant's.",
    "VERSION": "1",
    # Enums stay in place: two nouns with a `state` would otherwise share or fight for a name.
    "POSTPROCESSING_HOOKS": [],
    "APPEND_COMPONENTS": {
        "securitySchemes": {
            "token": {"type": "http", "scheme": "bearer"},
            "session": {"type": "apiKey", "in": "cookie", "name": "sessionid"},
        }
    },
}

LOGGING = logging_settings(readable=DEBUG)
LOGGING_CONFIG = "logging.config.dictConfig"
