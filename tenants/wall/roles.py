"""The roles of the programme and the named sets of them that routes ask for: the access table, in one place."""

PROGRAMME_MANAGER = "programme_manager"
PROGRAMME_OFFICER = "programme_officer"
LEAD_ARCHITECT = "lead_architect"
ACCOUNT_TEAM = "account_team"
FRAMEWORKS_SPECIALIST = "frameworks_specialist"
SERVICE_ENGINEER = "service_engineer"
AUDITOR = "auditor"
BUSINESS_LEAD = "business_lead"
TECHNICAL_LEAD = "technical_lead"
PLATFORM_ENGINEER = "platform_engineer"
ML_ENGINEER = "ml_engineer"
VIEWER = "viewer"
AUTOMATION = "automation"

STAFF_ROLES = (
    PROGRAMME_MANAGER,
    PROGRAMME_OFFICER,
    LEAD_ARCHITECT,
    ACCOUNT_TEAM,
    FRAMEWORKS_SPECIALIST,
    SERVICE_ENGINEER,
    AUDITOR,
    AUTOMATION,
)
CUSTOMER_ROLES = (BUSINESS_LEAD, TECHNICAL_LEAD, PLATFORM_ENGINEER, ML_ENGINEER, VIEWER)
ROLES = (*STAFF_ROLES, *CUSTOMER_ROLES)

DUTIES = ("lead", "deputy", "account", "frameworks", "service")

# The account team reads everywhere and writes only where it is assigned: elsewhere its seat has this role.
ACCOUNT_TEAM_ELSEWHERE = "account_team_elsewhere"

_OFFICE = frozenset({PROGRAMME_MANAGER, PROGRAMME_OFFICER, LEAD_ARCHITECT})
_READERS_OF_ALL = _OFFICE | {ACCOUNT_TEAM, ACCOUNT_TEAM_ELSEWHERE, FRAMEWORKS_SPECIALIST, AUDITOR, AUTOMATION}

SEES_INTERNAL = frozenset(STAFF_ROLES) - {AUTOMATION} | {ACCOUNT_TEAM_ELSEWHERE}
STAFF = _READERS_OF_ALL
READ = _READERS_OF_ALL | frozenset(CUSTOMER_ROLES)
READ_CASES = READ | {SERVICE_ENGINEER}
EVERYONE = READ_CASES
EDIT_RECORD = _OFFICE | {ACCOUNT_TEAM, BUSINESS_LEAD, TECHNICAL_LEAD, PLATFORM_ENGINEER, ML_ENGINEER, AUTOMATION}
EDIT_QUOTAS = frozenset({PROGRAMME_MANAGER, PROGRAMME_OFFICER, LEAD_ARCHITECT, ACCOUNT_TEAM})
ASK_CAPACITY = EDIT_QUOTAS | {BUSINESS_LEAD, TECHNICAL_LEAD, PLATFORM_ENGINEER}  # of the programme; APPROVE decides
OPERATE = frozenset({PROGRAMME_MANAGER, LEAD_ARCHITECT, TECHNICAL_LEAD, PLATFORM_ENGINEER, AUTOMATION})
CONNECT = frozenset(
    {PROGRAMME_MANAGER, LEAD_ARCHITECT, ACCOUNT_TEAM, TECHNICAL_LEAD, PLATFORM_ENGINEER, AUTOMATION}
)  # cloud accounts
LAUNCH = OPERATE | {ML_ENGINEER}
APPROVE = frozenset({PROGRAMME_MANAGER, LEAD_ARCHITECT})
# Who keeps the money: a participant's budget, moves of it, rates, and pauses of the rule at its limit.
KEEP_BUDGET = frozenset({PROGRAMME_MANAGER, PROGRAMME_OFFICER})
# Who may say that hours are counted wrong, and who answers: the office counts, the participant says whether it is right.
DISPUTE = frozenset(
    {PROGRAMME_MANAGER, LEAD_ARCHITECT, ACCOUNT_TEAM, BUSINESS_LEAD, TECHNICAL_LEAD, PLATFORM_ENGINEER, ML_ENGINEER}
)
SETTLE = _OFFICE
WRITE_CASES = frozenset(
    {
        PROGRAMME_MANAGER,
        PROGRAMME_OFFICER,
        LEAD_ARCHITECT,
        ACCOUNT_TEAM,
        FRAMEWORKS_SPECIALIST,
        TECHNICAL_LEAD,
        PLATFORM_ENGINEER,
        ML_ENGINEER,
        AUTOMATION,
    }
)
ANSWER_CASES = WRITE_CASES | {SERVICE_ENGINEER}
WORK_CASES = ANSWER_CASES - {TECHNICAL_LEAD, PLATFORM_ENGINEER, ML_ENGINEER}
NOTE = _OFFICE | {ACCOUNT_TEAM, FRAMEWORKS_SPECIALIST}
REVIEW = _OFFICE
TEACH = _OFFICE | {FRAMEWORKS_SPECIALIST}
SCORE = _OFFICE | {FRAMEWORKS_SPECIALIST}  # applications; PUBLISH decides
WRITE_ARTICLES = _OFFICE | {FRAMEWORKS_SPECIALIST}
ONBOARD = _OFFICE | {ACCOUNT_TEAM}
ENROL = frozenset({BUSINESS_LEAD, TECHNICAL_LEAD, PLATFORM_ENGINEER, ML_ENGINEER})
HAND_IN = frozenset({PROGRAMME_MANAGER, PROGRAMME_OFFICER, BUSINESS_LEAD})
MOVE_REPORTS = frozenset({PROGRAMME_MANAGER, PROGRAMME_OFFICER})
ANSWER_REPORTS = frozenset({PROGRAMME_MANAGER, BUSINESS_LEAD})
PUBLISH = frozenset({PROGRAMME_MANAGER, LEAD_ARCHITECT})
TAKE_ALL = frozenset({PROGRAMME_MANAGER, PROGRAMME_OFFICER})  # the whole programme as a file
ENGINE_ROOM = _OFFICE | {AUDITOR}
# Who answers for a participant's people: its own leads, and the office for everybody.
LEADS = frozenset({BUSINESS_LEAD, TECHNICAL_LEAD})
MANAGE_PEOPLE = _OFFICE | LEADS
ASSIGN = _OFFICE  # who of the programme looks after a participant
GIVE_ON = ASSIGN | {ACCOUNT_TEAM}  # a duty to a colleague; the account team its own
# Whoever asks that a person is erased, and another one who does it.
ASK_ERASURE = _OFFICE
ERASE = APPROVE
KEEP_CONTACTS = MANAGE_PEOPLE | {ACCOUNT_TEAM}


def may_give(giver: str, *, at_office: bool) -> tuple[str, ...]:
    """The roles that a person with the role `giver` may give there. Staff is appointed by the programme manager alone."""
    if at_office:
        return STAFF_ROLES if giver == PROGRAMME_MANAGER else ()
    return CUSTOMER_ROLES if giver in MANAGE_PEOPLE else ()
