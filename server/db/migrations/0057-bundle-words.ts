import type { Migration } from '../migration.ts'

/** What became of the tags and marks of registries in a bundle. Locks the table for a moment: a default alone. */
export const bundleWords: Migration = {
  name: '0057-bundle-words',
  up: `alter table bundle_taken add column words jsonb not null default '[]'`,
}
