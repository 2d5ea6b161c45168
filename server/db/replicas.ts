import type { Queryable } from './db.ts'

/** A process of this installation. Times are ISO 8601, by the database's clock. */
export interface Replica {
  readonly id: string
  readonly host: string
  readonly version: string
  readonly started_at: string
  readonly seen_at: string
  /** Seen within the last ten seconds. */
  readonly alive: boolean
}

/** The processes of this installation, as the database knows them. */
export interface Replicas {
  list(): Promise<readonly Replica[]>
  /** How many others were alive at the last beat of this one. */
  others(): number
  start(): Promise<void>
  stop(): Promise<void>
}

const BEAT_MS = 2_000
const ALIVE_SECONDS = 10

/** Says every two seconds that this process is there. */
export function createReplicas(
  db: Queryable,
  self: Pick<Replica, 'id' | 'host' | 'version'>,
  onError: (error: unknown) => void,
): Replicas {
  let timer: NodeJS.Timeout | undefined
  let beating: Promise<unknown> = Promise.resolve()
  let others = 0
  const beat = async (): Promise<void> => {
    const [row] = await db.query<{ n: number }>(
      `with beaten as (
        insert into replica (id, host, version) values ($1, $2, $3)
        on conflict (id) do update set seen_at = clock_timestamp())
      select count(*)::int as n from replica
      where id <> $1 and seen_at > clock_timestamp() - interval '${ALIVE_SECONDS} seconds'`,
      [self.id, self.host, self.version],
    )
    others = row?.n ?? 0
  }
  return {
    others: () => others,
    list: async () =>
      (
        await db.query<Omit<Replica, 'started_at' | 'seen_at'> & { started_at: Date; seen_at: Date }>(
          `select id, host, version, started_at, seen_at,
            seen_at > clock_timestamp() - interval '${ALIVE_SECONDS} seconds' as alive
          from replica order by started_at, id`,
        )
      ).map(row => ({ ...row, started_at: row.started_at.toISOString(), seen_at: row.seen_at.toISOString() })),
    start: async () => {
      await db.query(`delete from replica where seen_at < clock_timestamp() - interval '1 day'`)
      await beat()
      timer = setInterval(() => {
        beating = beat().catch(onError)
      }, BEAT_MS)
    },
    stop: async () => {
      clearInterval(timer)
      await beating
      await db.query('delete from replica where id = $1', [self.id]).catch(onError)
    },
  }
}
