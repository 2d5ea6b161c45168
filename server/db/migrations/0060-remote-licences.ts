import type { Migration } from '../migration.ts'

/**
 * The licence of each version as the index of its upstream says it. Indexes are read anew when they are next asked for,
 * since those that were read before did not keep it. Locks both tables for as long as it writes all names
 * that were ever asked for.
 */
export const remoteLicences: Migration = {
  name: '0060-remote-licences',
  up: `
    alter table remote_version add column license text;  -- empty: it declares none; null: the index does not say it
    update remote_name set validators = '{}' where validators <> '{}';
  `,
}
