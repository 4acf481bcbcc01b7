"""The whole URL space on one screen."""

from __future__ import annotations

from django.urls import include, path

from program import action_views, health, launch_views, meeting_views, minutes_views, review_views, trend_views, views
from tenants import language, personas

urlpatterns = [
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("accounts/login/", personas.SignIn.as_view(), name="account_login"),
    path("accounts/language/", language.choose, name="set_language"),
    path("accounts/", include("allauth.urls")),
    path("personas/", personas.pick, name="personas"),
    path("api/v1/", include("program.api_urls")),
    path("", views.portfolio, name="portfolio"),
    path("status/", views.status, name="status"),
    path("styleguide/", views.styleguide, name="styleguide"),
    path("t/<slug:tenant>/", views.participant, name="participant"),
    path("reviews/", review_views.all_reviews, name="reviews"),
    path("reviews/<uuid:pk>/", review_views.review, name="review"),
    path("reviews/trend/", trend_views.review_trend, name="review_trend"),
    path("reviews/<uuid:pk>/changes/", trend_views.review_changes, name="review_changes"),
    path("t/<slug:tenant>/reviews/freeze/", review_views.freeze, name="freeze_review"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/begin/", review_views.begin, name="begin_review"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/accept/", review_views.accept, name="accept_block"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/publish/", review_views.publish, name="publish_review"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/lock/", review_views.lock, name="lock_review"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/items/<uuid:item>/", review_views.settle, name="settle_item"),
    path("t/<slug:tenant>/minutes/<uuid:pk>/", review_views.minutes, name="minutes"),
    path("t/<slug:tenant>/minutes/<uuid:pk>/edit/", minutes_views.edit, name="edit_minutes"),
    path("t/<slug:tenant>/minutes/<uuid:pk>/addendum/", minutes_views.addendum, name="add_addendum"),
    path("t/<slug:tenant>/minutes/<uuid:pk>/markdown/", minutes_views.markdown, name="minutes_markdown"),
    path("t/<slug:tenant>/minutes/<uuid:pk>/html/", minutes_views.page, name="minutes_html"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/meeting/", meeting_views.meeting, name="meeting"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/late/", meeting_views.late, name="meeting_late"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/items/<uuid:item>/block/", meeting_views.block, name="meeting_block"),
    path(
        "t/<slug:tenant>/reviews/<uuid:pk>/items/<uuid:item>/follow-up/",
        meeting_views.follow_up,
        name="meeting_follow_up",
    ),
    path("t/<slug:tenant>/reviews/<uuid:pk>/items/<uuid:item>/earlier/", meeting_views.earlier, name="meeting_earlier"),
    path("t/<slug:tenant>/reviews/<uuid:pk>/items/<uuid:item>/later/", meeting_views.later, name="meeting_later"),
    *(
        path(f"t/<slug:tenant>/reviews/<uuid:pk>/items/<uuid:item>/{name}/", view, name=f"meeting_{name}")
        for name, view in meeting_views.VIEWS.items()
    ),
    path("action-items/", action_views.action_items, name="action_items"),
    path("decisions/", action_views.all_decisions, name="decisions"),
    path("t/<slug:tenant>/action-items/give/", action_views.give, name="give_action_item"),
    path("t/<slug:tenant>/action-items/<uuid:pk>/", action_views.action_item, name="action_item"),
    path("t/<slug:tenant>/decisions/record/", action_views.decide, name="record_decision"),
    path("launch/", launch_views.launch_board, name="launch_board"),
    path("t/<slug:tenant>/launches/plan/", launch_views.plan, name="plan_launch"),
    path("t/<slug:tenant>/launches/<uuid:pk>/", launch_views.launch, name="launch"),
    path("t/<slug:tenant>/launches/<uuid:pk>/add/", launch_views.add, name="add_to_launch"),
    path("t/<slug:tenant>/launches/<uuid:pk>/check/", launch_views.check, name="check_launch"),
    path("t/<slug:tenant>/launches/<uuid:pk>/stop/", launch_views.stop, name="stop_launch"),
    path("t/<slug:tenant>/launches/<uuid:pk>/resume/", launch_views.resume, name="resume_launch"),
    path("t/<slug:tenant>/launches/<uuid:pk>/end/", launch_views.end, name="end_launch"),
    path("t/<slug:tenant>/launches/<uuid:pk>/lines/<uuid:line>/", launch_views.decide, name="decide_launch"),
    path("t/<slug:tenant>/launches/<uuid:pk>/waves/<int:number>/", launch_views.start, name="start_wave"),
    path("", include("clusters.urls")),
    path("", include("tenants.urls")),
    path("", include("support.urls")),
]

handler404 = "tenants.web.problems.not_found"
