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
}

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
