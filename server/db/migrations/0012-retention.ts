import type { Migration } from '../migration.ts'

/** New tables: no lock on anything that is used. */
export const retention: Migration = {
  name: '0012-retention',
  up: `
    -- how many versions of each name and architecture a distribution keeps; no row: all of them
    create table retention (
      codename text collate "C" primary key,
      keep     int not null check (keep >= 1)
    );
    -- versions that stay whatever the rule says
    create table pin (
      codename text collate "C" not null,
      name     text collate "C" not null,
      version  text collate "C" not null,
      reason   text not null,
      by       text not null,
      at       timestamptz not null,
      primary key (codename, name, version)
    );`,
}
