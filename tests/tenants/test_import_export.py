"""Tables as files: what is read, what a file would do, and that an import is whole or nothing, whatever is sent."""

import io
import json
import zipfile
from datetime import date, timedelta
from decimal import Decimal

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.models import Bucket, CloudAccount, Cluster, QuotaGrant
from clusters.models.ledger import LedgerRow
from tenants import importing, sheets
from tenants.history.models import Entry
from tenants.import_export import KINDS, Current, decide
from tenants.models import (
    Attachment,
    Contact,
    Cycle,
    Import,
    Invitation,
    Membership,
    Milestone,
    Participation,
    Tenant,
    TrainingModel,
)
from tenants.nearness import Names
from tenants.sheet_writing import written
from tenants.sheets import MOST_ROWS, read
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused
from tenants.web.tables import cell, unescaped
from tenants.work import due, loop

HEAD = "participant,code,name,family,total_params_b,active_params_b"
M1 = "hoshi,M1,One,dense,70,70"
MODEL, SOFTWARE = KINDS["model"], KINDS["software"]


def table(content: bytes | str, name: str = "t.csv"):
    content = content.encode() if isinstance(content, str) else content
    return importing.parsed(MODEL, name, content, alone=False)


def cells(sheet, column: str) -> list[str]:
    return [line.cells[column].text for line in sheet.lines]


def book(*rows, sheets: int = 1) -> bytes:
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    for _more in range(sheets - 1):
        made.create_sheet()
    kept = io.BytesIO()
    made.save(kept)
    return kept.getvalue()


def packed(**parts: bytes) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return kept.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        f"{HEAD}\n{M1}\n".encode(),
        f"{HEAD}\n{M1}\n".encode("utf-8-sig"),
        f"{HEAD}\n{M1}\n".replace(",", ";").encode(),
        f"{HEAD}\n{M1}\n".replace(",", "\t").encode(),
        f"{HEAD}\r{M1}\r".encode(),
        f"\n{HEAD}\r\n\r\n{M1}\r\n,,,,,\r\n".encode(),
        f"{HEAD}\nhoshi,M1,星の言語モデル,dense,70,70\n".encode("cp932"),
    ],
    ids=["utf-8", "bom", "semicolons", "tabs", "cr only", "blank lines", "shift_jis"],
)
def test_ways_to_write_the_same_table_are_read(content):
    sheet = table(content)
    assert cells(sheet, "code") == ["M1"] and cells(sheet, "participant") == ["hoshi"] and not sheet.problems
    assert cells(sheet, "name")[0] in ("One", "星の言語モデル")


YAML_ROW = '- participant: "hoshi"\n  code: "M1"\n'
TOO_DEEP = "- &a [x]\n" + "- &b [*a, *a]\n- &a [*b, *b]\n" * 30
REFUSED = [
    ("UTF-16", f"{HEAD}\n{M1}".encode("utf-16"), "t.csv", "encoding", 422, "UTF-8"),
    ("Latin-1", f"{HEAD}\nhoshi,M1,Société é,dense,1,1\n".encode("latin-1"), "t.csv", "encoding", 422, "Line 2"),
    ("a NUL", f"{HEAD}\nho\x00shi,M1,x,dense,1,1\n", "t.csv", "encoding", 422, "Line 2"),
    ("nothing", "", "t.csv", "file_empty", 422, "empty"),
    ("an image", b"\x89PNG\r\n", "t.png", "format", 422, ".csv"),
    ("a workbook of an old kind", b"\xd0\xcf\x11\xe0\xa1\xb1", "t.xls", "format", 422, ".xlsx"),
    ("a workbook called CSV", packed(x=b"y"), "t.csv", "format", 422, "ending"),
    ("CSV called a workbook", HEAD, "t.xlsx", "format", 422, "ending"),
    ("any archive", packed(x=b"y"), "t.xlsx", "workbook", 422, "damaged"),
    ("half a workbook", book(["participant"])[:400], "t.xlsx", "workbook", 422, "damaged"),
    ("two sheets", book(HEAD.split(","), sheets=2), "t.xlsx", "sheets", 422, "2 sheets"),
    (
        "an entity",
        packed(x=b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "a">]>'),
        "t.xlsx",
        "workbook",
        422,
        "damaged",
    ),
    (
        "columns",
        f"{HEAD.replace('code,', '')},nmae,name\n",
        "t.csv",
        "columns",
        422,
        "'nmae'; there twice: name; missing: code",
    ),
    (
        "an open quotation mark",
        f'{HEAD}\n{M1}\nhoshi,"M2,Two,dense,1,1\nhoshi,M3,Three,dense,1,1\n',
        "t.csv",
        "quote",
        422,
        "line 3",
    ),
    ("too many rows", f"{HEAD}\n" + f"{M1}\n" * (MOST_ROWS + 1), "t.csv", "too_many_rows", 413, "10000"),
    ("a tag", "- !!python/object/apply:os.system ['id']\n", "t.yaml", "yaml", 422, "Line 1 has the tag"),
    ("an alias bomb", TOO_DEEP, "t.yaml", "yaml", 422, "anchor"),
    ("a circle", "&a\n- *a\n", "t.yaml", "yaml", 422, "anchor"),
    ("a tab", "- participant: x\n\tcode: y\n", "t.yaml", "yaml", 422, "Line 2"),
    ("a key twice", f"{YAML_ROW}  code: 'M2'\n", "t.yaml", "yaml", 422, "Line 3"),
    ("two documents", f"{YAML_ROW}---\n{YAML_ROW}", "t.yaml", "yaml", 422, "second document"),
    ("no list", "participant: hoshi\n", "t.yaml", "yaml", 422, "list of rows"),
    ("a list in a cell", "- participant: [hoshi]\n", "t.yaml", "yaml", 422, "Line 1"),
    ("columns in YAML", f"{YAML_ROW}  nmae: 'x'\n", "t.yaml", "columns", 422, "'nmae'"),
    ("a NUL as an escape", YAML_ROW + '  name: "a\\0"\n', "t.yaml", "encoding", 422, "Line 3"),
    ("many levels", "[" * 5000, "t.yaml", "yaml", 422, "Line 1"),
]


