"""Files that people and the engine attach: their bytes are stored under their digest before the row that speaks of them.

So a row whose content does not exist cannot be: whoever dies in between leaves bytes without a row, which `sweep` removes.
"""

import hashlib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _

from tenants.models import Attachment, Person, Tenant
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.web.uploads import LARGEST

log = structlog.get_logger(__name__)

LONGEST_NAME = 200
FOLDER = "attachments"
STORING = 7_003  # advisory locks: who attaches shares a tenant's, who sweeps has it alone


@dataclass(frozen=True)
class Subject:
    """A noun that files are attached to: which roles read them, and `among` which of its rows (None: all in the scope)."""

    readers: frozenset[str]
    among: Callable[[str, Person], QuerySet | None]


SUBJECTS: dict[str, Subject] = {}


def subject(
    word: str, *, readers: frozenset[str], among: Callable[[str, Person], QuerySet | None] = lambda role, person: None
) -> None:
    """Declare that files may be attached to a noun; what is not declared is handed out to nobody."""
    SUBJECTS[word] = Subject(readers, among)


def visible_files(*, role: str, person: Person) -> QuerySet[Attachment]:
    """The files that this role may open in the scope; internal ones exist only where internal text does."""
    mine = Q(pk__in=[])
    for word, declared in SUBJECTS.items():
        if role in declared.readers:
            rows = declared.among(role, person)
            mine |= Q(subject=word) if rows is None else Q(subject=word, subject_id__in=rows.values("pk"))
    return Attachment.objects.filter(mine)


def attach(*, about: Any, name: str, content: bytes, media_type: str, by: str, audience: str = "shared") -> Attachment:
    """Keep `content` beside `about`. Raises Refused for what is empty, over 20 MiB, or has a name that is none."""
    name = fit_name(name)
    if not content:
        raise Refused("file_empty", _("'%(name)s' is empty.") % {"name": name}, status=422, field="file")
    if len(content) > LARGEST:
        raise Refused(
            "file_too_large",
            _("'%(name)s' has %(size)s bytes; %(most)s are allowed.")
            % {"name": name, "size": len(content), "most": LARGEST},
            status=413,
            size=len(content),
            most=LARGEST,
        )
    digest = hashlib.sha256(content).hexdigest()
    stored_as = f"{FOLDER}/{about.tenant_id}/{digest[:2]}/{digest}"
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock_shared(%s, hashtext(%s))", [STORING, str(about.tenant_id)])
    default_storage.save(stored_as, ContentFile(content))
    return Attachment.objects.create(
        tenant_id=about.tenant_id,
        audience=audience,
        subject=about.SUBJECT,
        subject_id=about.pk,
        name=name,
        media_type=media_type[:120],
        size=len(content),
        sha256=digest,
        stored_as=stored_as,
        actor=by,
    )


def fit_name(name: str) -> str:
    """The name as it is kept: composed, without blanks around it. Raises Refused for a path and for what cannot be seen."""
    name = unicodedata.normalize("NFC", name).strip()
    if not name.isprintable():
        sentence = _("The file's name holds characters that cannot be seen; rename it.")
    elif "/" in name or "\\" in name or name.strip(".") == "":
        sentence = _("'%(name)s' is no name of a file; send the name alone, without folders.") % {"name": name[:60]}
    elif len(name) > LONGEST_NAME:
        sentence = _("The file's name has %(length)s characters; %(most)s are allowed.") % {
            "length": len(name),
            "most": LONGEST_NAME,
        }
    else:
        return name
    raise Refused("file_name", sentence, status=422, field="file")


def name_from(text: str) -> str:
    """A name for a file that a program writes, made of what it is about: it must not fail on somebody's odd choice."""
    plain = "".join(letter if letter.isprintable() and letter not in "/\\" else "_" for letter in text).strip()
    return plain[:LONGEST_NAME] if plain.strip(".") else f"_{plain}"


def handed_out(attachment: Attachment) -> HttpResponse:
    """The file as a download, checked against its digest; never shown inline, whatever it says it is."""
    response = HttpResponse(content_of(attachment), content_type="application/octet-stream")
    response["Content-Disposition"] = content_disposition_header(True, attachment.name) or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["Cache-Control"] = "private, no-store"
    return response


def content_of(attachment: Attachment) -> bytes:
    try:
        with default_storage.open(attachment.stored_as) as stored:
            content: bytes = stored.read()
    except FileNotFoundError:
        content = b""
    if hashlib.sha256(content).hexdigest() == attachment.sha256:
        return content
    log.error("file_lost", file=str(attachment.pk), stored_as=attachment.stored_as, found=len(content))
    sentence = _(
        "The content of '%(name)s' is missing or damaged in the file store; it has to be restored from a backup."
    )
    raise Refused("file_lost", sentence % {"name": attachment.name}, status=410, file=str(attachment.pk))


def lost(tenant: Tenant) -> list[Attachment]:
    """The tenant's files whose content is missing or has another size: after a restore, for instance. In its scope."""
    return [row for row in Attachment.objects.order_by("created_at") if not _is_there(row)]


def _is_there(row: Attachment) -> bool:
    try:
        return default_storage.size(row.stored_as) == row.size
    except FileNotFoundError:
        return False


def sweep(tenant: Tenant) -> int:
    """Remove stored bytes that no row speaks of: their transaction ended without a commit. How many were removed."""
    stored = list(_stored(f"{FOLDER}/{tenant.pk}"))
    with acting_for(tenant, staff=True):
        with connection.cursor() as cursor:
            # Nobody may be between storing and committing now; whoever attaches all the time is swept another night.
            cursor.execute("select pg_try_advisory_xact_lock(%s, hashtext(%s))", [STORING, str(tenant.pk)])
            if not cursor.fetchone()[0]:
                return 0
        spoken_of = set(Attachment.objects.values_list("stored_as", flat=True))
        orphans = [name for name in stored if name not in spoken_of]
        for name in orphans:
            default_storage.delete(name)
    return len(orphans)


def _stored(folder: str) -> list[str]:
    if not default_storage.exists(folder):
        return []
    folders, _files = default_storage.listdir(folder)
    return [f"{folder}/{one}/{name}" for one in folders for name in default_storage.listdir(f"{folder}/{one}")[1]]
