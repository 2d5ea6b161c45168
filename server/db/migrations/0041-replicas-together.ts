import type { Migration } from '../migration.ts'

/** What replicas know together besides the packages. New tables, small ones. */
export const replicasTogether: Migration = {
  name: '0041-replicas-together',
  up: `
    -- requests of a minute, counted here while no Redis answers; a crash may empty it
    create unlogged table rate_count (
      key text primary key,
      n integer not null,
      until timestamptz not null
    );
    -- what replicas tell one another while no Redis carries it; kept for a minute
    create unlogged table replica_message (
      id bigint generated always as identity primary key,
      sender text not null,
      topic text not null,
      body jsonb not null,
      sent_at timestamptz not null default clock_timestamp()
    );
  `,
}