@pytest.mark.parametrize(
    ("content", "name", "code", "status", "says"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_what_is_no_table_is_refused_with_the_place_and_the_way_out(content, name, code, status, says):
    with pytest.raises(Refused) as refused:
        table(content, name)
    assert (refused.value.code, refused.value.status) == (code, status), refused.value
    assert says in str(refused.value)


def test_a_workbook_that_unpacks_without_end_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(sheets, "MOST_UNPACKED", 1000)
    with pytest.raises(Refused) as refused:
        table(packed(x=b"0" * 1001), "t.xlsx")
    assert (refused.value.code, refused.value.status) == ("workbook_size", 413)


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00")), min_size=1, max_size=4),
    st.sampled_from(["csv", "yaml"]),
)
@settings(max_examples=60)
def test_any_text_comes_back_as_it_was(texts, format):
    rows = [["", "hoshi", "C2", "x", text, "declared", ""] for text in texts]
    sheet = importing.parsed(SOFTWARE, f"t.{format}", b"".join(written(SOFTWARE, format, rows)), alone=True)
    assert cells(sheet, "software_version") == texts


def test_all_that_is_wrong_with_the_columns_is_data_too():
    with pytest.raises(Refused) as refused:
        table("participant,nmae,coed,name,name\n")
    facts = refused.value.facts
    assert (facts["unknown"], facts["twice"], facts["missing"]) == (["nmae", "coed"], ["name"], ["code"])


def test_a_line_of_another_length_is_a_fault_of_that_line():
    sheet = table(f"{HEAD}\n{M1},more\nhoshi,M2\n")
    assert [(problem.line, "6 columns" in problem.sentence) for problem in sheet.problems] == [(2, True), (3, True)]


@pytest.mark.parametrize(
    "text", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "'=1", "''+x", " =1", "plain", "'quoted", "", "'"]
)
def test_a_cell_that_a_spreadsheet_would_run_is_text_and_comes_back_as_it_was(text):
    assert unescaped(cell(text)) == text
    assert not cell(text).lstrip().startswith(("=", "+", "-", "@")) or text == "plain"


WRONG = [  # cell, column, what the sentence says
    ("1,000", "layers", "without separators"),
    ("١٢", "layers", "no number"),
    ("1e9", "total_params_b", "no number"),
    ("NaN", "total_params_b", "no number"),
    ("012", "layers", "no number"),
    ("-1", "total_params_b", "greater than or equal to 0"),
    ("99999999999999999999", "layers", "2147483647"),
    ("1.2345678", "total_params_b", "3 decimal places"),
    ("1.2345678", "total_params_b", "'1.2345678': "),
    ("densee", "family", "'dense'"),
    ("x" * 41, "code", "at most 40"),
    ("(clear)", "code", "cannot be cleared"),
]


@pytest.mark.parametrize(("value", "column", "says"), WRONG)
def test_a_bad_cell_is_told_with_its_line_and_column(value, column, says):
    given = dict(zip(HEAD.split(","), M1.split(","), strict=True)) | {column: f'"{value}"'}
    sheet = table(f"{','.join(given)}\n{','.join(given.values())}\n")
    _steps, [problem] = decide(MODEL, sheet, [], {"hoshi": 1}, {"hoshi": {"C2": 1}})
    assert (problem.line, problem.column) == (2, column) and says in problem.sentence


TYPED = [  # as YAML writes it, column, what it is taken for
    ("no", "name", "a yes or no, read as False"),
    ("012", "name", "a number, read as 10"),
    ("12:30", "name", "a number, read as 750"),
    ("2024-01-01", "name", "a date, read as 2024-01-01"),
    ("3.10", "precision", "a number, read as 3.1"),
    ("~", "name", "nothing at all"),
    ("1.0e+3", "total_params_b", "a number, read as 1000.0"),
    ("012", "layers", "a number, read as 10"),
    ("12:30", "layers", "a number, read as 750"),
]


@pytest.mark.parametrize(("value", "column", "says"), TYPED)
def test_what_yaml_would_silently_turn_into_something_else_is_refused(value, column, says):
    sheet = table(f"{YAML_ROW}  {column}: {value}\n", "t.yaml")
    _steps, [problem] = decide(MODEL, sheet, [], {"hoshi": 1}, {"hoshi": {"C2": 1}})
    assert (problem.column, says in problem.sentence) == (column, True), problem.sentence


