import { createHash, randomBytes } from 'node:crypto'
import type { JobEnd, JobError, Order, Progress, Statements, Telling } from '../core/work.ts'
import type { Db } from '../db/db.ts'
import { currentRequest } from '../lib/request-scope.ts'

/** A run: its statements count only while the job still has this epoch. */
export interface Taken {
  readonly id: string
  readonly epoch: number
  readonly kind: string
  readonly request: unknown
  readonly asked_by: string
  readonly request_id: string | null
  readonly cursor: unknown
  /** Runs before this one that ended without a step. */
  readonly fruitless: number
}

export type RunOf = Pick<Taken, 'id' | 'epoch'>

/** A run has this long to renew its lease before another process may take the job over. */
export const LEASE_MS = 8_000

/** The same for requests whose fields come in another order. */
function keyOf(request: Order['request']): string {
  const sorted = Object.fromEntries(Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1)))
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex')
}

const linesOf = (say: readonly Telling[]): readonly unknown[] => [
  say.map(({ level }) => level),
  say.map(({ message }) => message),
  say.map(({ data }) => (data === undefined ? null : JSON.stringify(data))),
]

// adds the lines $3, $4, $5 to the log of the rows that `moved` names, numbered on from the last
const SAY = `insert into job_event (job_id, n, level, message, data)
  select moved.id, moved.told - cardinality($3::text[]) + l.n, l.level, l.message, l.data
  from moved, unnest($3::text[], $4::text[], $5::jsonb[]) with ordinality as l (level, message, data, n)`

