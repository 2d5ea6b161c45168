import type { Migration } from '../migration.ts'

/** Where each backup lies, and how the targets answered. Adds columns to a small table, and a table of a few rows. */
export const backupTargets: Migration = {
  name: '0033-backup-targets',
  up: `
    alter table backup
      add column place text not null default 'folder',
      -- bytes of all that is in it; null where the file itself says so
      add column size bigint;
    create table backup_target (
      place text primary key,
      address text not null,
      -- whether it was marked as this installation's: from then on one without the mark is not there
      marked boolean not null,
      tried_at timestamptz not null,
      -- null until it worked once
      done_at timestamptz,
      -- why it did not the last time
      trouble text
    );
  `,
}
