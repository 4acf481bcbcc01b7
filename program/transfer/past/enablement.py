"""Imports sessions with who spoke, onboarding with its list, the reports that are due, articles, and exports."""

from __future__ import annotations

from decimal import Decimal

from program import checklists as lists
from program import states
from program.models import Attendance, Onboarding, OnboardingStep, Report, Session
from program.transfer.dates import Row
from program.transfer.one_action import one_action
from program.transfer.past.rows import Past, imported, known
from program.transfer.words import AUDIENCES, REPORT_WAYS
from support.article_text import SKELETON, stripped
from support.articles import known_of, link_case
from support.models import Article, ArticleUse, ArticleVersion, Case
from support.states import ARTICLE_WRITTEN, CASE_OPENED
from tenants.history import timeline
from tenants.history.moves import move
from tenants.wall.acting import acting_for, reading_everyone


def load_sessions(past: Past) -> int:
    """Of the running cycle; those that lie ahead are announced."""
    cycle = past.running_cycle()
    count = 0
    with acting_for(past.office, staff=True):
        there = set(Session.objects.filter(cycle=cycle).values_list("code", flat=True))
        for row in past.told.get("enablement_sessions", []):
            if row["id"] not in there:
                with one_action():
                    _session(past, row)
                count += 1
    return count


def _session(past: Past, row: Row) -> None:
    survey = row.get("survey") or {}
    session = Session.objects.create(
        tenant=past.office,
        cycle=past.running_cycle(),
        code=row["id"],
        kind=row["kind"],
        title=row["title"],
        starts_at=past.shift.moment(row["starts_at"]),
        minutes=row["duration_min"],
        format=row["format"],
        recurrence=row.get("recurrence", ""),
        place=row.get("place", ""),
        prerequisites=row.get("prerequisites", ""),
        seats=row.get("seats"),
        agenda=row.get("agenda", []),
        materials=row.get("materials", []),
        registered=row["registered"],
        attended=row.get("attended"),
        answers=survey.get("responses"),
        satisfaction=Decimal(str(survey["csat"])) if survey else None,
    )
    # The file tells of what every participant was invited to.
    told_on = min(past.as_of, session.starts_at)
    Session.objects.filter(pk=session.pk).update(announced_at=told_on)
    people = [past.who.people[handle] for handle in row["speakers"]]
    Attendance.objects.bulk_create(
        Attendance(tenant=past.office, session=session, person=person, part=Attendance.Part.SPEAKER)
        for person in people
    )
    told = imported(imported=row["id"], title=session.title)
    by = people[0].actor if people else past.who.manager.actor
    if session.attended is None:
        timeline.record(
            states.SESSION_PLANNED,
            about=session,
            by=by,
            at=past.as_of,
            day=session.starts_at.date().isoformat(),
            **told,
        )
    else:
        facts = {"attended": session.attended, "registered": session.registered}
        timeline.record(states.SESSION_HELD, about=session, by=by, at=session.starts_at, **facts, **told)
        if session.satisfaction is not None:
            facts = {"answers": session.answers, "satisfaction": str(session.satisfaction)}
            timeline.record(states.SESSION_SURVEYED, about=session, by=by, at=session.starts_at, **facts, **told)


def load_onboarding(past: Past) -> int:
    told, count = past.told.get("onboarding", {}), 0
    for row in told.get("sessions", []):
        with acting_for(past.who.tenants[row["participant"]], staff=True):
            participation = past.who.place(row["participant"], row)
            if not Onboarding.objects.filter(participation=participation).exists():
                with one_action():
                    _onboarding(past, row, row.get("checklist", told["checklist"]))
                count += 1
    return count


def _onboarding(past: Past, row: Row, checklist: list[str | Row]) -> None:
    participation, lead = past.who.place(row["participant"], row), past.who.people[row["lead_sa"]]
    apart = row.get("not_applicable", {})
    made = Onboarding.objects.create(
        tenant_id=participation.tenant_id,
        participation=participation,
        lead=lead,
        held_at=past.shift.moment(row["session_at"]),
        minutes=row["duration_min"],
        completed_on=past.shift.day(row["completed_on"]) if row.get("completed_on") else None,
    )
    with reading_everyone():  # the office keeps the list of the cycle
        known = lists.by_text(lists.steps_of(participation.cycle_id))
    steps = [lists.laid_out(one, known) for one in checklist]
    OnboardingStep.objects.bulk_create(
        OnboardingStep(
            tenant_id=participation.tenant_id,
            onboarding=made,
            position=position,
            **step,
        )
        for position, step in enumerate(steps, start=1)
    )
    facts = {"done": len(checklist) - len(row["open_items"]), "steps": len(checklist)}
    timeline.record(states.ONBOARDED, about=made, by=lead.actor, at=made.held_at, **imported(**facts))
    day = past.noon(row["completed_on"]) if row.get("completed_on") else past.as_of
    for step in OnboardingStep.objects.filter(onboarding=made, text__in=list(apart)):
        columns = {"settled_at": day, "settled_by": lead.actor, "why": apart[step.text]}
        move(
            step,
            "not_applicable",
            by=lead.actor,
            at=day,
            columns=columns,
            text=step.text,
            **imported(why=apart[step.text]),
        )
    for step in OnboardingStep.objects.filter(onboarding=made).exclude(text__in=[*row["open_items"], *apart]):
        # What proved it then was kept elsewhere, and the file does not say what it was.
        columns = {"done_on": day.date(), "settled_at": day, "settled_by": lead.actor}
        move(step, "done", by=lead.actor, at=day, columns=columns, text=step.text, evidence="", **imported())
    if row.get("completed_on"):
        timeline.record(
            states.ONBOARDING_DONE, about=made, by=lead.actor, at=past.noon(row["completed_on"]), **imported()
        )