/** The statements on the table of jobs. Each changes a job and its log together. */
export function createQueue(db: Db) {
  /** @returns false when the job is not this run's any longer: nothing was written */
  async function step(
    { id, epoch }: RunOf,
    { cursor, done, total, bytes, totalBytes, say = [] }: Progress<unknown>,
    within: Statements = db,
  ): Promise<boolean> {
    const rows = await within.query(
      `with moved as (
        update job set cursor = coalesce($6, cursor), done = coalesce($7, done), total = coalesce($8, total),
          bytes = coalesce($9, bytes), total_bytes = coalesce($10, total_bytes),
          told = told + cardinality($3::text[]), fruitless = 0, moved_at = clock_timestamp()
        where id = $1 and epoch = $2 and state = 'running' and cancelled_by is null returning id, told),
      said as (${SAY})
      select id from moved`,
      [
        id,
        epoch,
        ...linesOf(say),
        cursor === undefined ? null : JSON.stringify(cursor),
        done ?? null,
        total ?? null,
        bytes ?? null,
        totalBytes ?? null,
      ],
    )
    return rows.length > 0
  }

  return {
    step,

    /** The id of the new job, or of the open one that equals it. */
    async ask(order: Order): Promise<{ readonly id: string; readonly isNew: boolean }> {
      const { kind, target = '', request, by, requestId, codenames = [] } = order
      for (;;) {
        const id = randomBytes(4).toString('hex')
        const [made] = await db.query<{ id: string }>(
          `with moved as (
            insert into job (id, kind, target, request, request_key, state, asked_by, request_id, codenames, told)
            values ($1, $6, $7, $8, $9, 'queued', $10, $11, $12, $2) on conflict do nothing returning id, told),
          said as (${SAY})
          select id from moved`,
          [
            id,
            1,
            ...linesOf([{ level: 'info', message: `Asked for by ${by}.` }]),
            kind,
            target,
            JSON.stringify(request),
            keyOf(request),
            by,
            requestId ?? currentRequest() ?? null,
            codenames === 'all' ? ['*'] : codenames,
          ],
        )
        if (made !== undefined) return { id, isNew: true }
        const open = await db.first<{ id: string }>(
          `select id from job where kind = $1 and target = $2 and request_key = $3 and state in ('queued', 'running')`,
          [kind, target, keyOf(request)],
        )
        if (open !== undefined) return { id: open.id, isNew: false }
        // the equal one has ended in between, or the id was taken
      }
    },

    /** Takes the job that waits longest, or one whose run has died. @param kinds  those that have room */
    async take(kinds: readonly string[], own: readonly string[], runner: string): Promise<Taken | undefined> {
      try {
        return await db.first<Taken>(
          `update job set state = 'running', epoch = epoch + 1, runner = $3,
            lease_until = clock_timestamp() + $4 * interval '1 millisecond', fruitless = fruitless + 1,
            started_at = coalesce(started_at, clock_timestamp()), run_at = clock_timestamp(), run_done = done, run_bytes = bytes
          where id = (
            select id from job j where kind = any($1) and id <> all($2)
              and (state = 'queued' or state = 'running' and lease_until < clock_timestamp())
              and (target = '' or state = 'running' or not exists (
                select 1 from job o where o.kind = j.kind and o.target = j.target and o.state = 'running'))
            order by asked_at, id limit 1 for update skip locked)
          returning id, epoch, kind, request, asked_by, request_id, cursor, fruitless - 1 as fruitless`,
          [kinds, own, runner, LEASE_MS],
        )
      } catch (error) {
        // unique_violation: another process has just taken one with this target
        if ((error as { code?: string }).code === '23505') return undefined
        throw error
      }
    },

    /**
     * Renews the leases of these runs. @returns those that are still theirs, with the name of whoever cancelled them
     */
    renew: (runs: readonly RunOf[]): Promise<(RunOf & { readonly cancelled_by: string | null })[]> =>
      db.query(
        `update job set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
        from unnest($1::text[], $2::int[]) as r (id, epoch)
        where job.id = r.id and job.epoch = r.epoch and job.state = 'running'
        returning job.id, job.epoch, job.cancelled_by`,
        [runs.map(({ id }) => id), runs.map(({ epoch }) => epoch), LEASE_MS],
      ),

    /** Records how a run ended. @returns false when it was not its job any longer */
    async finish({ id, epoch }: RunOf, { state, result, error }: JobEnd, say: Telling): Promise<boolean> {
      const rows = await db.query(
        `with moved as (
          update job set state = $6, result = $7, error = $8, finished_at = clock_timestamp(),
            lease_until = null, told = told + 1
          where id = $1 and epoch = $2 and state = 'running' returning id, told),
        said as (${SAY})
        select id from moved`,
        [
          id,
          epoch,
          ...linesOf([say]),
          state,
          result === undefined ? null : JSON.stringify(result),
          error === undefined ? null : JSON.stringify(error),
        ],
      )
      return rows.length > 0
    },

    /** Gives a job back, to go on from its cursor: the service stops. */
    release: ({ id, epoch }: RunOf): Promise<unknown> =>
      db.query(
        `update job set state = 'queued', lease_until = null, fruitless = 0
        where id = $1 and epoch = $2 and state = 'running'`,
        [id, epoch],
      ),

    /** Lets every running job be taken over at once: their processes are known to be gone. */
    releaseAll: (): Promise<unknown> =>
      db.query(`update job set lease_until = clock_timestamp() where state = 'running'`),

    /**
     * Cancels an open job: a waiting one ends here, a running one is told.
     * @returns false when there is no open job of this id
     */
    async cancel(id: string, by: string): Promise<boolean> {
      const rows = await db.query(
        `with moved as (
          update job set cancelled_by = $2, told = told + 1,
            state = case state when 'queued' then 'cancelled' else state end,
            finished_at = case state when 'queued' then clock_timestamp() end
          where id = $1 and state in ('queued', 'running') and cancelled_by is null returning id, told),
        said as (${SAY})
        select id from moved`,
        [id, by, ...linesOf([{ level: 'warning', message: `Cancelled by ${by}.` }])],
      )
      return rows.length > 0
    },

    /** How the job ended; undefined while it is open, and for none at all. */
    async end(id: string): Promise<JobEnd | undefined> {
      const row = await db.first<{ state: JobEnd['state']; result: unknown; error: JobError | null }>(
        `select state, result, error from job where id = $1 and state in ('done', 'error', 'cancelled')`,
        [id],
      )
      return row && { state: row.state, result: row.result, error: row.error ?? undefined }
    },

    /** Removes jobs that ended more than so many days ago, with their logs. */
    prune: (days: number): Promise<unknown> =>
      db.query(`delete from job where finished_at < now() - $1 * interval '1 day'`, [days]),
  }
}

export type Queue = ReturnType<typeof createQueue>
