import type { Migration } from '../migration.ts'

/**
 * What registries keep beside versions: blobs that arrived before the manifest that names them, uploads that are under
 * way, and tags that wait for their version. Locks nothing but the new tables, and `package` for its index.
 */
export const registryBlobs: Migration = {
  name: '0047-registry-blobs',
  up: `
    create table registry_blob (
      codename   text collate "C" not null,
      name       text collate "C" not null,
      sha256     text not null,
      size       bigint not null,
      md5        text not null,
      sha1       text not null,
      sha512     text not null,
      added_at   timestamptz not null,
      primary key (codename, name, sha256)
    );
    create index registry_blob_bytes on registry_blob (sha256);
    create index registry_blob_age on registry_blob (added_at);

    create table registry_upload (
      id         text primary key,
      codename   text collate "C" not null,
      name       text collate "C" not null,
      started_by text not null,
      size       bigint not null,                 -- bytes of its file that count
      digests    jsonb,                           -- of these bytes, where they came in one piece
      touched_at timestamptz not null
    );

    create table registry_waiting_tag (
      codename   text collate "C" not null,
      name       text collate "C" not null,
      tag        text collate "C" not null,
      version    text collate "C" not null,       -- held when it was pushed; the tag moves when it is published
      set_by     text not null,
      set_at     timestamptz not null,
      primary key (codename, name, tag)
    );

    create index package_oci_subject on package ((facts->>'subject'), codename, name) where format = 'oci';
  `,
}
