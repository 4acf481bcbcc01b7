-- The database roles. Run as a superuser in the portal's own database; running it again changes nothing.
do $$
declare role_name text;
begin
  foreach role_name in array array['cohort_owner', 'cohort_reader', 'cohort', 'cohort_migrator', 'cohort_backup'] loop
    if not exists (select from pg_roles where rolname = role_name) then
      execute format('create role %I', role_name);
    end if;
  end loop;
  execute format('alter database %I owner to cohort_owner', current_database());
end $$;

-- Owns every table. Row security does not bind it, so that data migrations and dumps see all rows; nobody signs in as it.
alter role cohort_owner nologin nosuperuser nobypassrls nocreaterole nocreatedb;

-- May read every tenant and write nothing.
alter role cohort_reader nologin nosuperuser nobypassrls nocreaterole nocreatedb;

-- Web and workers. NOINHERIT: with INHERIT the reader's policy would apply to every query, and the wall would be gone.
alter role cohort login noinherit nosuperuser nobypassrls nocreaterole nocreatedb;
alter role cohort set statement_timeout = '5s';
alter role cohort set lock_timeout = '2s';
alter role cohort set idle_in_transaction_session_timeout = '15s';
-- What is older than this can no longer be uncommitted: seals and frozen reviews rest on it.
alter role cohort set transaction_timeout = '60s';
grant cohort_reader to cohort with inherit false, set true;

-- Migrates in production, and does nothing else.
alter role cohort_migrator login noinherit nosuperuser nobypassrls nocreaterole nocreatedb;
grant cohort_owner to cohort_migrator with inherit false, set true;

-- Dumps: pg_dump --role=cohort_owner.
alter role cohort_backup login noinherit nosuperuser nobypassrls nocreaterole nocreatedb;
grant cohort_owner to cohort_backup with inherit false, set true;

alter schema public owner to cohort_owner;
revoke create on schema public from public;
grant usage on schema public to cohort, cohort_reader;
