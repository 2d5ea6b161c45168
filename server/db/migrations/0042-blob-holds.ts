import type { Migration } from '../migration.ts'

/** Files that a replica is about to need. A new table, empty most of the time. */
export const blobHolds: Migration = {
  name: '0042-blob-holds',
  up: `
    create unlogged table blob_hold (
      token text not null,
      digest text not null,
      -- the process, as in replica
      holder text not null,
      held_at timestamptz not null default clock_timestamp(),
      primary key (token, digest)
    );
    create index blob_hold_digest on blob_hold (digest);
  `,
}
