import type { Migration } from '../migration.ts'

/**
 * Sources and debug symbols stand apart from what is installed. A column with a constant default: a lock of a moment,
 * no row is written. Packages from before are installed ones, and stay where they are.
 */
export const packageKind: Migration = {
  name: '0018-package-kind',
  up: `
    alter table package add column kind text collate "C" not null default 'binary';  -- binary, source, debug`,
}
