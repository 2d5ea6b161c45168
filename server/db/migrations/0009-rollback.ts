import type { Migration } from '../migration.ts'

/** Adds nullable columns: an instant lock on `distribution`. */
export const rollback: Migration = {
  name: '0009-rollback',
  up: `
    -- a distribution that an admin rolled back: to which generation, which one was live then, and which marks were looked at since
    alter table distribution
      add column frozen_to   int,
      add column frozen_head int,
      add column frozen_seq  bigint;`,
}
