import type { Migration } from '../migration.ts'

/** A new table, and columns with constant defaults: PostgreSQL writes no row for those. */
export const documents: Migration = {
  name: '0017-documents',
  up: `
    -- what the root of a tree says of itself to its clients
    alter table distribution
      add column not_automatic          boolean not null default false,
      add column but_automatic_upgrades boolean not null default false,
      add column valid_days             int     not null default 0 check (valid_days between 0 and 3650);
    -- metadata that come from outside with a package set and are served in the signed tree; component, arch and name
    -- are empty where the kind has none
    create table document (
      codename  text collate "C" not null,
      kind      text collate "C" not null,
      component text collate "C" not null,
      arch      text collate "C" not null,
      name      text collate "C" not null,
      sha256    text collate "C" not null,
      size      bigint not null,
      entries   int not null,
      by        text not null,
      at        timestamptz not null,
      primary key (codename, kind, component, arch, name)
    );`,
}
