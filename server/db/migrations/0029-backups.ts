import type { Migration } from '../migration.ts'

/** Which backups were made, and which were proved by restoring them. A new, small table. */
export const backups: Migration = {
  name: '0029-backups',
  up: `
    create table backup (
      file_name text primary key,
      created_at timestamptz not null,
      packages integer not null,
      files integer not null,
      encrypted boolean not null,
      made_by text not null,
      -- null until somebody has tried
      proved_at timestamptz,
      -- null after a success
      proof_failed text
    );
  `,
}
