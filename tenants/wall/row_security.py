"""Migration helpers: the scope function, row security on tables, and keys that stay within one tenant."""

from django.db.migrations import RunSQL

# The (select …) makes Postgres evaluate the scope once per statement; inline it is parsed again for every row.
MINE = "tenant_id = any ((select acting_tenants())::uuid[])"
STAFF = "(select current_setting('app.staff', true)) = 'on'"

SCOPE = RunSQL(
    """
    create function acting_tenants() returns uuid[] language plpgsql stable parallel safe as $$
    declare scope text := nullif(current_setting('app.tenants', true), '');
    begin
      if scope is null then raise exception 'no tenant scope: wrap this in acting_for()' using errcode = '42501'; end if;
      return scope::uuid[];
    end $$;
    """,
    "drop function acting_tenants()",
)

GRANTS = RunSQL(
    """
    grant usage on schema public to cohort, cohort_reader;
    alter default privileges for role cohort_owner grant select, insert, update, delete on tables to cohort;
    alter default privileges for role cohort_owner grant usage, select on sequences to cohort;
    alter default privileges for role cohort_owner grant select on tables to cohort_reader;
    grant select, insert, update, delete on all tables in schema public to cohort;
    grant usage, select on all sequences in schema public to cohort;
    grant select on all tables in schema public to cohort_reader;
    """,
    "",
)


def protect(table: str, *, audience: bool = False) -> RunSQL:
    """Hide every row of `table` whose tenant is not acted for; with `audience`, internal rows from non-staff too."""
    mine = f"{MINE} and (audience = 'shared' or {STAFF})" if audience else MINE
    return RunSQL(
        f"""
        alter table {table} enable row level security;
        create policy mine on {table} to cohort using ({mine}) with check ({mine});
        create policy everyone on {table} for select to cohort_reader using (true);
        """,
        f"""
        drop policy mine on {table};
        drop policy everyone on {table};
        alter table {table} disable row level security;
        """,
    )


def office(table: str) -> RunSQL:
    """Make `table` exist only for staff: what the programme's office keeps about everybody."""
    return RunSQL(
        f"""
        alter table {table} enable row level security;
        create policy office on {table} to cohort using ({STAFF}) with check ({STAFF});
        create policy everyone on {table} for select to cohort_reader using ({STAFF});
        """,
        f"""
        drop policy office on {table};
        drop policy everyone on {table};
        alter table {table} disable row level security;
        """,
    )


def shown(table: str, where: str) -> RunSQL:
    """Let everybody who acts for somebody read those rows of an office's `table` for which `where` holds; write none."""
    return RunSQL(
        f"create policy shown on {table} for select to cohort using ((select acting_tenants()) is not null and {where});",
        f"drop policy shown on {table};",
    )


def tie(table: str, column: str, target: str) -> RunSQL:
    """`table.column` may only name a row of `target` that belongs to the same tenant; row security does not see keys."""
    name = f"{table}_{column}_same_tenant"
    return RunSQL(
        f"""
        alter table {table} add constraint {name}
        foreign key (tenant_id, {column}) references {target} (tenant_id, id);
        """,
        f"alter table {table} drop constraint {name};",
    )


def append_only(table: str) -> RunSQL:
    """Take from the portal's role every right on `table` but to read and to add."""
    return RunSQL(
        f"revoke update, delete, truncate on {table} from cohort;",
        f"grant update, delete on {table} to cohort;",
    )
