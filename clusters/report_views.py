"""Where a job's reporter posts to, with the job's own token."""

from pathlib import Path
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from clusters import reports
from clusters.actions import reporting
from clusters.models import JobReporter
from tenants.models import Tenant
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused

REPORTER = Path(__file__).with_name("reporter") / "cohort.py"


# No person and no seat: the token is the job's, opens this one address, and reads nothing.
@csrf_exempt
@require_POST
def take(request: HttpRequest, tenant: str, pk: UUID) -> HttpResponse:
    """Steps, checkpoints and signs of life of one job."""
    scheme, _sep, token = request.headers.get("Authorization", "").partition(" ")
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > reports.LARGEST:
        return _problem(413, "too_large", f"The message has {length} bytes; it may have {reports.LARGEST}.")
    body = request.body  # a slow sender is waited for here, not inside the transaction
    place = Tenant.objects.filter(slug=tenant, is_office=False).first()
    if scheme.lower() != "bearer" or not token or place is None:
        return _not_known()
    try:
        with acting_for(place, staff=True):
            reporter = JobReporter.objects.select_related("job").filter(job_id=pk).first()
            if reporter is None or not reporting.opens(reporter, token.strip()):
                return _not_known()
            told = reports.read(body)
            counted = reporting.take_reports(reporter=reporter, job=reporter.job, told=told)
    except Refused as error:
        facts = dict(error.facts)
        response = _problem(error.status, error.code, error.sentence, **facts)
        if "retry_after" in facts:
            response["Retry-After"] = str(facts["retry_after"])
        return response
    return JsonResponse(counted)


@require_safe
def reporter(request: HttpRequest) -> HttpResponse:
    """The reporter itself, one file: the same for everybody, and nobody's secret."""
    return HttpResponse(REPORTER.read_bytes(), content_type="text/x-python; charset=utf-8")


def _not_known() -> HttpResponse:
    response = _problem(401, "not_known", "The token is missing, unknown or replaced; send it as 'Bearer TOKEN'.")
    response["WWW-Authenticate"] = "Bearer"
    return response


def _problem(status: int, code: str, sentence: str, **facts: object) -> JsonResponse:
    told = {"type": "about:blank", "title": sentence, "status": status, "code": code, "detail": sentence, **facts}
    return JsonResponse(told, status=status, content_type="application/problem+json")
