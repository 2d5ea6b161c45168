import type { Migration } from '../migration.ts'

/** Fields of a source that comes with the product which an admin changed: they follow the product no more. */
export const importSourceOwn: Migration = {
  name: '0037-import-source-own',
  up: `alter table import_source add column own text[] not null default '{}'`,
}
