"""Tables of the program layer, gathered for Django."""

from program.models.calls import Application, ApplicationScore, ApplicationVersion, Call
from program.models.enablement import (
    Attendance,
    ChecklistStep,
    Onboarding,
    OnboardingStep,
    Registration,
    Report,
    Session,
)
from program.models.procedure import (
    AUDIENCES,
    ActionItem,
    Addendum,
    Decision,
    Launch,
    LaunchCluster,
    LaunchWave,
    Minutes,
    OfficeOwned,
    Review,
    ReviewItem,
)

__all__ = [
    "AUDIENCES",
    "ActionItem",
    "Addendum",
    "Application",
    "ApplicationScore",
    "ApplicationVersion",
    "Attendance",
    "Call",
    "ChecklistStep",
    "Decision",
    "Launch",
    "LaunchCluster",
    "LaunchWave",
    "Minutes",
    "OfficeOwned",
    "Onboarding",
    "OnboardingStep",
    "Registration",
    "Report",
    "Review",
    "ReviewItem",
    "Session",
]
