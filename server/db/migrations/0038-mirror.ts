import type { Migration } from '../migration.ts'

/** Mirrors of whole sources, and security updates of what is published here. New tables. */
export const mirror: Migration = {
  name: '0038-mirror',
  up: `
    -- what of a source is mirrored, and into what; no row: all of it, into every distribution that it is for
    create table mirror_rule (
      source_id integer primary key references import_source on delete cascade,
      -- patterns with * and ?; one that begins with ! leaves out
      names text[] not null default '{}',
      sections text[] not null default '{}',
      priorities text[] not null default '{}',
      -- so many versions of each name and architecture
      newest integer,
      -- only versions that a source of security updates lists, too
      security_only boolean not null default false,
      distributions text[] not null default '{}',
      set_by text not null,
      set_at timestamptz not null default clock_timestamp()
    );
    -- where the next run goes on: behind this name
    create table mirror_place (
      source_id integer not null references import_source on delete cascade,
      codename text not null,
      arch text not null,
      after text not null,
      primary key (source_id, codename, arch)
    );
    -- the newest of each source
    create table mirror_report (
      source_id integer primary key references import_source on delete cascade,
      job_id text not null,
      ended_at timestamptz not null,
      report jsonb not null
    );
    -- distributions that no mirror adds to
    create table mirror_freeze (
      codename text primary key,
      reason text not null,
      frozen_by text not null,
      frozen_at timestamptz not null default clock_timestamp()
    );
    create table security_report (
      job_id text primary key,
      ended_at timestamptz not null,
      report jsonb not null
    );
  `,
}
