import type { Migration } from '../migration.ts'

/** New tables: no lock on anything that is used. */
export const access: Migration = {
  name: '0013-access',
  up: `
    -- who may see a distribution; no row, or three empty lists: everybody who is signed in
    create table distribution_access (
      codename text collate "C" primary key,
      private  boolean not null default false,  -- its published tree asks for a credential, too
      roles    text[] not null default '{}',
      users    text[] not null default '{}',
      groups   text[] not null default '{}'
    );
    create table access_group (
      name    text collate "C" primary key,
      members text[] not null
    );`,
}