def test_a_workbooks_numbers_and_formulas_are_text_or_refused():
    days = importing.parsed(
        KINDS["milestone"], "t.xlsx", book(["title", "due_on"], ["Gate", date(2027, 3, 31)]), alone=True
    )
    assert KINDS["milestone"].by_name["due_on"].parse(days.lines[0].cells["due_on"]) == date(2027, 3, 31)
    names = ["participant", "code", "name", "family", "total_params_b", "active_params_b", "precision"]
    sheet = table(book(names, ["hoshi", "M1", "=cmd|' /C calc'!A0", "dense", 70, 7.5, 3.1]), "t.xlsx")
    assert cells(sheet, "name") == ["=cmd|' /C calc'!A0"] and cells(sheet, "active_params_b") == ["7.5"]
    _steps, [problem] = decide(MODEL, sheet, [], {"hoshi": 1}, {"hoshi": {"C2": 1}})
    assert problem.column == "precision" and "text cell" in problem.sentence


def current(code: str, **values) -> Current:
    base = {"participant": "hoshi", "cycle": "C2", "code": code, "name": "One", "family": "dense", "precision": "bf16"}
    return Current(f"id-{code.lower()}", base | values)


DECIDED = [  # header, row, what it does, what changes
    ("participant,code,name", "hoshi,M1,One", "same", []),
    ("participant,code,name", "hoshi,M1,Two", "changed", ["name"]),
    ("participant,code,name", "hoshi,M1,", "same", []),
    ("participant,code,precision", "hoshi,M1,(clear)", "changed", ["precision"]),
    ("id,name", "id-m1,Two", "changed", ["name"]),
    ("id,code", "ID-M1,M9", "changed", ["code"]),
]


@pytest.mark.parametrize(("header", "row", "what", "changed"), DECIDED)
def test_a_line_adds_changes_or_says_what_is_there(header, row, what, changed):
    sheet = table(f"{header}\n{row}\n")
    [step], problems = decide(MODEL, sheet, [current("M1")], {"hoshi": 1}, {"hoshi": {"C2": 1}})
    assert not problems and (step.what, sorted(step.changes)) == (what, changed)


NOT_DECIDED = [  # header, rows, (line, column) of each fault
    ("participant,code,name", "umi,M1,x", [(2, "participant")]),
    ("participant,code,name", "hoshi,M1,x\nhoshi,M1,y", [(3, "code")]),
    ("id,name", "id-of-another,x", [(2, "id")]),
    ("id,participant,name", "id-m1,umi,x", [(2, "participant")]),
    ("participant,code,name", "hoshi,M2,Two", [(2, "family"), (2, "total_params_b"), (2, "active_params_b")]),
    ("participant,code,cycle", "hoshi,M1,C9", [(2, "cycle")]),
    (
        "participant,code,family,layers",
        "hoshi,M1,moo,x\n,M1,dense,1",
        [(2, "family"), (2, "layers"), (3, "participant")],
    ),
]


@pytest.mark.parametrize(("header", "rows", "faults"), NOT_DECIDED)
def test_every_fault_is_told_not_only_the_first(header, rows, faults):
    around = {"hoshi": {"C2": 1}, "sora": {"C2": 1}}
    sheet = table(f"{header}\n{rows}\n")
    steps, problems = decide(MODEL, sheet, [current("M1")], {"hoshi": 1, "sora": 2}, around)
    assert [(problem.line, problem.column) for problem in problems] == faults


@pytest.mark.parametrize("format", ["csv", "xlsx", "yaml"])
def test_what_is_written_is_read_as_it_was(format):
    names = [column.name for column in SOFTWARE.columns]
    odd = ["", "hoshi", "C2", "=1+1", "3.10\n012, \"no\": 'ü' 星 \u2028", "declared", "2026-01-01T00:00:00+09:00"]
    content = b"".join(written(SOFTWARE, format, [odd]))
    sheet = read(content, f"t.{format}", known=names, needed=["participant"])
    assert [sheet.lines[0].cells[name].text for name in names] == odd
    assert not any(cell.told for cell in sheet.lines[0].cells.values())
    empty = read(b"".join(written(SOFTWARE, format, [])), f"t.{format}", known=names, needed=["participant"])
    assert empty.lines == []


