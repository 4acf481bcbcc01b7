"""The API's address space: `<noun>/` is what the caller may see, `t/<tenant>/<noun>/` one tenant's, and only there is written."""

from __future__ import annotations

from django.urls import URLPattern, path

from clusters import agent_views
from clusters.api import (
    accounts,
    agents,
    architectures,
    clusters,
    configurations,
    job_templates,
    job_watching,
    jobs,
    nodes,
    operations,
    parts,
    preflights,
    quotas,
    records,
    searches,
    software,
    usage,
)
from program import api as program
from program import api_docs, enablement_api, procedure_api
from support import api as support
from support import articles_api
from support import files_api as support_files
from tenants import api as tenants
from tenants import files_api, people_api

# Asked with and without a tenant: the door decides what exists.
READ = [
    ("participations/", tenants.participations, "participations"),
    ("participations/<uuid:pk>/", tenants.participation, "participation"),
    ("entries/", tenants.entries, "entries"),
    ("entries/<int:pk>/", tenants.entry, "entry"),
    ("files/", files_api.all_files, "files"),
    ("files/<uuid:pk>/", files_api.file, "file"),
    ("files/<uuid:pk>/content/", files_api.content, "file-content"),
    ("records/", records.all_records, "records"),
    ("records/<uuid:pk>/", records.record, "record"),
    ("accounts/<uuid:pk>/", accounts.account, "account"),
    ("accounts/<uuid:pk>/orphans/", accounts.orphans, "account-orphans"),
    ("clusters/<uuid:pk>/", clusters.cluster, "cluster"),
    ("clusters/<uuid:pk>/revisions/", parts.revisions, "revisions"),
    ("clusters/<uuid:pk>/revisions/<int:number>/", parts.revision, "revision"),
    ("clusters/<uuid:pk>/parts/", parts.parts, "parts"),
    ("clusters/<uuid:pk>/proofs/", parts.proofs, "proofs"),
    ("clusters/<uuid:pk>/plan/", operations.plan, "cluster-plan"),
    ("clusters/<uuid:pk>/preflight/", preflights.preflight, "cluster-preflight"),
    ("clusters/<uuid:pk>/deeds/", operations.deeds, "cluster-deeds"),
    ("clusters/<uuid:pk>/leftovers/", operations.leftovers, "cluster-leftovers"),
    ("clusters/<uuid:pk>/operations/", operations.operations, "cluster-operations"),
    ("clusters/<uuid:pk>/agent/", agents.agent, "cluster-agent"),
    ("clusters/<uuid:pk>/spending/", operations.cluster_spending, "cluster-spending"),
    ("operations/<uuid:pk>/", operations.operation, "operation"),
    ("cluster-alerts/", software.alerts, "cluster-alerts"),
    ("images/", software.images, "images"),
    ("charts/", software.charts, "charts"),
    ("node-setups/<uuid:pk>/", software.setup, "node-setup"),
    ("configurations/<uuid:pk>/", configurations.configuration, "configuration"),
    ("configurations/<uuid:pk>/versions/<int:number>/", configurations.version, "configuration-version"),
    ("configurations/<uuid:pk>/compare/", configurations.compare, "configuration-compare"),
    ("nodes/", nodes.nodes, "nodes"),
    ("nodes/<uuid:pk>/", nodes.node, "node"),
    ("searches/", searches.searches, "searches"),
    ("searches/<uuid:pk>/", searches.search, "search"),
    ("quarantines/", nodes.quarantines, "quarantines"),
    ("jobs/<uuid:pk>/", jobs.job, "job"),
    ("job-templates/", job_templates.templates, "job-templates"),
    ("job-templates/<slug:slug>/", job_templates.template, "job-template"),
    ("job-scripts/<uuid:pk>/", job_templates.script, "job-script"),
    ("jobs/<uuid:pk>/log/", jobs.log, "log"),
    ("jobs/<uuid:pk>/output/", job_watching.output, "job-output"),
    ("jobs/<uuid:pk>/output/<int:number>/", job_watching.output_stretch, "job-output-stretch"),
    ("jobs/<uuid:pk>/points/", job_watching.points, "job-points"),
    ("jobs/<uuid:pk>/faults/", job_watching.faults, "job-faults"),
    ("jobs/<uuid:pk>/progress/", job_watching.goes, "job-progress"),
    ("usage/", usage.months, "usage"),
    ("usage-days/", usage.days, "usage-days"),
    ("runs/", usage.runs, "runs"),
    ("usage-disputes/", usage.disputes, "usage-disputes"),
    ("quotas/", quotas.quotas, "quotas"),
    ("quotas/<uuid:pk>/", quotas.quota, "quota"),
    ("cases/<uuid:pk>/", support.case, "case"),
    ("reviews/<uuid:pk>/", program.review, "review"),
    ("minutes/", program.all_minutes, "minutes"),
    ("minutes/<uuid:pk>/", program.minutes, "minutes-of"),
    ("decisions/<uuid:pk>/", procedure_api.decision, "decision"),
    ("action-items/<uuid:pk>/", procedure_api.action_item, "action-item"),
    ("launch/", procedure_api.launch, "launch"),
    ("service-quotas/", quotas.service_quotas, "service-quotas"),
    ("quota-requests/", quotas.quota_requests, "quota-requests"),
    ("onboarding/<uuid:pk>/", enablement_api.one_onboarding, "onboarding-list"),
    ("reports/", enablement_api.all_reports, "reports"),
    ("reports/<uuid:pk>/", enablement_api.report, "report"),
    ("members/", people_api.members, "members"),
    ("invitations/<uuid:pk>/", people_api.invitation, "invitation"),
]

