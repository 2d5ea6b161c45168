import type { Migration } from '../migration.ts'

/**
 * Registries that read through to others: what the upstream said of each name, its versions, why clients do not get
 * some of them, and what a person lets through. And the names that hosted registries ever had, which nobody looks for
 * outside. Locks nothing but the new tables.
 */
export const remoteRegistries: Migration = {
  name: '0049-remote-registries',
  up: `
    create table remote_name (
      codename      text collate "C" not null,
      name          text collate "C" not null,
      is_missing    boolean not null,              -- the upstream has no such name
      validators    jsonb not null,                -- what a conditional request sends
      about         jsonb not null,                -- what the format keeps of the index beside versions
      revision      text not null,                 -- another one whenever versions or about change
      checked_at    timestamptz not null,          -- when the upstream last said so
      tried_at      timestamptz not null,          -- when it was asked last
      said          text,                          -- why that failed
      judged_for    text not null default '',      -- what the verdicts of its versions follow from
      primary key (codename, name)
    );

    create table remote_version (
      codename      text collate "C" not null,
      name          text collate "C" not null,
      version       text collate "C" not null,
      arch          text collate "C" not null,
      sort_key      text collate "C" not null,
      published_at  timestamptz,                   -- as the upstream says it
      seen_at       timestamptz not null,          -- when it was here for the first time
      file          jsonb,                         -- where its bytes are, and their digests
      facts         jsonb not null,                -- what the format shows of it
      full_document  text,                         -- its part of documents, prepared
      short_document text,
      is_listed     boolean not null,              -- false: the upstream lists it no more
      hidden        text,                          -- why clients do not get it; null: they do
      said          text,
      ripe_at       timestamptz,                   -- it is hidden until then for its age alone
      primary key (codename, name, version, arch)
    );
    create index remote_version_hidden on remote_version (codename, name) where hidden is not null;

    create table registry_waiver (
      codename      text collate "C" not null,
      name          text collate "C" not null,
      version       text collate "C" not null,
      reason        text not null,
      given_by      text not null,
      given_at      timestamptz not null,
      expires_at    timestamptz not null,
      primary key (codename, name, version)
    );

    create table registry_secret (
      codename      text collate "C" primary key,
      sealed        text not null                  -- what is sent to the upstream
    );

    create table registry_owned_name (
      codename      text collate "C" not null,
      name          text collate "C" not null,     -- kept when its last version is gone
      since         timestamptz not null,
      primary key (codename, name)
    );
    create index registry_owned_name_key on registry_owned_name (lower(name));
    insert into registry_owned_name (codename, name, since)
      select p.codename, p.name, min(p.created_at) from package p
      join distribution_definition d on d.codename = p.codename and d.definition->>'kind' = 'registry'
      group by p.codename, p.name;
  `,
}
