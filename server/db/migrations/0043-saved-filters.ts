import type { Migration } from '../migration.ts'

/** Filters of lists that people keep under a name. A new table; they go with their account. */
export const savedFilters: Migration = {
  name: '0043-saved-filters',
  up: `
    create table saved_filter (
      id uuid primary key default gen_random_uuid(),
      username text not null references account on delete cascade,
      screen text not null,
      name text not null,
      -- of the console's address, without its page
      query jsonb not null,
      created_at timestamptz not null default now()
    );
    create unique index saved_filter_name on saved_filter (username, screen, lower(name));
  `,
}