# Lists that one tenant's address also writes to.
EVERYWHERE = [
    ("accounts/", accounts.accounts, "accounts"),
    ("clusters/", clusters.clusters, "clusters"),
    ("configurations/", configurations.configurations, "configurations"),
    ("configurations/<uuid:pk>/versions/", configurations.versions, "configuration-versions"),
    ("node-setups/", software.setups, "node-setups"),
    ("jobs/", jobs.jobs, "jobs"),
    ("job-scripts/", job_templates.scripts, "job-scripts"),
    ("reviews/", program.reviews, "reviews"),
    ("cases/", support.cases, "cases"),
    ("cases/<uuid:pk>/notes/", support.notes, "case-notes"),
    ("cases/<uuid:pk>/files/", support_files.files, "case-files"),
    ("decisions/", procedure_api.all_decisions, "decisions"),
    ("action-items/", procedure_api.all_action_items, "action-items"),
    ("minutes/<uuid:pk>/addenda/", procedure_api.addenda, "minutes-addenda"),
    ("sessions/", enablement_api.all_sessions, "sessions"),
    ("sessions/<uuid:pk>/", enablement_api.session, "session"),
    ("onboarding/", enablement_api.all_onboarding, "onboarding"),
    ("articles/", articles_api.all_articles, "articles"),
    ("articles/<uuid:pk>/", articles_api.article, "article"),
    ("invitations/", people_api.invitations, "invitations"),
    ("reviews/trend/", procedure_api.review_trend, "review-trend"),
    ("reviews/<uuid:pk>/changes/", procedure_api.review_changes, "review-changes"),
]
WRITE = [
    ("invitations/", people_api.tenant_invitations, "invitations"),
    ("invitations/<uuid:pk>/resend/", people_api.resend, "invitation-resend"),
    ("invitations/<uuid:pk>/withdraw/", people_api.withdraw, "invitation-withdraw"),
    ("accounts/", accounts.tenant_accounts, "accounts"),
    ("accounts/<uuid:pk>/check/", accounts.check, "account-check"),
    ("accounts/<uuid:pk>/external-id/", accounts.renew, "account-external-id"),
    ("clusters/", clusters.tenant_clusters, "clusters"),
    ("clusters/check/", clusters.check, "cluster-check"),
    ("clusters/<uuid:pk>/approve/", clusters.approve, "cluster-approve"),
    ("clusters/<uuid:pk>/retire/", clusters.retire, "cluster-retire"),
    ("clusters/<uuid:pk>/retry/", clusters.retry, "cluster-retry"),
    ("clusters/<uuid:pk>/fleet/", clusters.fleet, "cluster-fleet"),
    ("clusters/<uuid:pk>/change/", operations.change, "cluster-change"),
    ("clusters/<uuid:pk>/software/", operations.software, "cluster-software"),
    ("clusters/<uuid:pk>/nodes/", operations.nodes, "cluster-nodes"),
    ("clusters/<uuid:pk>/give-up/", operations.give_up, "cluster-give-up"),
    ("clusters/<uuid:pk>/leftovers/look/", operations.look_again, "cluster-look-again"),
    ("clusters/<uuid:pk>/continue-rollback/", operations.continue_rollback, "cluster-continue-rollback"),
    ("clusters/<uuid:pk>/rollback/", operations.roll_back, "cluster-roll-back"),
    ("configurations/", configurations.tenant_configurations, "configurations"),
    ("configurations/<uuid:pk>/versions/", configurations.tenant_versions, "configuration-versions"),
    ("clusters/<uuid:pk>/chart/", software.install_chart, "cluster-chart"),
    ("clusters/<uuid:pk>/reach/", agents.reach, "cluster-reach"),
    ("clusters/<uuid:pk>/agent-token/", agents.renew_token, "cluster-agent-token"),
    ("clusters/<uuid:pk>/alert-token/", software.renew_token, "cluster-alert-token"),
    ("node-setups/", software.tenant_setups, "node-setups"),
    ("clusters/<uuid:pk>/searches/", searches.begin, "cluster-search"),
    ("searches/<uuid:pk>/stop/", searches.stop, "search-stop"),
    ("nodes/<uuid:pk>/quarantine/", nodes.hold, "node-quarantine"),
    ("quarantines/<uuid:pk>/lift/", nodes.lift, "quarantine-lift"),
    ("clusters/<uuid:pk>/usage-disputes/", usage.dispute, "cluster-usage-dispute"),
    ("usage-disputes/<uuid:pk>/settle/", usage.settle, "usage-dispute-settle"),
    ("clusters/<uuid:pk>/lend/", usage.lend, "cluster-lend"),
    ("clusters/<uuid:pk>/take-back/", usage.take_back, "cluster-take-back"),
    ("quotas/<uuid:pk>/increase/", quotas.ask_for_more, "quota-increase"),
    ("jobs/", jobs.tenant_jobs, "jobs"),
    ("job-lint/", job_templates.lint, "job-lint"),
    ("job-scripts/", job_templates.tenant_scripts, "job-scripts"),
    ("clusters/<uuid:pk>/render/", job_templates.render, "cluster-render"),
    ("jobs/<uuid:pk>/cancel/", jobs.cancel, "job-cancel"),
    ("jobs/<uuid:pk>/hold/", jobs.hold, "job-hold"),
    ("jobs/<uuid:pk>/release/", jobs.release, "job-release"),
    ("jobs/<uuid:pk>/requeue/", jobs.requeue, "job-requeue"),
    ("jobs/<uuid:pk>/resubmit/", jobs.resubmit, "job-resubmit"),
    ("cases/", support.tenant_cases, "cases"),
    ("cases/<uuid:pk>/notes/", support.tenant_notes, "case-notes"),
    ("cases/<uuid:pk>/files/", support_files.tenant_files, "case-files"),
    *((f"cases/<uuid:pk>/{verb}/", view, f"case-{verb}") for verb, view in support.VERBS.items()),
    ("reviews/", program.office_reviews, "reviews"),
    *((f"reviews/<uuid:pk>/{step}/", view, f"review-{step}") for step, view in program.STEPS.items()),
    ("reviews/<uuid:pk>/items/<uuid:item>/settle/", program.settle, "review-item-settle"),
    ("reviews/<uuid:pk>/late/", procedure_api.late, "review-late"),
    ("decisions/", procedure_api.tenant_decisions, "decisions"),
    ("action-items/", procedure_api.tenant_action_items, "action-items"),
    *((f"action-items/<uuid:pk>/{verb}/", view, f"action-item-{verb}") for verb, view in procedure_api.DOINGS.items()),
    ("minutes/<uuid:pk>/edit/", procedure_api.edit_minutes, "minutes-edit"),
    ("minutes/<uuid:pk>/addenda/", procedure_api.tenant_addenda, "minutes-addenda"),
    ("sessions/", enablement_api.plan_session, "sessions"),
    *((f"sessions/<uuid:pk>/{step}/", view, f"session-{step}") for step, view in enablement_api.SESSION_STEPS.items()),
    *((f"enrolments/<uuid:pk>/{verb}/", view, f"enrolment-{verb}") for verb, view in enablement_api.ENROLMENTS.items()),
    ("onboarding/", enablement_api.tenant_onboarding, "onboarding"),
    *(
        (f"onboarding/<uuid:pk>/steps/<uuid:step>/{verb}/", view, f"onboarding-step-{verb}")
        for verb, view in enablement_api.STEP_VERBS.items()
    ),
    ("asked-reports/", enablement_api.ask_for_reports, "asked-reports"),
    *((f"reports/<uuid:pk>/{verb}/", view, f"report-{verb}") for verb, view in enablement_api.REPORT_VERBS.items()),
    ("articles/", articles_api.write_article, "articles"),
    *((f"articles/<uuid:pk>/{step}/", view, f"article-{step}") for step, view in articles_api.STEPS.items()),
    ("cases/<uuid:pk>/articles/", articles_api.case_articles, "case-articles"),
]

