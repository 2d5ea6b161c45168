import type { Migration } from '../migration.ts'

/**
 * Sources and debug symbols stand apart from what is installed. A column with a constant default: a lock of a moment,
 * no row is written. The index is empty at first; making it reads the table once, with writes held up. Packages from
 * before are installed ones, and stay where they are.
 */
export const packageKind: Migration = {
  name: '0018-package-kind',
  up: `
    alter table package add column kind text collate "C" not null default 'binary';  -- binary, source, debug
    create index package_apart on package (codename, name) where kind <> 'binary';`,
}
