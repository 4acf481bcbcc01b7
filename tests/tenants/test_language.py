"""The language a person chose stays with the person."""

from django.test import Client

from tenants.models import Person


def test_a_choice_is_kept_with_the_person_and_read_by_the_next_page(world):
    person = world.person("viewer")
    browser = Client()
    browser.force_login(person, "allauth.account.auth_backends.AuthenticationBackend")
    assert 'lang="en"' in browser.get("/").content.decode()
    browser.post("/accounts/language/", {"language": "ja", "next": "/"})
    assert Person.objects.get(pk=person.pk).language == "ja"
    assert 'lang="ja"' in browser.get("/").content.decode()


def test_a_language_that_is_not_offered_changes_nothing(world):
    person = world.person("viewer")
    browser = Client()
    browser.force_login(person, "allauth.account.auth_backends.AuthenticationBackend")
    browser.post("/accounts/language/", {"language": "xx"})
    assert Person.objects.get(pk=person.pk).language == "en"
