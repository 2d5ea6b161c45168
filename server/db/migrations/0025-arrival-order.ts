import type { Migration } from '../migration.ts'

/**
 * Packages stand in indexes in the order of their rows, so a mark of change names the row, also of one that is gone.
 * Adds a column to a small table.
 */
export const arrivalOrder: Migration = {
  name: '0025-arrival-order',
  up: `
    -- null: everything is rendered again
    alter table publish_dirty add column package_id bigint;
  `,
}
