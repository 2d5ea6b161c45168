import type { Migration } from '../migration.ts'

/** Packages that somebody looked at to decide on all of them together. A new table. */
export const reviewSelection: Migration = {
  name: '0040-review-selection',
  up: `
    create table review_selection (
      id text primary key,
      made_by text not null,
      made_at timestamptz not null,
      -- what the decision would be; the one that is sent must be the same
      decision text not null,
      -- one for each package: which it is, and its state as it was seen
      packages jsonb not null,
      -- until then the decision can be taken back; set once, by the decision
      begins_at timestamptz
    );
  `,
}
