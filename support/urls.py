"""Addresses of the pages about cases."""

from django.urls import path

from support import verb_views, views
from support.verbs import VERBS

urlpatterns = [
    path("cases/", views.cases, name="cases"),
    path("cases/new/", views.choose_tenant, name="choose_tenant"),
    path("t/<slug:tenant>/cases/new/", views.new_case, name="new_case"),
    path("t/<slug:tenant>/cases/<uuid:pk>/", views.case, name="case"),
    path("t/<slug:tenant>/cases/<uuid:pk>/note/", verb_views.note, name="note_case"),
    *(
        path(f"t/<slug:tenant>/cases/<uuid:pk>/{verb.name}/", verb_views.page_of(verb), name=f"{verb.name}_case")
        for verb in VERBS
    ),
]
