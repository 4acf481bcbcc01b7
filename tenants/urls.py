"""Addresses of the pages about a participant's history and record."""

from collections.abc import Iterator

from django.urls import URLPattern, path

from tenants import (
    assigning_views,
    duty_views,
    erasing_views,
    file_views,
    import_views,
    joining_views,
    mail_views,
    people_views,
    views,
)
from tenants.record_blocks import BLOCKS


def _record_pages() -> Iterator[URLPattern]:
    for word, block in BLOCKS.items():
        here = f"t/<slug:tenant>/record/{word}/"
        yield path(f"{here}add/", views.adding(block), name=f"add_{word}")
        yield path(f"{here}<uuid:pk>/edit/", views.editing(word, block), name=f"edit_{word}")
        yield path(f"{here}<uuid:pk>/remove/", views.removing(block), name=f"remove_{word}")


urlpatterns = [
    path("preferences/", mail_views.preferences, name="preferences"),
    path("deliveries/", mail_views.deliveries, name="deliveries"),
    path("t/<slug:tenant>/deliveries/<uuid:pk>/again/", mail_views.send_again, name="send_again"),
    path("t/<slug:tenant>/history/", views.history_page, name="history"),
    path("t/<slug:tenant>/history/file/", views.history_file, name="history_file"),
    path("t/<slug:tenant>/history/<int:pk>/correct/", views.correct, name="correct_entry"),
    path("t/<slug:tenant>/files/<uuid:pk>/", file_views.download, name="file"),
    path("t/<slug:tenant>/people/", people_views.people, name="people"),
    path("t/<slug:tenant>/team/name/", assigning_views.name_somebody, name="name_team"),
    path("t/<slug:tenant>/team/<int:pk>/change/", assigning_views.change_days, name="change_duty_days"),
    path("t/<slug:tenant>/team/<int:pk>/give/", assigning_views.give_on, name="give_duty"),
    path("t/<slug:tenant>/team/<int:pk>/end/", assigning_views.end, name="end_duty"),
    path("duty/", duty_views.duty, name="duty"),
    path("duty/calendar.ics", duty_views.duty_calendar, name="duty_calendar"),
    path("t/<slug:tenant>/shifts/plan/", duty_views.plan_duty, name="plan_duty"),
    path("t/<slug:tenant>/shifts/<uuid:pk>/swap/", duty_views.swap_duty, name="swap_duty"),
    path("t/<slug:tenant>/shifts/<uuid:pk>/remove/", duty_views.remove_duty, name="remove_duty"),
    path("t/<slug:tenant>/erasures/", erasing_views.erasures, name="erasures"),
    path("t/<slug:tenant>/erasures/ask/", erasing_views.ask, name="ask_erasure"),
    path("t/<slug:tenant>/erasures/<uuid:pk>/erase/", erasing_views.decide, {"verb": "erase"}, name="erase_person"),
    path(
        "t/<slug:tenant>/erasures/<uuid:pk>/decline/", erasing_views.decide, {"verb": "decline"}, name="decline_erasure"
    ),
    path("t/<slug:tenant>/people/invite/", people_views.invite, name="invite"),
    path("t/<slug:tenant>/people/confirm/", people_views.confirm_access, name="confirm_access"),
    path("t/<slug:tenant>/contacts/add/", people_views.add_contact, name="add_contact"),
    path("t/<slug:tenant>/contacts/<uuid:pk>/edit/", people_views.edit_contact, name="edit_contact"),
    path("t/<slug:tenant>/contacts/<uuid:pk>/confirm/", people_views.confirm_contact, name="confirm_contact"),
    path("t/<slug:tenant>/contacts/<uuid:pk>/remove/", people_views.remove_contact, name="remove_contact"),
    path("t/<slug:tenant>/people/<int:pk>/change/", people_views.change_seat, name="change_seat"),
    path("t/<slug:tenant>/people/<int:pk>/remove/", people_views.remove_seat, name="remove_seat"),
    path("t/<slug:tenant>/invitations/<uuid:pk>/again/", people_views.send_again, name="resend_invitation"),
    path("t/<slug:tenant>/invitations/<uuid:pk>/withdraw/", people_views.withdraw, name="withdraw_invitation"),
    path("t/<slug:tenant>/join-requests/<uuid:pk>/accept/", people_views.accept_request, name="accept_request"),
    path("t/<slug:tenant>/join-requests/<uuid:pk>/decline/", people_views.decline_request, name="decline_request"),
    path("join/", joining_views.ask_to_join, name="ask_to_join"),
    path("join/<str:token>/", joining_views.invitation, name="invitation"),
    path("t/<slug:tenant>/participations/<uuid:pk>/edit/", views.edit_participation, name="edit_participation"),
    path("t/<slug:tenant>/tables/", import_views.tables, name="tables"),
    path("t/<slug:tenant>/tables/<slug:word>/", import_views.table, name="table"),
    path("t/<slug:tenant>/tables/<slug:word>/export/", import_views.export, name="export_table"),
    path("t/<slug:tenant>/imports/<uuid:pk>/", import_views.import_page, name="import"),
    path("t/<slug:tenant>/imports/<uuid:pk>/apply/", import_views.apply_import, name="apply_import"),
    path("t/<slug:tenant>/imports/<uuid:pk>/cancel/", import_views.cancel_import, name="cancel_import"),
    path("t/<slug:tenant>/record/confirm/", views.confirm_block, name="confirm_block"),
    *_record_pages(),
]
