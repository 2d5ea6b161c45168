import type { Migration } from '../migration.ts'

/**
 * What an admin says of distributions: whole ones of their own, and changes to those of the default set. And what a
 * mark of change touches, so that a publication leaves the other indexes alone. Locks two small tables for a moment.
 */
export const distributions: Migration = {
  name: '0015-distributions',
  up: `
    create table distribution_definition (
      codename   text collate "C" primary key,
      definition jsonb       not null,  -- the fields of core/repository.ts that differ from the default set
      changed_by text        not null,
      changed_at timestamptz not null
    );

    -- null: whatever it is; component '': the first one of the distribution
    alter table publish_dirty add column arch text collate "C", add column component text collate "C";
  `,
}
