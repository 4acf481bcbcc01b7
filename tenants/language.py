"""The language a person reads: chosen on any page, kept with the person, so that the next browser knows it too."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.i18n import set_language

from tenants.models import Person


def choose(request: HttpRequest) -> HttpResponse:
    """Django's own view, which keeps a cookie for who is not signed in; the person's choice is kept with the person."""
    code = request.POST.get("language", "")
    if request.person is not None and code in dict(settings.LANGUAGES):
        Person.objects.filter(pk=request.person.pk).update(language=code)
    return set_language(request)
