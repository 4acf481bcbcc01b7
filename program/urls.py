"""The whole URL space on one screen."""

from __future__ import annotations

from django.urls import include, path
from django.views.i18n import set_language

from program import health, review_views, views
from tenants import personas

urlpatterns = [
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("accounts/login/", personas.SignIn.as_view(), name="account_login"),
    path("accounts/language/", set_language, name="set_language"),
    path("accounts/", include("allauth.urls")),
    path("personas/", personas.pick, name="personas"),
    path("api/v1/", include("program.api_urls")),
    path("", views.portfolio, name="portfolio"),
    path("status/", views.status, name="status"),
    path("styleguide/", views.styleguide, name="styleguide"),
    path("t/<slug:tenant>/", views.participant, name="participant"),
    path("reviews/", review_views.all_reviews, name="reviews"),
    path("reviews/<uuid:pk>/", review_views.review, name="review"),
    path("t/<slug:tenant>/reviews/freeze/", review_views.freeze, name="freeze_review"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/begin/", review_views.begin, name="begin_review"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/accept/", review_views.accept, name="accept_block"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/publish/", review_views.publish, name="publish_review"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/lock/", review_views.lock, name="lock_review"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/items/<uuid:item>/", review_views.settle, name="settle_item"),
    path("t/<slug:tenant>/minutes/<uuid:pk>/", review_views.minutes, name="minutes"),
    path("", include("clusters.urls")),
    path("", include("tenants.urls")),
    path("", include("support.urls")),
]

handler404 = "tenants.web.problems.not_found"
