import type { Migration } from '../migration.ts'

/** Long work, with its log; and when the jobs of the clock were last due. New tables. */
export const jobs: Migration = {
  name: '0026-jobs',
  up: `
    create table job (
      id text primary key check (id ~ '^[0-9a-f]{8}$'),
      kind text not null,
      target text not null,
      request jsonb not null,
      -- equal requests share an open job
      request_key text not null,
      state text not null check (state in ('queued', 'running', 'done', 'error', 'cancelled')),
      asked_by text not null,
      asked_at timestamptz not null default clock_timestamp(),
      request_id text,
      codenames text[] not null,
      started_at timestamptz,
      finished_at timestamptz,
      -- every run has its own number; what a run writes carries it
      epoch integer not null default 0,
      runner text,
      lease_until timestamptz,
      -- runs since the last step
      fruitless integer not null default 0,
      cursor jsonb,
      done bigint not null default 0,
      total bigint,
      bytes bigint not null default 0,
      total_bytes bigint,
      -- where this run began
      run_at timestamptz,
      run_done bigint not null default 0,
      run_bytes bigint not null default 0,
      moved_at timestamptz,
      told integer not null default 0,
      cancelled_by text,
      result jsonb,
      error jsonb
    );
    create unique index job_open on job (kind, target, request_key) where state in ('queued', 'running');
    create unique index job_on_target on job (kind, target) where state = 'running' and target <> '';
    create index job_waiting on job (asked_at, id) where state in ('queued', 'running');
    create index job_newest on job (asked_at desc, id);

    create table job_event (
      job_id text not null references job on delete cascade,
      n integer not null,
      at timestamptz not null default clock_timestamp(),
      level text not null,
      message text not null,
      data jsonb,
      primary key (job_id, n)
    );

    create table clock_job (
      id text primary key,
      -- cron line and time zone: when they change, nothing was missed
      rule text not null,
      -- the moment it was due, not when it ran
      due_at timestamptz not null,
      ran_at timestamptz,
      took_ms integer,
      -- null after a success
      error text
    );
  `,
}
