import type { Migration } from '../migration.ts'

/** Bundles for sites without a network, on both sides. New tables. */
export const bundles: Migration = {
  name: '0039-bundles',
  up: `
    -- connected side: who gets bundles, and what their last receipt says
    create table bundle_site (
      id integer generated always as identity primary key,
      name text not null unique,
      label text not null,
      -- of the keys that sign its receipts
      fingerprints text[] not null default '{}',
      key text,
      last_number integer not null default 0,
      -- the last receipt: its list (gzip), when it was made and read, and the highest number that it names
      receipt bytea,
      receipt_at timestamptz,
      receipt_read_at timestamptz,
      receipt_number integer not null default 0,
      created_by text not null,
      created_at timestamptz not null default clock_timestamp()
    );
    create table bundle_made (
      id integer generated always as identity primary key,
      site_id integer not null references bundle_site on delete cascade,
      number integer not null,
      name text not null,
      codenames text[] not null,
      based_on jsonb not null,
      packages integer not null,
      data text[] not null default '{}',
      size bigint not null,
      -- of its list
      sha256 text not null,
      -- its list (gzip): what the next one may assume
      manifest bytea not null,
      -- what the site's receipt says of it
      receipt jsonb,
      made_by text not null,
      made_at timestamptz not null,
      -- the file was deleted here; the row stays, as the next one may build on it
      removed_at timestamptz,
      unique (site_id, number)
    );
    -- the other side: who may send, and what came
    create table bundle_sender (
      id integer generated always as identity primary key,
      name text not null unique,
      fingerprints text[] not null,
      key text,
      -- what this site is called there, and which installation that is; set by the first bundle
      site text,
      installation text,
      last_number integer not null default 0,
      added_by text not null,
      added_at timestamptz not null default clock_timestamp()
    );
    create table bundle_taken (
      id integer generated always as identity primary key,
      sender_id integer not null references bundle_sender on delete cascade,
      number integer not null,
      name text not null,
      sha256 text not null,
      codenames text[] not null,
      -- it makes good lost bundles up to covers_to, and from covers_from up to its own number
      covers_to integer not null,
      covers_from integer not null,
      state text not null check (state in ('running', 'done', 'failed')),
      -- a sentence, where it failed
      why text,
      packages integer not null,
      size bigint not null,
      counts jsonb not null default '{}',
      missing integer[] not null default '{}',
      not_published jsonb not null default '[]',
      data jsonb not null default '[]',
      created_at timestamptz not null,
      job_id text not null,
      taken_by text not null,
      started_at timestamptz not null default clock_timestamp(),
      ended_at timestamptz,
      unique (sender_id, sha256)
    );
    -- what each package of a running import came to: a run that goes on does none twice
    create table bundle_item (
      taken_id integer not null references bundle_taken on delete cascade,
      seq integer not null,
      outcome text not null,
      why text,
      primary key (taken_id, seq)
    );
    -- files that arrive in pieces
    create table bundle_upload (
      id text primary key,
      file_name text not null,
      size bigint not null,
      created_by text not null,
      created_at timestamptz not null default clock_timestamp()
    );
  `,
}
