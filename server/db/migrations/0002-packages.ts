import type { Migration } from '../migration.ts'

/**
 * The index of the manifests, and one row per artifact name for lists. New tables: no lock on anything that is used.
 */
export const packages: Migration = {
  name: '0002-packages',
  up: `
    create extension if not exists pg_trgm;
    create table package (
      id           bigint generated always as identity primary key,
      format       text collate "C" not null,
      codename     text collate "C" not null,
      name         text collate "C" not null,
      version      text collate "C" not null,
      arch         text collate "C" not null,
      sort_key     text collate "C" not null,  -- Format.versionKey: its byte order is the version order
      sha256       text not null,
      size         bigint not null,
      summary      text not null,
      state        text not null check (state in ('published','pending_review','quarantined','rejected')),
      worst        text,
      findings     int not null default 0,
      warned       boolean not null default false,
      uploaded_by  text not null,
      origin       text not null,
      created_at   timestamptz not null,
      changed_at   timestamptz not null,
      manifest     jsonb not null,             -- the manifest without facts and files
      facts        jsonb not null,
      files        text not null,              -- one path a line
      unique (format, codename, name, version, arch)
    );
    create index package_served on package (codename, name, sort_key) where state = 'published';
    create index package_name on package (name, sort_key desc) include (format, codename, state);
    create index package_state on package (state, changed_at desc);
    create index package_blob on package (sha256);
    create index package_changed on package (changed_at desc);

    create table artifact (
      format      text collate "C" not null,
      name        text collate "C" not null,
      summary     text not null,
      versions    int not null,
      latest      text not null,
      updated_at  timestamptz not null,
      -- what a search looks at; LIKE over this in the "C" collation is four times faster than ILIKE over the two columns
      haystack    text collate "C" not null generated always as (lower((name || ' ' || summary) collate "default")) stored,
      primary key (name, format)
    );
    create index artifact_search on artifact using gin (haystack gin_trgm_ops);

    create table package_offer (
      package_id  bigint not null references package on delete cascade,
      -- what the package provides, its own name included; version null for an unversioned virtual package
      provides    text collate "C" not null,
      version     text
    );
    create index package_offer_name on package_offer (provides);
    create index package_offer_owner on package_offer (package_id);`,
}
