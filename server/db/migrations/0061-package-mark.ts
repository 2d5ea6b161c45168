import type { Migration } from '../migration.ts'

/**
 * Whether a version is yanked or deprecated, where lists read it. Locks packages for as long as it reads the facts of
 * all that are of npm and PyPI.
 */
export const packageMark: Migration = {
  name: '0061-package-mark',
  up: `
    alter table package add column mark jsonb;  -- {kind, reason}; null: nobody says to leave it
    update package set mark = jsonb_build_object('kind', 'deprecated', 'reason', facts -> 'deprecated')
      where format = 'npm' and facts -> 'deprecated' is not null;
    update package set mark = jsonb_build_object('kind', 'yanked', 'reason', facts -> 'yanked' -> 'reason')
      where format = 'pypi' and facts -> 'yanked' is not null;
  `,
}
