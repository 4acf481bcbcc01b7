"""The download of a file, whatever it is attached to: the one place where a stored file leaves the portal for a browser."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from tenants import files
from tenants.wall import roles
from tenants.wall.access import allow


@allow(roles.READ_CASES)
@require_safe
def download(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A file that one may read. An internal one does not exist for a participant."""
    return files.handed_out(get_object_or_404(files.visible_files(role=request.role, person=request.person), pk=pk))