def load_reports(past: Past) -> int:
    """They are owed from the cycle's first day; one that nobody calls late was handed in by its own."""
    count = 0
    for participant in past.told["participants"]:
        slug = participant["slug"]
        with acting_for(past.who.tenants[slug], staff=True):
            there = set(Report.objects.values_list("participation_id", "kind", "period"))
            for row in past.of("reports", slug):
                if (past.who.place(slug, row).pk, row["kind"], past.month(row["period"])) not in there:
                    with one_action():
                        _report(past, row)
                    count += 1
    return count


def _report(past: Past, row: Row) -> None:
    participation = past.who.place(row["participant"], row)
    report = Report.objects.create(
        tenant_id=participation.tenant_id,
        participation=participation,
        kind=row["kind"],
        period=past.month(row["period"]),
        due_on=past.shift.day(row["due_on"]),
        text=row.get("text", ""),
        answer=row.get("answer", ""),
    )
    name, due = row["kind"].replace("_", " "), report.due_on.isoformat()
    told = imported(report=name, period=report.period, due=due)
    begins = past.noon(past.cycle_row["starts_on"])
    timeline.record(states.REPORT_DUE, about=report, by=past.who.manager.actor, at=begins, **told)
    handed_in = min(past.noon(row["due_on"]), past.as_of)
    business = past.of_team(row["participant"], "contacts.business")
    for state in REPORT_WAYS[row["state"]]:
        # The programme writes a report; the participant says whether it is right.
        by = business if state in ("accepted", "disputed", "returned") else past.who.manager.actor
        at = past.as_of if state in ("draft", "late") else handed_in
        move(report, state, by=by, at=at, why="", **told)


def load_articles(past: Past) -> int:
    """Each with an entry in the history of every case that it came out of."""
    count = 0
    with acting_for(past.office, staff=True):
        there = set(Article.objects.values_list("code", flat=True))
    for row in past.told.get("knowledge_articles", []):
        if row["id"] not in there:
            with acting_for(past.office, staff=True), one_action():
                _article(past, row)
            count += 1
    return count


def _article(past: Past, row: Row) -> None:
    audience = AUDIENCES[row["audience"]]
    came_from = [case for case in past.told.get("cases", []) if case["id"] in row.get("cases", [])]
    by = past.actor(row.get("author") or (came_from[0].get("owner") if came_from else None))
    article = Article.objects.create(
        tenant=past.office,
        code=row["id"],
        title=row["title"],
        body=row["text"] if "text" in row else _text_of(past, came_from),
        category=row.get("category", came_from[0]["category"] if came_from else ""),
        audience=audience,
        author=by,
        changed_at=past.as_of,
    )
    told = {"code": article.code, "title": article.title}
    timeline.record(ARTICLE_WRITTEN, about=article, by=by, at=past.as_of, **imported(imported=row["id"], **told))
    if row["state"] == "published":
        move(article, "published", by=by, at=past.as_of, columns={"published_at": past.as_of}, **imported(**told))
    if article.body:
        ArticleVersion.objects.create(
            tenant=past.office, article=article, number=1, title=article.title, body=article.body, author=by
        )
    solved = [case for case in past.told.get("cases", []) if case["id"] in row.get("solves", [])]
    kinds = [(ArticleUse.Kind.ORIGIN, case) for case in came_from] + [(ArticleUse.Kind.SOLVED, case) for case in solved]
    for kind, case in kinds:
        with acting_for(past.who.tenants[case["participant"]], staff=True):
            of_case = Case.objects.get(pk=known(CASE_OPENED)[case["id"]])
            # The file gives an article no date. It is written out of a case that is resolved, so it is dated like that.
            link_case(
                case=of_case,
                article=article,
                kind=kind,
                by=past.actor(case.get("owner")),
                at=of_case.resolved_at or past.as_of,
                **imported(),
            )


def _text_of(past: Past, cases: list[Row]) -> str:
    """The file keeps no text of an article: it is what its cases tell, without whose they were."""
    known = known_of([past.who.tenants[case["participant"]].pk for case in cases])
    told = [
        SKELETON.partition("## How to know")[0].format(
            seen=case["symptom"], why=case.get("root_cause") or "…", helps=case.get("resolution") or "…"
        )
        for case in cases
    ]
    return stripped("\n".join(told).strip(), known)


def load_exports(past: Past) -> int:
    count = 0
    with acting_for(past.office, staff=True):
        there = known(states.EXPORTED)
        for row in past.told.get("audit_samples", []):
            if row["verb"] == "api.export" and row["object"] not in there:
                with one_action():
                    timeline.record(
                        states.EXPORTED,
                        about=past.office,
                        by=past.actor(row["actor"]),
                        at=past.shift.moment(row["at"]),
                        **imported(imported=row["object"], what=row["object"], rows=row["after"]["rows"]),
                    )
                count += 1
    return count
