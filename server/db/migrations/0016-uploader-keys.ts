import type { Migration } from '../migration.ts'

/** A new table: no lock on anything that is used. */
export const uploaderKeys: Migration = {
  name: '0016-uploader-keys',
  up: `
    -- public keys of developers, by whose signature a .changes is taken and a .dsc is told to be theirs
    create table uploader_key (
      name          text collate "C" primary key,
      fingerprint   text collate "C" not null unique,  -- of the primary key, upper-case hex
      public_key    text not null,                     -- armoured
      distributions text[],                            -- codenames it may upload to; null: all of them
      added_by      text not null,
      added_at      timestamptz not null
    );`,
}
