import type { Queryable } from '../../db/db.ts'

/** Newest first, without what was asked for: the log of a job says what it does. */
export const recentJobs = (db: Queryable): Promise<object[]> =>
  db.query(`
    select id, kind, target, state, asked_by, asked_at, request_id, started_at, finished_at, epoch, fruitless, done, total,
      bytes, total_bytes, told, cancelled_by, error
    from job order by asked_at desc, id limit 200`)

/** The last lines of the logs of those jobs. */
export const recentJobLines = (db: Queryable): Promise<object[]> =>
  db.query(`
    select e.job_id, e.n, e.at, e.level, e.message, e.data
    from job_event e join (select id from job order by asked_at desc, id limit 200) as j on j.id = e.job_id
    order by e.at desc, e.job_id, e.n desc limit 2000`)

/** When the jobs of the clock were due and how they ended. */
export const clockJobs = (db: Queryable): Promise<object[]> =>
  db.query('select id, rule, due_at, ran_at, took_ms, error from clock_job order by id')

/** How many rows each table has by the planner's count, and the bytes of it with its indexes. */
export const tableSizes = (db: Queryable): Promise<object[]> =>
  db.query(`
    select relname as "table", reltuples::bigint as about_rows, pg_total_relation_size(oid)::bigint as bytes
    from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace order by bytes desc, relname`)

export const databaseFacts = (db: Queryable): Promise<object | undefined> =>
  db.first(`
    select current_setting('server_version') as version, pg_database_size(current_database())::bigint as bytes,
      pg_postmaster_start_time() as started_at,
      (select count(*)::int from pg_stat_activity where datname = current_database()) as connections`)