def test_a_workbook_holds_numbers_to_count_with_and_peoples_words_as_notes():
    names = [column.name for column in MODEL.columns]
    amounts = ["70", "0.5", "-3", "12345678901234567", "1.50", "007", ""]
    at = names.index("total_params_b")
    rows = [["" if index != at else amount for index in range(len(names))] for amount in amounts]
    content = b"".join(written(MODEL, "xlsx", [["x", *row[1:]] for row in rows]))
    sheet = openpyxl.load_workbook(io.BytesIO(content)).active
    held = [row[at] for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert held == [70, 0.5, -3, "12345678901234567", "1.50", "007", None] and sheet.freeze_panes == "A2"
    assert "dense: " in sheet.cell(1, names.index("family") + 1).comment.text
    assert sheet.column_dimensions["A"].width == 38
    assert cells(read(content, "t.xlsx", known=names, needed=()), "total_params_b") == amounts


def test_all_tables_come_in_one_workbook_of_chosen_participants_and_cycle(client, world):
    asking(client, world, "programme_manager")
    page = f"/t/{world.office.slug}/tables/"
    answer = client.get(page, {"format": "xlsx", "participant": "hoshi", "cycle": "C2"})
    book = openpyxl.load_workbook(io.BytesIO(b"".join(answer.streaming_content)))
    assert {"participants", "people", "model"} <= set(book.sheetnames)
    assert {row[0] for row in book["participants"].iter_rows(min_row=2, values_only=True)} == {"hoshi"}
    for wrong in ({"participant": "hosh"}, {"cycle": "C9"}, {"format": "csv"}):
        assert client.get(page, {"format": "xlsx"} | wrong).status_code == 400


def test_every_kind_has_a_template_whose_columns_it_knows():
    assert {"participants", "people", "contacts", "quotas", "model", "milestone"} <= set(KINDS)
    for kind in KINDS.values():
        names = [column.name for column in kind.columns]
        for format in ("csv", "xlsx", "yaml"):
            content = b"".join(written(kind, format, []))
            assert read(content, f"t.{format}", known=names, needed=kind.key).lines == []


def begun(world, kind: str, content: str | bytes, *, role="programme_manager", place=None, name="rows.csv"):
    place = place or world.office
    person = world.person(role, place if not place.is_office else None)
    staff = place.is_office
    with acting_for(place, staff=staff):
        return importing.begin(
            kind=KINDS[kind], place=place, name=name, content=content.encode() if isinstance(content, str) else content,
            media_type="text/csv", person=person, by=person.actor, role=role, staff=staff,
        )  # fmt: skip


def applied(world, run, **told):
    with acting_for(run.tenant, staff=run.tenant.is_office):
        return importing.apply(
            run=run, by=run.asked_by, person=run.person, role=run.role, staff=run.tenant.is_office, **told
        )


def counts() -> tuple[int, ...]:
    with reading_everyone():
        return tuple(
            model.objects.count() for model in (TrainingModel, Contact, Invitation, Membership, Tenant, Entry, Import)
        )


def exported(world, kind: str, place=None, format="csv") -> str:
    from tenants.sheet_writing import rows_of

    tenants = list(importing.readable(place or world.office).values())
    return b"".join(
        written(KINDS[kind], format, rows_of(KINDS[kind], tenants, staff=True, wanted=lambda row: True))
    ).decode()


def test_an_import_is_shown_first_and_then_writes_through_the_actions(world):
    before = counts()
    run = begun(world, "model", f"{HEAD}\n{M1}\numi,M1,Wave,moe,300,30\n")
    assert (run.state, run.added, run.changed) == ("checked", 2, 0)
    assert run.changes[0]["cells"][2] == ["name", "", "One"] and not before[0]
    with reading_everyone():
        assert not TrainingModel.objects.exists()
    applied(world, run)
    with acting_for(world.umi):
        model = TrainingModel.objects.get()
        entry = Entry.objects.get(subject_id=model.pk)
        assert (model.name, model.total_params_b, model.version) == ("Wave", Decimal(300), 1)
        assert (entry.kind, entry.actor, entry.facts["why"]) == ("record.added", run.asked_by, "imported from rows.csv")
    again = begun(world, "model", exported(world, "model"))
    assert (again.added, again.changed, again.same) == (0, 0, 2)
    changed = begun(world, "model", exported(world, "model").replace("Wave", "Tide"))
    assert changed.changes[0]["cells"] == [["name", "Wave", "Tide"]]


def test_a_file_that_changes_nothing_is_over_and_offers_nothing(client, world):
    applied(world, begun(world, "model", f"{HEAD}\n{M1}\n"))
    run = begun(world, "model", exported(world, "model"), name="same.csv")
    assert (run.state, run.same) == ("unchanged", 1) and run.ended_at is not None
    with acting_for(world.office, staff=True):
        assert not Attachment.objects.filter(subject=Import.SUBJECT, subject_id=run.pk).exists()
        assert Entry.objects.get(subject_id=run.pk, kind="import.unchanged").facts["file"] == "same.csv"
    with pytest.raises(Refused) as refused:
        applied(world, run)
    assert refused.value.code == "import_state"
    page = asking(client, world, "programme_manager").get(f"/t/{world.office.slug}/imports/{run.pk}/").content.decode()
    assert "Nothing changes" in page and "apply/" not in page and "cancel/" not in page
    listed = client.get(f"/t/{world.office.slug}/tables/").content.decode()
    assert "changes nothing" in listed and "waits to be imported" not in listed


def test_a_line_without_a_cycle_is_about_the_one_that_runs_and_not_the_one_that_is_applied_for(world):
    running = world.participations["hoshi"]
    coming = Cycle.objects.create(
        programme=running.cycle.programme, code="C9", name="Next", state="preparing", starts_on=date(2031, 1, 1)
    )
    with acting_for(world.hoshi, staff=True):
        Participation.objects.create(tenant=world.hoshi, cycle=coming, code="C9-01", project="next")
    applied(world, begun(world, "model", f"{HEAD}\n{M1}\n"))
    with acting_for(world.hoshi):
        assert TrainingModel.objects.get().participation_id == running.pk


def test_two_lines_that_people_read_as_one_are_refused_in_every_block(world):
    for kind, header, row, twin, column in [
        ("milestone", "participant,title,kind,due_on", "hoshi,First gate,gate,2027-01-01", "hoshi,first  GATE,gate,2027-01-01", "title"),
        ("ingest", "participant,name,method", "hoshi,Corpus,s3_copy", "hoshi,ＣＯＲＰＵＳ,s3_copy", "name"),
        ("software", "participant,component,software_version,source", "hoshi,CUDA,12.8,declared", "hoshi,cuda,12.9,declared", "component"),
        ("result", "participant,kind,title,openness", "hoshi,paper,How,open", "hoshi,paper,HOW,open", "title"),
    ]:  # fmt: skip
        applied(world, begun(world, kind, f"{header}\n{row}\n"))
        with pytest.raises(Refused) as refused:
            begun(world, kind, f"{header}\n{twin}\n")
        [problem] = refused.value.facts["problems"]
        assert (problem["line"], problem["column"]) == (2, column) and "is there already, as" in problem["sentence"]
    # The same title of another kind of result, or a version that is measured and not declared, is another line.
    assert begun(world, "result", "participant,kind,title,openness\nhoshi,code,how,open\n").added == 1
    assert (
        begun(world, "software", "participant,component,software_version,source\nhoshi,cuda,12.8,measured\n").added == 1
    )


def test_many_rows_take_few_statements_and_do_the_same_as_one_after_the_other(world, monkeypatch):
    def rows(prefix, count, name):
        return "\n".join(
            f"{'hoshi' if n % 2 else 'umi'},{prefix}{n},{name} {n},dense,{n + 1},{n + 1}" for n in range(count)
        )

    def told():
        with reading_everyone():
            models = TrainingModel.objects.order_by("code").values_list("code", "name", "total_params_b", "version")
            found = Entry.objects.filter(subject="model").order_by("pk")
            return list(models), sorted(
                (one.kind, one.actor, one.participation is not None, json.dumps(one.facts, sort_keys=True))
                for one in found
            )

    statements = []
    for prefix, count in (("A", 20), ("B", 60)):
        with CaptureQueriesContext(connection) as queries:
            run = begun(world, "model", f"{HEAD}\n{rows(prefix, count, 'Model')}\n")
        statements.append(len(queries))
        applied(world, run)
    assert statements[1] - statements[0] < 10, statements
    changed = f"{HEAD}\n{rows('A', 20, 'Other')}\n{rows('C', 10, 'New')}\n"
    seen = []
    for one_by_one in (False, True):
        with transaction.atomic():
            if one_by_one:
                monkeypatch.setattr(importing, "_together", lambda *told: False)
            run = applied(world, begun(world, "model", changed))
            assert (run.state, run.added, run.changed) == ("imported", 10, 20)
            seen.append(told())
            transaction.set_rollback(True)
    assert seen[0] == seen[1]
    monkeypatch.undo()
    # Two rows that people read as one are told apart from the others, and named.
    with pytest.raises(Refused) as refused:
        begun(world, "model", f"{HEAD}\nhoshi,X1,One,dense,7,7\nhoshi,ｘ1,Two,dense,7,7\nhoshi,X3,Three,dense,7,70\n")
    assert [(one["line"], one["column"]) for one in refused.value.facts["problems"]] == [
        (3, "code"),
        (4, "active_params_b"),
    ]


def test_one_bad_row_keeps_everything_out_and_every_fault_is_listed(world):
    rows = [f"hoshi,M{n},Model {n},dense,7,7" for n in range(150)]
    rows[3], rows[90] = "hoshi,M3,Model 3,dense,7,70", "hoshi,M90,Model 90,dence,7,x"
    before = counts()
    with pytest.raises(Refused) as refused:
        begun(world, "model", "\n".join([HEAD, *rows]))
    assert refused.value.status == 422 and refused.value.facts["problem_count"] == 2
    assert [(each["line"], each["column"]) for each in refused.value.facts["problems"]] == [
        (92, "family"),
        (92, "active_params_b"),
    ]
    rows[90] = "hoshi,M90,Model 90,dense,7,7"
    with pytest.raises(Refused, match="line 5, column active_params_b: 70 billion active parameters are more"):
        begun(world, "model", "\n".join([HEAD, *rows]))
    assert counts() == before


def test_rows_of_another_tenant_are_neither_found_nor_written(world):
    applied(world, begun(world, "model", f"{HEAD}\n{M1}\numi,M1,Wave,moe,300,30\n"))
    theirs = exported(world, "model", place=world.umi)
    before = counts()
    for file in (theirs, theirs.replace("umi", "hoshi"), theirs.replace("umi", "")):
        with pytest.raises(Refused) as refused:
            begun(world, "model", file, role="ml_engineer", place=world.hoshi)
        [problem] = refused.value.facts["problems"]
        assert problem["column"] in ("participant", "id") and "Wave" not in json.dumps(refused.value.facts)
    assert counts() == before
    with pytest.raises(Refused, match="no row with this id here"):  # nor by an account team that does not look after it
        begun(world, "model", theirs, role="account_team")


def test_what_changed_meanwhile_is_not_imported_but_shown(world):
    applied(world, begun(world, "model", f"{HEAD}\n{M1}\n"))
    run = begun(world, "model", f"{HEAD}\nhoshi,M1,Two,dense,70,70\n")
    applied(world, begun(world, "model", f"{HEAD}\nhoshi,M1,Three,dense,70,70\n"))
    with pytest.raises(Refused) as refused:
        applied(world, run)
    assert (refused.value.code, refused.value.facts["lines"]) == ("changed_meanwhile", [2])
    with acting_for(world.office, staff=True):
        importing.look_again(run=run, staff=True)
    assert (run.meanwhile, run.changes[0]["cells"]) == ([2], [["name", "Three", "Two"]])
    assert applied(world, run).state == "imported"


def test_only_whoever_sent_a_file_imports_it_and_only_once(world):
    run = begun(world, "model", f"{HEAD}\n{M1}\n")
    other = world.person("lead_architect")
    with acting_for(world.office, staff=True), pytest.raises(Refused, match="whoever sent it"):
        importing.apply(run=run, by=other.actor, person=other, role="lead_architect", staff=True)
    applied(world, run)
    with pytest.raises(Refused, match="not waiting"):
        applied(world, run)


QUOTA = "participant,instance_type,region,instances"
LINE = "hoshi,p5.48xlarge,ap-northeast-1"


def test_no_limit_none_allowed_and_not_set_are_three_things(world):
    applied(world, begun(world, "quotas", f"{QUOTA}\n{LINE},8\nhoshi,p4d.24xlarge,ap-northeast-1,0\n"))
    applied(world, begun(world, "quotas", f"{QUOTA}\n{LINE},12\nhoshi,trn1.32xlarge,ap-northeast-1,unlimited\n"))
    with acting_for(world.hoshi):
        grants = {row.instance_type: row for row in QuotaGrant.objects.all()}
        assert {kind: (row.unlimited, row.approved_instances) for kind, row in grants.items()} == {
            "p5.48xlarge": (False, 12), "p4d.24xlarge": (False, 0), "trn1.32xlarge": (True, 0),
        }  # fmt: skip
        ledger = LedgerRow.objects.filter(grant=grants["p5.48xlarge"]).order_by("created_at", "delta")
        assert sorted(ledger.values_list("delta", "why")) == [
            (4, "imported from rows.csv"),
            (8, "imported from rows.csv"),
        ]
    text = exported(world, "quotas")
    assert ",0," in text and ",unlimited," in text and "p5e" not in text
    again = begun(world, "quotas", text)
    assert (again.added, again.changed, again.same) == (0, 0, 3)


@pytest.mark.parametrize("instances", ["not set", "8 or so", "-1", "1.5", "1e3", "", "∞", "100001"])
def test_a_malformed_limit_is_refused_and_the_old_one_kept(world, instances):
    applied(world, begun(world, "quotas", f"{QUOTA}\n{LINE},8\n"))
    if instances:
        with pytest.raises(Refused) as refused:
            begun(world, "quotas", f"{QUOTA}\n{LINE},{instances}\n")
        [problem] = refused.value.facts["problems"]
        assert (problem["line"], problem["column"]) == (2, "instances")
    else:
        assert begun(world, "quotas", f"{QUOTA}\n{LINE},\n").same == 1
    with acting_for(world.hoshi):
        assert QuotaGrant.objects.get().approved_instances == 8


def test_people_are_invited_changed_and_said_again(world):
    engineer = world.person("ml_engineer")
    text = f"participant,email,role\nhoshi,New@Example.org,viewer\nhoshi,{engineer.email},platform_engineer\n"
    run = begun(world, "people", text, role="business_lead", place=world.hoshi)
    assert (run.added, run.changed) == (1, 1)
    with acting_for(world.hoshi):
        assert not Invitation.objects.exists()
    applied(world, run)
    with acting_for(world.hoshi):
        assert Invitation.objects.get().email == "new@example.org"
    assert Membership.objects.get(person=engineer, ended_at=None).role == "platform_engineer"
    again = begun(world, "people", text, role="business_lead", place=world.hoshi)
    assert (again.added, again.changed, again.same) == (0, 0, 2)
    whole = begun(world, "people", exported(world, "people"))
    assert (whole.added, whole.changed) == (0, 0) and whole.same > 10
    with pytest.raises(Refused, match="does not change it"):
        begun(world, "people", f"participant,email,role,name\nhoshi,{engineer.email},viewer,Another\n")


def test_contacts_and_milestones_come_back_as_they_were(world):
    engineer = world.person("ml_engineer")
    applied(
        world,
        begun(
            world, "contacts", f"participant,duty,name,person,phone\nhoshi,on_call,Night,{engineer.email},+81 3 1234\n"
        ),
    )
    applied(world, begun(world, "milestone", "participant,title,kind,due_on\nhoshi,=SUM(A1),gate,2027-03-31\n"))
    with acting_for(world.hoshi):
        assert (Contact.objects.get().person, Contact.objects.get().phone) == (engineer, "+81 3 1234")
        assert Milestone.objects.get().title == "=SUM(A1)"
    assert "'+81 3 1234" in exported(world, "contacts") and "'=SUM(A1)" in exported(world, "milestone")
    assert "+00:00" in exported(world, "contacts"), "every exported time has its offset"
    for kind in ("contacts", "milestone"):
        again = begun(world, kind, exported(world, kind))
        assert (again.added, again.changed, again.same) == (0, 0, 1)
    cleared = begun(world, "contacts", "participant,duty,name,person,phone\nhoshi,on_call,Night,,(clear)\n")
    assert cleared.changes[0]["cells"] == [["phone", "+81 3 1234", ""]]


def test_the_office_takes_organisations_in(world):
    text = (
        "participant,name,cycle,code,project,sector\nsora,Sora Weather,C2,C2-9,Weather,weather\nhoshi,,,,New words,\n"
    )
    run = begun(world, "participants", text)
    assert (run.added, run.changed) == (1, 1) and not Tenant.objects.filter(slug="sora").exists()
    applied(world, run)
    with acting_for(Tenant.objects.get(slug="sora")):
        assert (Participation.objects.get().project, Participation.objects.get().state) == ("Weather", "applied")
    again = begun(world, "participants", exported(world, "participants"))
    assert (again.added, again.changed, again.same) == (0, 0, 3)
    before = counts()
    for row, column in (
        ("programme,Office,C2,X,x,", "participant"), ("No such!,N,C2,X,x,", "participant"), ("kaze,,C2,X,x,", "name"),
        ("kaze,Kaze,C9,X,x,", "cycle"), ("hoshi,Another name,C2,,x,", "name"),
    ):  # fmt: skip
        with pytest.raises(Refused) as refused:
            begun(world, "participants", f"participant,name,cycle,code,project,sector\n{row}\n")
        assert refused.value.facts["problems"][0]["column"] == column, refused.value
    assert counts() == before


@pytest.mark.parametrize(
    ("slug", "name", "near"),
    [
        ("fernolit", "", "fernolith"), ("fernoliht", "", "fernolith"), ("Fernolith", "", "fernolith"),
        ("fernolith", "", ""), ("motion", "FERNOLITH motion", "fernolith"), ("kaze", "Kaze", ""), ("hosi", "", "hoshi"),
        ("hoshizora", "", ""), ("", "", ""), ("星", "", ""),
    ],
)  # fmt: skip
def test_a_name_that_is_nearly_one_that_is_there_is_known(slug, name, near):
    assert Names({"fernolith": "Fernolith Motion", "hoshi": "Hoshi", "星": "星"}).near(slug, name) == near


def test_a_mistyped_participant_does_not_silently_become_a_new_one(world):
    run = begun(world, "participants", "participant,name,cycle,code,project\nhosi,New One,C2,C2-9,Weather\n")
    assert [(each["fresh"], each["near"]) for each in run.changes] == [(True, "hoshi")]
    with pytest.raises(Refused) as refused:
        applied(world, run)
    assert refused.value.code == "near" and "'hoshi'" in refused.value.sentence
    assert not Tenant.objects.filter(slug="hosi").exists()
    assert applied(world, run, sure=True).state == "imported" and Tenant.objects.filter(slug="hosi").exists()
    with pytest.raises(Refused) as refused:
        begun(world, "participants", "participant,name,cycle,code,state\nhosh,New,C2,C2-8,applied\n")
    first = refused.value.facts["problems"][0]
    assert (first["column"], "Did you mean 'hoshi'?" in first["sentence"]) == ("participant", True)


def work() -> None:
    loop.handle(due.claim([importing.WAITS]))


def test_a_long_file_is_the_workers_and_shows_how_far_it_is(world, monkeypatch):
    monkeypatch.setattr(importing, "AT_ONCE", 2)
    monkeypatch.setattr(importing, "PROGRESS_SECONDS", 0)
    rows = "\n".join(f"hoshi,M{n},Model {n},dense,7,7" for n in range(5))
    run = begun(world, "model", f"{HEAD}\n{rows}\n")
    assert run.state == "checking" and due.waiting([importing.WAITS]) == 1
    work()
    with acting_for(world.office, staff=True):
        run.refresh_from_db()
    assert (run.state, run.added, run.done) == ("checked", 5, 5)
    assert applied(world, run).state == "applying"
    work()
    with acting_for(world.office, staff=True):
        run.refresh_from_db()
    assert run.state == "imported" and run.changes == []
    with acting_for(world.hoshi):
        assert TrainingModel.objects.count() == 5
    bad = begun(world, "model", f"{HEAD}\n{rows}\nhoshi,M9,Nine,dense,7,70\n")
    work()
    with acting_for(world.office, staff=True):
        bad.refresh_from_db()
    assert (bad.state, bad.problem_count, bad.problems[0]["line"]) == ("faulty", 1, 7)
    off = begun(world, "model", f"{HEAD}\n{rows}\nhoshi,M9,Nine,dense,7,7\n")
    with acting_for(world.office, staff=True):
        importing.cancel(run=off, by=off.asked_by)
    work()
    with acting_for(world.hoshi):
        assert TrainingModel.objects.count() == 5


def asking(client, world, role: str, tenant: Tenant | None = None):
    client.force_login(world.person(role, tenant))
    return client


def upload(content: bytes | str, name: str = "rows.csv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


def test_the_page_asks_about_a_name_that_is_nearly_there(client, world):
    asking(client, world, "programme_manager")
    sent = upload("participant,name,cycle,code,project\nhosi,New One,C2,C2-9,Weather\n")
    page = client.post(f"/t/{world.office.slug}/tables/participants/", {"file": sent})["Location"]
    shown = client.get(page).content.decode()
    assert "did you mean hoshi?" in shown and 'name="sure"' in shown and "new participant" in shown
    assert client.post(f"{page}apply/").status_code == 422 and not Tenant.objects.filter(slug="hosi").exists()
    assert (
        client.post(f"{page}apply/", {"sure": "on"}).status_code == 303 and Tenant.objects.filter(slug="hosi").exists()
    )


def test_the_page_shows_faults_keeps_nothing_and_leads_to_what_would_change(client, world):
    page, before = "/t/hoshi/tables/model/", counts()
    asking(client, world, "ml_engineer")
    bad = client.post(page, {"file": upload(f"{HEAD}\nhoshi,M1,x,moo,7,7\numi,M2,<b>,moe,7,7\n")})
    assert bad.status_code == 422 and "Did you mean &#x27;moe&#x27;?" in bad.content.decode()
    assert "There is no participant" in bad.content.decode()
    for content, name, status in (("", "t.csv", 422), ("x", "t.exe", 422), (f"{HEAD},nope\n{M1},1\n", "t.csv", 422)):
        assert client.post(page, {"file": upload(content, name)}).status_code == status
    assert client.post(page, {}).status_code == 422 and counts() == before
    large = {"content_type": "multipart/form-data; boundary=x", "CONTENT_LENGTH": str(50 * 1024 * 1024)}
    assert client.generic("POST", page, b"--x--", **large).status_code == 413
    good = client.post(page, {"file": upload(f"{HEAD}\n{M1}\n")})
    assert good.status_code == 303
    shown = client.get(good["Location"])
    assert "One" in shown.content.decode() and "Import 1 row" in shown.content.decode()
    asking(client, world, "business_lead")
    assert client.post(f"{good['Location']}apply/").status_code == 403
    asking(client, world, "ml_engineer")
    assert client.post(f"{good['Location']}apply/").status_code == 303
    assert client.post(f"{good['Location']}apply/").status_code == 409
    asking(client, world, "ml_engineer", world.umi)
    assert client.get(good["Location"]).status_code == 404
    assert asking(client, world, "ml_engineer").get("/t/hoshi/tables/nothing/").status_code == 404
    assert client.post("/t/hoshi/tables/quotas/", {"file": upload(f"{QUOTA}\n{LINE},8\n")}).status_code == 403


def test_a_view_is_exported_as_a_stream_and_an_unknown_filter_is_an_error(client, world):
    applied(world, begun(world, "model", f"{HEAD}\n{M1}\numi,M1,Wave,moe,300,30\n"))
    asking(client, world, "programme_officer")
    here = "/t/programme/tables/model/export/"
    answer = client.get(f"{here}?participant=umi&family=moe")
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    assert answer.streaming and answer["Content-Disposition"] == 'attachment; filename="programme-model.csv"'
    assert "Wave" in text and "One" not in text and len(text.splitlines()) == 2
    assert len(b"".join(client.get(f"{here}?template=1").streaming_content).decode().splitlines()) == 1
    for query, says in (("format=pdf", "csv, xlsx, yaml"), ("famly=moe", "&#x27;family&#x27;"), ("%00=1", "no column")):
        answer = client.get(f"{here}?{query}")
        assert answer.status_code == 400 and says in answer.content.decode()


def test_the_api_checks_a_file_first_and_then_applies_it(client, world):
    asking(client, world, "ml_engineer")
    here = "/api/v1/t/hoshi"
    token = {"headers": {"X-CSRFToken": "x" * 32}}
    client.cookies["csrftoken"] = "x" * 32
    made = client.post(f"{here}/tables/model/import/", {"file": upload(f"{HEAD}\n{M1}\n")}, **token)
    assert made.status_code == 201, made.content
    run = made.json()
    assert (run["state"], run["added"], run["changes"][0]["what"]) == ("checked", 1, "new")
    bad = client.post(f"{here}/tables/model/import/", {"file": upload(f"{HEAD}\n{M1}x\n")}, **token)
    assert (bad.status_code, bad.json()["code"], bad.json()["problems"][0]["line"]) == (422, "faulty", 2)
    other = begun(world, "model", f"{HEAD}\nhoshi,M1,Three,dense,70,70\n")
    applied(world, other)
    told = {"content_type": "application/json", **token}
    late = client.post(f"{here}/imports/{run['id']}/apply/", "{}", **told)
    assert (late.status_code, late.json()["code"], late.json()["lines"]) == (409, "changed_meanwhile", [2])
    now = client.get(f"{here}/imports/{run['id']}/").json()
    assert (now["changed"], now["meanwhile"], now["changes"][0]["cells"]) == (1, [2], [["name", "Three", "One"]])
    done = client.post(f"{here}/imports/{run['id']}/apply/", "{}", **told)
    assert done.status_code == 200 and done.json()["state"] == "imported"


def test_what_is_over_keeps_no_file_and_what_nobody_imports_is_called_off(world):
    done = applied(world, begun(world, "model", f"{HEAD}\n{M1}\n"))
    old = begun(world, "model", f"{HEAD}\nhoshi,M2,Two,dense,7,7\n")
    with acting_for(world.office, staff=True):
        assert not Attachment.objects.filter(subject_id=done.pk).exists()
        Import.objects.filter(pk=old.pk).update(created_at=timezone.now() - importing.KEPT - timedelta(days=1))
        assert importing.call_off_the_old() == 1 and not Attachment.objects.exists()
        old.refresh_from_db()
    assert (old.state, old.changes, old.marks) == ("cancelled", [], [])


def test_of_many_faults_the_first_hundred_are_listed_and_all_are_counted(world):
    with pytest.raises(Refused) as refused:
        begun(world, "model", "\n".join([HEAD, *(f"hoshi,M{n},x,moo,7,7" for n in range(150))]))
    assert (len(refused.value.facts["problems"]), refused.value.facts["problem_count"]) == (100, 150)


def test_a_bucket_is_said_to_be_used_and_never_made(town_of_one):
    world, bucket = town_of_one
    run = begun(world, "buckets", "participant,cluster,name,used_tib\nhoshi,lab,data-hoshi,12.5\n")
    applied(world, run)
    with acting_for(world.hoshi):
        bucket.refresh_from_db()
        assert bucket.used_tib == Decimal("12.5")
    for row in ("hoshi,nowhere,new,1", "hoshi,lab,new,1"):
        with pytest.raises(Refused, match="no bucket"):
            begun(world, "buckets", f"participant,cluster,name,used_tib\n{row}\n")


@pytest.fixture
def town_of_one(world):
    with acting_for(world.hoshi):
        cluster = Cluster.objects.create(
            tenant=world.hoshi, participation=world.participations["hoshi"], name="lab", state="ready",
            account=CloudAccount.objects.create(
                tenant=world.hoshi, account_id="123456789012", role_arn="arn:aws:iam::123456789012:role/x",
                external_id="x", regions=["ap-northeast-1"],
            ),
        )  # fmt: skip
        return world, Bucket.objects.create(tenant=world.hoshi, cluster=cluster, name="data-hoshi")