# A head node's agent speaks here with its cluster's token: no person, no seat.
MACHINES = [
    ("clusters/<uuid:pk>/agent/pull/", agent_views.pull, "machine-pull"),
    ("clusters/<uuid:pk>/agent/answer/", agent_views.take_answer, "machine-answer"),
    ("clusters/<uuid:pk>/agent/report/", agent_views.report, "machine-report"),
]


def _record_lines() -> list[URLPattern]:
    found = []
    for name, block in records.EDITABLE.items():
        lines = f"t/<slug:tenant>/records/<uuid:participation>/{name}/"
        found.append(path(lines, block.adding(), name=f"api-tenant-record-{name}"))
        found.append(path(f"{lines}<uuid:pk>/", block.changing(), name=f"api-tenant-record-{name}-line"))
    return found


urlpatterns: list[URLPattern] = [
    path("schema/", api_docs.schema, name="api-schema"),
    path("docs/", api_docs.docs, name="api-docs"),
    path("me/", tenants.me, name="api-me"),
    path("architectures/", architectures.architectures, name="api-architectures"),
    path("architectures/export/", architectures.export_all, name="api-architectures-export"),
    path("architectures/<slug:slug>/", architectures.architecture, name="api-architecture"),
    path("architectures/<slug:slug>/export/", architectures.export_one, name="api-architecture-export"),
    path("tenants/", tenants.tenants, name="api-tenants"),
    path("tenants/<slug:tenant>/", tenants.tenant, name="api-tenant"),
    *(path(where, view, name=f"api-{name}") for where, view, name in [*READ, *EVERYWHERE]),
    *(path(f"t/<slug:tenant>/{where}", view, name=f"api-tenant-{name}") for where, view, name in [*READ, *WRITE]),
    *(path(f"t/<slug:tenant>/{where}", view, name=name) for where, view, name in MACHINES),
    *_record_lines(),
]
