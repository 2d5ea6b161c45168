import type { Migration } from '../migration.ts'

/** A new table: no lock on anything that is used. */
export const imageKeys: Migration = {
  name: '0058-image-keys',
  up: `
    -- public keys whose signatures of images count
    create table image_key (
      name        text collate "C" primary key,
      fingerprint text collate "C" not null unique,  -- SHA-256 of the SubjectPublicKeyInfo, lower-case hex
      public_key  text not null,                     -- PEM
      registries  text[],                            -- names of the registries that it counts in; null: all of them
      added_by    text not null,
      added_at    timestamptz not null
    );`,
}
