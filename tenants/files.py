"""Files that people and the engine attach: stored by digest, committed after their row, handed out by a view only."""

import hashlib
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.http import FileResponse
from django.utils.translation import gettext as _

from tenants.models import Attachment
from tenants.web.problems import Refused

LARGEST = 20 * 1024 * 1024


def attach(*, about: Any, name: str, content: bytes, media_type: str, by: str, audience: str = "shared") -> Attachment:
    """Keep `content` beside `about`. Raises Refused over 20 MiB. The bytes are written once the row is committed."""
    if len(content) > LARGEST:
        raise Refused(
            "file_too_large",
            _("'%(name)s' has %(size)s bytes; %(most)s are allowed.")
            % {"name": name, "size": len(content), "most": LARGEST},
            status=413,
        )
    digest = hashlib.sha256(content).hexdigest()
    row = Attachment.objects.create(
        tenant_id=about.tenant_id,
        audience=audience,
        subject=about.SUBJECT,
        subject_id=about.pk,
        name=name.replace("/", "_").replace("\\", "_")[:200],
        media_type=media_type[:120],
        size=len(content),
        sha256=digest,
        stored_as=f"attachments/{about.tenant_id}/{digest[:2]}/{digest}",
        actor=by,
    )
    transaction.on_commit(lambda: _store(row.stored_as, content))
    return row


def _store(path: str, content: bytes) -> None:
    if not default_storage.exists(path):
        default_storage.save(path, ContentFile(content))


def handed_out(attachment: Attachment) -> FileResponse:
    """The file as a download; never shown inline, whatever it says it is."""
    response = FileResponse(
        default_storage.open(attachment.stored_as),
        as_attachment=True,
        filename=attachment.name,
        content_type="application/octet-stream",
    )
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response
