import type { Migration } from '../migration.ts'

/** What was imported together, and how far each package of an import is. New tables. */
export const importGroups: Migration = {
  name: '0036-import-groups',
  up: `
    create table import_group (
      id integer generated always as identity primary key,
      name text not null unique,
      codename text not null,
      -- the packages that people asked for, as they wrote them
      asked text[] not null default '{}',
      created_by text not null,
      created_at timestamptz not null default clock_timestamp()
    );
    create table import_item (
      id bigint generated always as identity primary key,
      group_id integer not null references import_group on delete cascade,
      -- the job that imports it, and its place there: after what it needs
      job_id text not null,
      seq integer not null,
      source_id integer references import_source on delete set null,
      source_key text not null,
      format text not null,
      codename text not null,
      component text,
      name text not null,
      version text not null,
      arch text not null,
      path text not null,
      size bigint not null,
      digests jsonb not null,
      control_sha1 text,
      -- somebody asked for it by name
      is_root boolean not null,
      -- the places in this job of what it needs directly
      needs integer[] not null default '{}',
      -- why it must not be published by itself, known when it was planned: a need that nothing meets
      lacks text,
      state text not null default 'waiting',
      -- a sentence, where the state is not added or already
      why text,
      ended_at timestamptz,
      unique (job_id, seq)
    );
    create index import_item_group on import_item (group_id);
    create index import_item_package on import_item (format, codename, name, version, arch);
    create index import_item_source on import_item (source_id);
  `,
}
