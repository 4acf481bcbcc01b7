"""Addresses of the pages about cases."""

from django.urls import path

from support import article_views, file_views, verb_views, views
from support.verbs import VERBS

urlpatterns = [
    path("cases/", views.cases, name="cases"),
    path("cases/new/", views.choose_tenant, name="choose_tenant"),
    path("t/<slug:tenant>/cases/new/", views.new_case, name="new_case"),
    path("t/<slug:tenant>/cases/<uuid:pk>/", views.case, name="case"),
    path("t/<slug:tenant>/cases/<uuid:pk>/attach/", file_views.attach, name="attach_to_case"),
    path("t/<slug:tenant>/cases/<uuid:pk>/note/", verb_views.note, name="note_case"),
    *(
        path(f"t/<slug:tenant>/cases/<uuid:pk>/{verb.name}/", verb_views.page_of(verb), name=f"{verb.name}_case")
        for verb in VERBS
    ),
    path("t/<slug:tenant>/cases/<uuid:pk>/articles/", article_views.case_articles, name="case_articles"),
    path("articles/", article_views.all_articles, name="articles"),
    path("articles/<uuid:pk>/", article_views.article, name="article"),
    path("articles/<uuid:pk>/versions/<int:number>/", article_views.version, name="article_version"),
    path("t/<slug:tenant>/articles/write/", article_views.write, name="write_article"),
    path("t/<slug:tenant>/articles/<uuid:pk>/edit/", article_views.edit, name="edit_article"),
    path("t/<slug:tenant>/articles/<uuid:pk>/publish/", article_views.publish, name="publish_article"),
    path("t/<slug:tenant>/articles/<uuid:pk>/withdraw/", article_views.withdraw, name="withdraw_article"),
]
