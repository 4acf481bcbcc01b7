"""The web application for gunicorn."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "program.settings")

application = get_wsgi_application()

from django.db import connection  # noqa: E402

# An unfit database or role ends the process at its start, not at the first page.
connection.ensure_connection()
connection.close()
