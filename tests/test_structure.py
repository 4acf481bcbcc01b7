"""The rules of the house that no type checker sees: who writes states and history, which tables are walled, who knows whom."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection

from tenants.history.timeline import KINDS
from tenants.web.templatetags.show import FAMILIES

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("tenants", "clusters", "support", "program")

# Every table is one of three kinds; a new one is written down here, or the test below asks for it.
OFFICE = {
    "program_review",
    "tenants_dutyshift",
    "tenants_erasure",
    "program_launch",
    "program_launchwave",
    "program_session",
    "program_attendance",
    "program_call",
    "program_applicationversion",
    "program_applicationscore",
    "program_checkliststep",
    "support_article",
    "support_articleversion",
}
# Of these, everybody who acts for somebody may read the rows that this holds for.
SHOWN = {
    "program_call": "state::text <> 'draft'::text",
    "program_session": "announced_at IS NOT NULL",
    "support_article": "audience::text = 'shared'::text AND state::text = 'published'::text",
}
DIRECTORY = {
    "tenants_person",
    "tenants_apitoken",
    "tenants_tenant",
    "tenants_membership",
    "tenants_assignment",
    "tenants_programme",
    "tenants_cycle",
    "tenants_due",
    "tenants_lane",
    "clusters_templateverdict",
    "clusters_exchangerate",
    "clusters_pricelist",
}
FRAMEWORKS = ("django_", "auth_", "account_", "axes_", "mfa_", "socialaccount_")

SCOPE = "tenant_id = ANY ( SELECT acting_tenants() AS acting_tenants)::uuid[]"
STAFF = " SELECT current_setting('app.staff'::text, true) AS current_setting = 'on'::text"


def models():
    return [model for model in apps.get_models() if model._meta.app_label in LAYERS]


def tenant_tables() -> dict[str, type]:
    tables = {model._meta.db_table: model for model in models()}
    return {name: model for name, model in tables.items() if name not in OFFICE | DIRECTORY}


def rows(sql: str, *values: object) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def sources() -> Iterator[tuple[Path, ast.Module]]:
    """Our own code that runs; the sandbox plays a cloud with states of its own, migrations are history."""
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*.py")):
            if not {"migrations", "sandbox"} & set(path.relative_to(ROOT).parts):
                yield path.relative_to(ROOT), ast.parse(path.read_text())


@pytest.mark.django_db
def test_every_table_is_a_tenants_the_offices_or_the_directorys():
    existing = {name for (name,) in rows("select tablename from pg_tables where schemaname = 'public'")}
    known = set(tenant_tables()) | OFFICE | DIRECTORY
    unknown = {name for name in existing - known if not name.startswith(FRAMEWORKS)}
    assert not unknown, f"say in this file what these are: {unknown}"
    for model in tenant_tables().values():
        assert any(field.name == "tenant" for field in model._meta.concrete_fields), f"{model} belongs to no tenant"


@pytest.mark.django_db
def test_every_tenant_table_has_row_security_and_both_policies():
    secured = dict(
        rows(
            "select relname, relrowsecurity from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"
        )
    )
    for table, model in tenant_tables().items():
        assert secured[table], f"{table} has no row security: protect() belongs into its migration"
        found = {name: (roles, command, qual, check) for name, roles, command, qual, check in policies(table)}
        assert set(found) == {"mine", "everyone"}, f"{table}: {sorted(found)}"
        roles, command, qual, check = found["mine"]
        has_audience = any(field.name == "audience" for field in model._meta.concrete_fields)
        wanted = bare(f"{SCOPE} AND audience::text = 'shared'::text OR {STAFF}" if has_audience else SCOPE)
        assert (roles, command) == ("{cohort}", "ALL"), table
        # As text, because a policy without its (select …) answers the same, a thousand times slower.
        assert qual == wanted, f"{table}: {qual}"
        assert check == wanted, f"{table}: {check}"
        assert found["everyone"] == ("{cohort_reader}", "SELECT", "true", None), table


@pytest.mark.django_db
def test_the_offices_tables_exist_for_staff_only():
    for table in OFFICE & {model._meta.db_table for model in models()}:
        found = {name: (roles, command, qual, check) for name, roles, command, qual, check in policies(table)}
        wanted = {
            "office": ("{cohort}", "ALL", bare(STAFF), bare(STAFF)),
            "everyone": ("{cohort_reader}", "SELECT", bare(STAFF), None),
        }
        if table in SHOWN:
            # Who acts for nobody is told so by the function; it answers null to nobody.
            someone = " SELECT acting_tenants() AS acting_tenants) IS NOT NULL AND "
            wanted["shown"] = ("{cohort}", "SELECT", bare(someone + SHOWN[table]), None)
        assert found == wanted, table


def policies(table: str) -> list[tuple]:
    found = rows("select policyname, roles::text, cmd, qual, with_check from pg_policies where tablename = %s", table)
    return [(name, roles, command, bare(qual), bare(check)) for name, roles, command, qual, check in found]


def bare(policy: str | None) -> str | None:
    """Each version of the server puts its own parentheses and blanks."""
    return policy and re.sub(r"[()\s]", "", policy)


@pytest.mark.django_db
def test_every_key_between_tenant_tables_stays_within_one_tenant():
    tables = tenant_tables()
    keys = rows(
        """
        select src.relname, dst.relname,
               (select array_agg(attname::text order by k) from unnest(con.conkey) with ordinality as a(n, k)
                join pg_attribute on attrelid = src.oid and attnum = n),
               (select array_agg(attname::text order by k) from unnest(con.confkey) with ordinality as a(n, k)
                join pg_attribute on attrelid = dst.oid and attnum = n),
               con.condeferrable
        from pg_constraint con join pg_class src on src.oid = conrelid join pg_class dst on dst.oid = confrelid
        where contype = 'f'"""
    )
    composite = set()
    for source, target, columns, targets, deferrable in keys:
        if source in tables and target in tables and target != "tenants_entry":
            assert len(columns) == 2 and columns[0] == "tenant_id", (
                f"{source}.{columns} -> {target} is not tied to its tenant"
            )
            assert targets == ["tenant_id", "id"] and not deferrable, f"{source}.{columns} -> {target}.{targets}"
            composite.add((source, columns[1]))
    for table, model in tables.items():
        for field in model._meta.concrete_fields:
            wanted = field.is_relation and field.related_model._meta.db_table in tables and table != "tenants_entry"
            assert not wanted or (table, field.column) in composite, (
                f"{table}.{field.column} has no tie() in its migration"
            )


@pytest.mark.django_db
def test_the_reader_reads_and_nothing_else():
    every = [name for (name,) in rows("select tablename from pg_tables where schemaname = 'public'")]
    for table in every:
        granted = {
            right
            for right in ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")
            if rows("select has_table_privilege('cohort_reader', %s, %s)", table, right) == [(True,)]
        }
        assert granted <= {"SELECT"}, f"{table}: {granted}"


@pytest.mark.django_db
def test_the_history_can_be_read_and_added_to_by_the_portal_and_nothing_else():
    rights = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE")
    granted = [
        right
        for right in rights
        if rows("select has_table_privilege('cohort', 'tenants_entry', %s)", right) == [(True,)]
    ]
    assert granted == ["SELECT", "INSERT"]
    assert rows(
        "select count(*) from information_schema.column_privileges where grantee = 'cohort' and table_name = 'tenants_entry' and privilege_type = 'UPDATE'"
    ) == [(0,)]


@pytest.mark.django_db
def test_the_portals_role_inherits_nothing_and_bypasses_nothing():
    assert rows(
        "select current_user, rolsuper, rolbypassrls, rolinherit, rolcreaterole from pg_roles where rolname = session_user"
    ) == [("cohort", False, False, False, False)]
    inherited = rows(
        "select roleid::regrole::text from pg_auth_members where member = 'cohort'::regrole and inherit_option"
    )
    assert inherited == []


@pytest.mark.django_db
def test_nothing_goes_around_row_security():
    """Plain views and functions of the owner's would read every tenant's rows."""
    assert rows("select viewname from pg_views where schemaname = 'public'") == []
    definers = rows("select proname from pg_proc where prosecdef and pronamespace = 'public'::regnamespace")
    assert definers == []


STATE_WRITERS = {"tenants/history/moves.py"}


def test_only_move_writes_a_state():
    found = [
        f"{path}:{line} {what}"
        for path, tree in sources()
        if path.as_posix() not in STATE_WRITERS
        for line, what in state_writes(tree)
    ]
    assert not found, "a state changes through move() alone:\n" + "\n".join(found)


def stateful() -> set[str]:
    return {model.__name__ for model in models() if hasattr(model, "MOVES")}


def initial(model: type) -> str:
    return model._meta.get_field("state").default  # type: ignore[attr-defined]


def state_writes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    initials = {model.__name__: initial(model) for model in models() if hasattr(model, "MOVES")}
    values = set(_values(tree, set(initials)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                # `self.state` is an object's own affair as long as it is no row: rows are moved from outside.
                if (
                    isinstance(target, ast.Attribute)
                    and target.attr == "state"
                    and not _is_self(target.value)
                    and target not in values
                ):
                    yield node.lineno, ast.unparse(target)
        elif isinstance(node, ast.Call):
            yield from _call(node, initials)


def _values(tree: ast.Module, rows_of: set[str]) -> Iterator[ast.expr]:
    """Assignments to an argument that its function says to be something else than a row: a figure that is being counted."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            told = {
                each.arg: ast.unparse(each.annotation)
                for each in function.args.args + function.args.kwonlyargs
                if each.annotation
            }
            plain = {
                name for name, kind in told.items() if kind.isidentifier() and kind not in rows_of | {"Any", "object"}
            }
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in plain:
                    yield node


