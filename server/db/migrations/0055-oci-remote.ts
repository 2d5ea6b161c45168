import type { Migration } from '../migration.ts'

/**
 * What the upstreams of registries for images said of their tags, and the lists that they gave. Locks nothing but the
 * new tables.
 */
export const ociRemote: Migration = {
  name: '0055-oci-remote',
  up: `
    create table oci_remote_tag (
      codename   text collate "C" not null,
      name       text collate "C" not null,
      tag        text collate "C" not null,
      digest     text,                              -- what it names at the upstream; null: it is there no more
      served     jsonb not null default '[]',       -- digests that clients got by it, the last one first
      checked_at timestamptz not null,              -- when the upstream last said so
      tried_at   timestamptz not null,              -- when it was asked last
      said       text,                              -- why that failed
      primary key (codename, name, tag)
    );

    create table oci_remote_list (
      codename   text collate "C" not null,
      name       text collate "C" not null,
      list       text collate "C" not null,         -- tags, or the digest of a manifest: what is about it
      items      jsonb not null,                    -- tags, or descriptors
      checked_at timestamptz not null,
      tried_at   timestamptz not null,
      said       text,
      primary key (codename, name, list)
    );
  `,
}
