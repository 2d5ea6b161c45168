import type { Migration } from '../migration.ts'

/** What is owed and what is live. New tables: no lock on anything that is used. */
export const publication: Migration = {
  name: '0003-publication',
  up: `
    -- one row per ask, so that transactions which owe the same thing never wait for one another
    create table outbox (
      id         bigint generated always as identity primary key,
      key        text collate "C" not null,
      not_before timestamptz not null,
      tries      int not null default 0,
      last_error text
    );
    create index outbox_key on outbox (key);
    -- names whose index entries are to be written again; '' means all of them
    create table publish_dirty (
      seq      bigint generated always as identity primary key,
      codename text collate "C" not null,
      name     text collate "C" not null
    );
    create index publish_dirty_codename on publish_dirty (codename, seq);
    create table generation (
      codename   text collate "C" not null,
      n          int not null,
      made_at    timestamptz not null,
      packages   int not null,
      bytes      bigint not null,
      primary key (codename, n)
    );
    create table audit_pending (
      id   bigint generated always as identity primary key,
      at   timestamptz not null default clock_timestamp(),
      fact jsonb not null
    );
    -- the newest line of the audit files and what the oldest one names as its predecessor: without it a cut tail would not show
    create table audit_head (
      one       boolean primary key default true check (one),
      hash      text not null,
      starts    text not null default repeat('0', 64)
    );
    -- distributions an admin has set up
    create table distribution (
      codename    text collate "C" primary key,
      description text not null default '',
      created_at  timestamptz not null default now()
    );`,
}
