"""The words of the programme file beside ours."""

from __future__ import annotations

from support.models import Case
from tenants.models import TrainingModel
from tenants.wall import roles

ROLES = {
    "programme_manager": roles.PROGRAMME_MANAGER,
    "programme_officer": roles.PROGRAMME_OFFICER,
    "auditor": roles.AUDITOR,
    "lead_sa": roles.LEAD_ARCHITECT,
    "account_team": roles.ACCOUNT_TEAM,
    "frameworks": roles.FRAMEWORKS_SPECIALIST,
    "service_team": roles.SERVICE_ENGINEER,
    "automation": roles.AUTOMATION,
    "api_integrator": roles.AUTOMATION,
    "customer_business_lead": roles.BUSINESS_LEAD,
    "customer_ml_engineer": roles.ML_ENGINEER,
    "customer_platform_engineer": roles.PLATFORM_ENGINEER,
}

# Our roles in the words of the file; where it has several for one, the first, and where it has none, ours.
FILE_ROLES = {ours: next((word for word, role in ROLES.items() if role == ours), ours) for ours in roles.ROLES}
ROLES |= {word: ours for ours, word in FILE_ROLES.items()}

# What else of a programme its office has set.
RULES = (
    "approval_over_instances", "cutoff_weekday", "stale_after_days", "invitation_days", "confirm_access_days",
    "quarantine_strikes", "quarantine_days", "quarantine_event_minutes", "idle_minutes", "idle_below_percent",
    "second_step_since", "second_step_grace_days", "grant_not_set", "budget_rule", "budget_counts", "budget_warn_at", "budget_notice_hours", "budget_patience_hours",
)  # fmt: skip

# A participation's way to each of its states.
_IN = ("selected", "onboarding", "active")
WAYS = {
    "applied": (),
    "selected": _IN[:1],
    "onboarding": _IN[:2],
    "active": _IN,
    "suspended": (*_IN, "suspended"),
    "closing": (*_IN, "closing"),
    "closed": (*_IN, "closing", "closed"),
    "withdrawn": ("withdrawn",),
}

# Place in a participant's team -> what that person does for it.
DUTIES = {"lead_sa": "lead", "account_team": "account", "frameworks": "frameworks"}

_FAMILY = TrainingModel.Family
FAMILIES = {
    "decoder-only dense transformer": _FAMILY.DENSE,
    "mixture of experts, 8 experts, top-2": _FAMILY.MOE,
    "latent diffusion transformer": _FAMILY.DIFFUSION,
    "vision-language-action transformer": _FAMILY.VLA,
    "speech-text decoder with codec tokens": _FAMILY.SPEECH,
    "ViT encoder + decoder LLM": _FAMILY.VISION,
    "decoder-only dense + image projector": _FAMILY.VISION,
    "decoder-only transformer + image projector": _FAMILY.VISION,
    "equivariant graph transformer": _FAMILY.OTHER,
    **{family.value: family for family in _FAMILY},
}

# What was trained on, as the file counts it: how much it shall be, how much it is, and our unit.
AMOUNTS = (
    ("tokens_target_b", "tokens_done_b", TrainingModel.Unit.BILLION_TOKENS),
    ("samples_target_m", "samples_done_m", TrainingModel.Unit.MILLION_SAMPLES),
    ("hours_target_k", "hours_done_k", TrainingModel.Unit.THOUSAND_HOURS),
)

DEGREES = {
    "tp": "tensor_parallel",
    "pp": "pipeline_parallel",
    "dp": "data_parallel",
    "cp": "context_parallel",
    "ep": "expert_parallel",
    "sp": "sequence_parallel",
    "fsdp": "fsdp",
    "zero": "zero_stage",
}

# Orchestrators that this version can launch -> the reference architecture that does it.
ARCHITECTURES = {
    "hyperpod-slurm": "hyperpod-slurm",
    "hyperpod-eks": "hyperpod-eks",
    "parallelcluster": "parallelcluster",
}
FILE_SYSTEMS = {"fsx_lustre": "lustre", "fsx_openzfs": "openzfs"}

# How a job of the past ended, and the word of its scheduler.
JOB_ENDS = {
    "completed": ("succeeded", "COMPLETED"),
    "failed": ("failed", "FAILED"),
    "node_fail": ("failed", "NODE_FAIL"),
    "cancelled": ("cancelled", "CANCELLED"),
    "timeout": ("timed_out", "TIMEOUT"),
}
# How a report got to where it is.
REPORT_WAYS = {
    "not_started": (),
    "draft": ("draft",),
    "late": ("late",),
    "submitted": ("submitted",),
    "accepted": ("submitted", "accepted"),
    "disputed": ("submitted", "disputed"),
    "returned": ("submitted", "returned"),
}
AUDIENCES = {"customer": "shared", "internal": "internal"}

# What a case of the past turned out to be, by the category it has in the file.
_CAUSE = Case.Cause
CAUSES = {
    "accounting": _CAUSE.UNKNOWN,
    "capacity": _CAUSE.CAPACITY,
    "configuration": _CAUSE.CONFIGURATION,
    "framework": _CAUSE.SOFTWARE,
    "hardware": _CAUSE.HARDWARE,
    "image": _CAUSE.SOFTWARE,
    "maintenance": _CAUSE.PROVIDER,
    "network": _CAUSE.CONFIGURATION,
    "observability": _CAUSE.CONFIGURATION,
    "performance": _CAUSE.SOFTWARE,
    "provisioning": _CAUSE.CONFIGURATION,
    "quota": _CAUSE.CAPACITY,
    "scheduler": _CAUSE.SOFTWARE,
    "storage": _CAUSE.CONFIGURATION,
    "training": _CAUSE.UNKNOWN,
}


def is_machine(handle: str) -> bool:
    """Who acts without being a person: the engine, or a provider."""
    return handle == "engine" or handle.startswith("provider:")