def _is_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id == "self"


def _call(node: ast.Call, initials: dict[str, str]) -> Iterator[tuple[int, str]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    sets_state = any(keyword.arg == "state" for keyword in node.keywords)
    if name in ("update", "aupdate") and sets_state:
        yield node.lineno, ast.unparse(node)[:80]
    if name in ("bulk_update", "abulk_update") and "'state'" in ast.unparse(node):
        yield node.lineno, ast.unparse(node)[:80]
    if name == "setattr" and len(node.args) > 1 and getattr(node.args[1], "value", "") == "state":
        yield node.lineno, ast.unparse(node)[:80]
    made = _made(node, name)
    if made in initials and sets_state:
        value = next(keyword.value for keyword in node.keywords if keyword.arg == "state")
        if getattr(value, "value", None) != initials[made]:
            yield node.lineno, f"{made} begins as {ast.unparse(value)[:40]}, not as {initials[made]}"


def _made(node: ast.Call, name: str) -> str:
    """The model that `Model(...)`, `Model.objects.create(...)` or `get_or_create` makes; empty for anything else."""
    if isinstance(node.func, ast.Name):
        return node.func.id
    if name in ("create", "get_or_create", "update_or_create", "acreate"):
        owner = node.func.value  # type: ignore[attr-defined]
        while isinstance(owner, ast.Attribute | ast.Call):
            owner = owner.value if isinstance(owner, ast.Attribute) else owner.func
        return getattr(owner, "id", "")
    return ""


@pytest.mark.parametrize(
    "code",
    [
        "cluster.state = 'ready'",
        "Cluster.objects.filter(pk=1).update(state='ready')",
        "Cluster.objects.bulk_update(rows, ['state'])",
        "setattr(job, 'state', 'failed')",
        "def f(cluster: Cluster):\n    cluster.state = 'ready'",
        "def f(thing: Any):\n    thing.state = 'ready'",
        "Cluster(state='ready')",
        "Cluster.objects.create(name='x', state='ready')",
    ],
)
def test_the_search_for_state_writes_finds_them(code):
    assert list(state_writes(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "Cluster(state='requested')",
        "rows.filter(state='ready')",
        "Option(state='x')",
        "def f(now: Now):\n    now.state = 'x'",
    ],
)
def test_the_search_for_state_writes_leaves_the_rest_alone(code):
    assert not list(state_writes(ast.parse(code)))


def test_only_the_timeline_writes_entries():
    found = [
        f"{path}:{node.lineno}"
        for path, tree in sources()
        if path.as_posix() != "tenants/history/timeline.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _writes_entries(node)
    ]
    assert not found, f"record() is the history's one writer: {found}"


def _writes_entries(node: ast.Call) -> bool:
    if isinstance(node.func, ast.Name) and node.func.id == "Entry":
        return True
    writes = isinstance(node.func, ast.Attribute) and node.func.attr in (
        "create",
        "bulk_create",
        "get_or_create",
        "update",
        "delete",
    )
    return writes and ast.unparse(node.func).startswith("Entry.objects")


def test_every_state_that_can_be_reached_has_its_sentence_and_its_look():
    for model in models():
        moves = getattr(model, "MOVES", None)
        if moves is None:
            continue
        for state in {state for reached in moves.values() for state in reached}:
            assert f"{model.SUBJECT}.{state}" in KINDS, f"{model.__name__} may become {state}, and nothing says so"
        for state in moves:
            assert state in FAMILIES, f"show.py has no words for {state}"


def test_sentences_of_states_name_only_what_is_told():
    for name, kind in KINDS.items():
        assert re.fullmatch(r"[a-z_]+\.[a-z_]+", name), name
        for placeholder in re.findall(r"\{(.*?)\}", str(kind.sentence)):
            assert placeholder.isidentifier(), f"{name}: {placeholder}"


CELERY = {"tenants/work/tasks.py", "program/celery.py", "program/beat.py", "program/__init__.py"}


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module


def test_celery_is_known_in_three_places_only():
    found = [
        f"{path}:{line}"
        for path, tree in sources()
        for line, name in imported(tree)
        if name.split(".")[0] in ("celery", "kombu") and path.as_posix() not in CELERY and "devstack" not in path.parts
    ]
    assert not found, found


def test_the_layers_import_in_one_direction():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_nothing_but_the_loop_catches_everything():
    found = []
    for path, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and path.as_posix() != "tenants/work/loop.py":
                names = ast.unparse(node.type) if node.type else "everything"
                if names in ("Exception", "BaseException", "everything"):
                    found.append(f"{path}:{node.lineno} catches {names}")
    assert not found, found


def test_nothing_of_a_request_becomes_a_name_in_a_query():
    """`filter(**request.GET)` and `order_by(request…)` would let anybody ask for any column."""
    risky = re.compile(
        r"\b(filter|exclude|order_by|annotate|get|values|update)\(\*{0,2}request\.(GET|POST|data|query_params)"
    )
    found = [str(path) for path, tree in sources() if risky.search(ast.unparse(tree))]
    assert not found, found


def test_no_serializer_or_form_takes_all_fields():
    found = [str(path) for path, tree in sources() if re.search(r"(fields|exclude) = '__all__'", ast.unparse(tree))]
    assert not found, found


def test_no_template_or_view_switches_escaping_off():
    risky = re.compile(r"\|\s*safe\b|\{%\s*autoescape off|mark_safe\(")
    templates = [path for path in (ROOT / "templates").rglob("*") if path.is_file()]
    found = [str(path.relative_to(ROOT)) for path in templates if risky.search(path.read_text())]
    found += [str(path) for path, tree in sources() if risky.search(ast.unparse(tree))]
    assert not found, found


def test_every_module_says_what_it_is_for():
    silent = [str(path) for path, tree in sources() if tree.body and not ast.get_docstring(tree)]
    assert not silent, silent
