import type { Migration } from '../migration.ts'

/**
 * The orders of the list of packages, whole: a far page is found in the index alone, without the wide rows before it.
 * Locks writes to packages while it runs, under a second for 50,000 of them.
 */
export const packagePages: Migration = {
  name: '0046-package-pages',
  up: `
    create index package_by_name on package (name, sort_key desc, codename, arch, id) include (format, state);
    drop index package_name;
    create index package_by_change on package (changed_at desc, id desc) include (state);
    drop index package_changed;
  `,
}
