"""Addresses of the pages about a participant's history and record."""

from django.urls import path

from tenants import file_views, joining_views, mail_views, people_views, views

urlpatterns = [
    path("preferences/", mail_views.preferences, name="preferences"),
    path("deliveries/", mail_views.deliveries, name="deliveries"),
    path("t/<slug:tenant>/deliveries/<uuid:pk>/again/", mail_views.send_again, name="send_again"),
    path("t/<slug:tenant>/history/", views.history_page, name="history"),
    path("t/<slug:tenant>/history/note/", views.note, name="note_interaction"),
    path("t/<slug:tenant>/history/<int:pk>/correct/", views.correct, name="correct_entry"),
    path("t/<slug:tenant>/files/<uuid:pk>/", file_views.download, name="file"),
    path("t/<slug:tenant>/record/model/add/", views.add_model, name="add_model"),
    path("t/<slug:tenant>/record/model/<uuid:pk>/edit/", views.edit_model, name="edit_model"),
    path("t/<slug:tenant>/record/framework/add/", views.add_framework, name="add_framework"),
    path("t/<slug:tenant>/record/framework/<uuid:pk>/edit/", views.edit_framework, name="edit_framework"),
    path("t/<slug:tenant>/record/software/add/", views.add_software, name="add_software"),
    path("t/<slug:tenant>/record/software/<uuid:pk>/edit/", views.edit_software, name="edit_software"),
    path("t/<slug:tenant>/people/", people_views.people, name="people"),
    path("t/<slug:tenant>/people/invite/", people_views.invite, name="invite"),
    path("t/<slug:tenant>/people/<int:pk>/change/", people_views.change_seat, name="change_seat"),
    path("t/<slug:tenant>/people/<int:pk>/remove/", people_views.remove_seat, name="remove_seat"),
    path("t/<slug:tenant>/invitations/<uuid:pk>/again/", people_views.send_again, name="resend_invitation"),
    path("t/<slug:tenant>/invitations/<uuid:pk>/withdraw/", people_views.withdraw, name="withdraw_invitation"),
    path("join/<str:token>/", joining_views.invitation, name="invitation"),
]
