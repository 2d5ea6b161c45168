import type { Migration } from '../migration.ts'

/** What retention removed of the audit log, and what is known of the disk. New, small tables. */
export const operations: Migration = {
  name: '0032-operations',
  up: `
    -- a line of the log says the same; this tells a run that was cut short what is still to be removed
    create table audit_cut (
      id bigint generated always as identity primary key,
      at timestamptz not null,
      asked_by text not null,
      days integer not null,
      -- the newest file that goes, and the hash of its last line, which the oldest line that stays names
      last_file text not null,
      hash text not null,
      files integer not null,
      lines bigint not null,
      bytes bigint not null,
      -- null until the files are gone
      done_at timestamptz
    );

    -- one an hour, of the disk below REPOS_ROOT
    create table disk_sample (at timestamptz primary key, used_bytes bigint not null, free_bytes bigint not null);

    create table disk_state (
      one boolean primary key default true check (one),
      -- what people were told last
      level text not null default 'fine',
      given_back_at timestamptz,
      given_back_by text
    );
    insert into disk_state default values;
  `,
}
