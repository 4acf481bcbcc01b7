"""Addresses of the pages about clusters, jobs and what was granted to a participant."""

from django.urls import path

from clusters import account_views, catalogue_views, change_views, configuration_views, job_views, request_views, views

urlpatterns = [
    path("clusters/", views.clusters, name="clusters"),
    path("catalogue/", catalogue_views.index, name="catalogue"),
    path("catalogue/export/", catalogue_views.export_all, name="export_catalogue"),
    path("catalogue/<slug:slug>/", catalogue_views.architecture, name="architecture"),
    path("catalogue/<slug:slug>/export/", catalogue_views.export_one, name="export_architecture"),
    path("configurations/", configuration_views.index, name="configurations"),
    path("configurations/compare/", configuration_views.compare, name="compare_configurations"),
    path("t/<slug:tenant>/configurations/new/", configuration_views.new, name="new_configuration"),
    path("t/<slug:tenant>/configurations/<uuid:pk>/", configuration_views.configuration, name="configuration"),
    path("t/<slug:tenant>/configurations/<uuid:pk>/edit/", configuration_views.edit, name="edit_configuration"),
    path("jobs/", job_views.jobs, name="jobs"),
    path("t/<slug:tenant>/accounts/add/", account_views.add, name="add_account"),
    path("t/<slug:tenant>/accounts/<uuid:pk>/", account_views.account, name="account"),
    path("t/<slug:tenant>/accounts/<uuid:pk>/check/", account_views.check, name="check_account"),
    path("t/<slug:tenant>/accounts/<uuid:pk>/renew/", account_views.renew, name="renew_account"),
    path("t/<slug:tenant>/clusters/request/", request_views.request_cluster, name="request_cluster"),
    path("t/<slug:tenant>/clusters/<uuid:pk>/", views.cluster, name="cluster"),
    path("t/<slug:tenant>/clusters/<uuid:pk>/approve/", views.approve, name="approve_cluster"),
    path("t/<slug:tenant>/clusters/<uuid:pk>/retire/", views.retire, name="retire_cluster"),
    path("t/<slug:tenant>/clusters/<uuid:pk>/retry/", views.retry, name="retry_cluster"),
    path("t/<slug:tenant>/clusters/<uuid:pk>/fleet/stop/", views.stop_fleet, name="stop_fleet"),
    path("t/<slug:tenant>/clusters/<uuid:pk>/fleet/start/", views.start_fleet, name="start_fleet"),
    path("t/<slug:tenant>/clusters/<uuid:pk>/change/", change_views.change, name="change_cluster"),
    path("t/<slug:tenant>/clusters/<uuid:pk>/software/", change_views.software, name="update_software"),
    path("t/<slug:tenant>/clusters/<uuid:pk>/nodes/", change_views.nodes, name="order_nodes"),
    path("t/<slug:tenant>/clusters/<uuid:pk>/give-up/", change_views.give_up, name="give_up_operation"),
    path(
        "t/<slug:tenant>/clusters/<uuid:pk>/continue-rollback/",
        change_views.continue_rollback,
        name="continue_rollback",
    ),
    path("t/<slug:tenant>/clusters/<uuid:pk>/rollback/", change_views.roll_back, name="roll_back"),
    path("t/<slug:tenant>/clusters/<uuid:pk>/plan/", change_views.plan, name="plan_of_cluster"),
    path("t/<slug:tenant>/clusters/<uuid:pk>/launch/", job_views.launch, name="launch_job"),
    path("t/<slug:tenant>/jobs/<uuid:pk>/", job_views.job, name="job"),
    path("t/<slug:tenant>/jobs/<uuid:pk>/cancel/", job_views.cancel, name="cancel_job"),
    path("t/<slug:tenant>/participations/<uuid:pk>/regions/", views.edit_regions, name="edit_regions"),
    path("t/<slug:tenant>/record/quota/<uuid:pk>/edit/", views.edit_quota, name="edit_quota"),
    path("t/<slug:tenant>/record/bucket/<uuid:pk>/edit/", views.edit_bucket, name="edit_bucket"),
]
