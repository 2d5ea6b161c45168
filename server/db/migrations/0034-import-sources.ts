import type { Migration } from '../migration.ts'

/** Repositories of others, how their last synchronisation ended, and the keys they are trusted by. New tables. */
export const importSources: Migration = {
  name: '0034-import-sources',
  up: `
    create table import_source (
      id integer generated always as identity primary key,
      key text not null unique,
      label text not null,
      format text not null,
      kind text not null check (kind in ('http', 'tree')),
      urls text[] not null,
      suite text,
      components text[] not null default '{}',
      archs text[] not null default '{}',
      codenames text[] not null,
      security boolean not null default false,
      keys text[] not null default '{}',
      signed boolean not null default true,
      allow_expired boolean not null default false,
      newest integer,
      enabled boolean not null default true,
      builtin boolean not null default false,
      retired boolean not null default false,
      created_by text,
      created_at timestamptz not null default clock_timestamp()
    );
    -- what is remembered of a root; a row once it was tried
    create table import_root (
      source_id integer primary key references import_source on delete cascade,
      state text not null default 'never',
      -- a sentence with the way out, where the state is not ok
      said text,
      -- of the root whose packages the catalogue holds
      sha256 text,
      at timestamptz,
      revision bigint,
      valid_until timestamptz,
      origin text,
      codename text,
      signed_by text[] not null default '{}',
      packages integer not null default 0,
      added integer not null default 0,
      removed integer not null default 0,
      bytes bigint not null default 0,
      mirror text,
      tried_at timestamptz,
      -- the last time it was whole and trusted
      synced_at timestamptz,
      -- since when the root answers that it does not exist
      missing_since timestamptz,
      failures integer not null default 0,
      -- not asked again before, but by hand
      not_before timestamptz
    );
    create table import_key (
      -- the primary key's fingerprint in upper case; APK: the file name of the key
      name text primary key,
      kind text not null check (kind in ('openpgp', 'rsa')),
      label text not null,
      -- armoured, or PEM
      text text not null,
      expires_at timestamptz,
      builtin boolean not null default false,
      -- a key that came with the product and that an admin took out is not put back
      removed boolean not null default false,
      -- until then it is accepted although it has expired
      accepted_until timestamptz,
      added_by text,
      added_at timestamptz not null default clock_timestamp()
    );
  `,
}
