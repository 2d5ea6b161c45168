import type { Queryable } from './db.ts'

/** What every process keeps in memory, and reads again when another one has changed it. */
export type Topic = 'settings' | 'keys' | 'distributions' | 'messages'

/** Tells the processes of one installation that something changed. */
export interface Changes {
  /** Says that this process has changed it. */
  tell(topic: Topic): Promise<void>
  /** Called when another process has changed it, a second later at most. */
  on(topic: Topic, read: () => Promise<void>): void
  /** Looks at once: what is done next must know the newest. */
  look(): Promise<void>
  start(): void
  stop(): Promise<void>
}

/** For an installation of one process: nobody else changes anything. */
export const NO_CHANGES: Changes = {
  tell: () => Promise.resolve(),
  on: () => undefined,
  look: () => Promise.resolve(),
  start: () => undefined,
  stop: () => Promise.resolve(),
}

const LOOK_MS = 1_000

/** Counts in the database; every process looks at them once a second, and when it must know. */
export function createChanges(db: Queryable, onError: (error: unknown) => void): Changes {
  const readers = new Map<Topic, (() => Promise<void>)[]>()
  const seen = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined
  let stopped = false

  async function lookNow(isFirst: boolean): Promise<void> {
    const rows = await db.query<{ topic: Topic; n: number }>('select topic, n from changed')
    for (const { topic, n } of rows) {
      if (seen.get(topic) === n) continue
      if (!isFirst) for (const read of readers.get(topic) ?? []) await read()
      seen.set(topic, n)
    }
  }

  /** A second call while one is under way waits for a look that begins after it. */
  async function look(): Promise<void> {
    await looking?.catch(() => undefined)
    looking ??= lookNow(false).finally(() => {
      looking = undefined
    })
    await looking
  }

  async function turn(): Promise<void> {
    await look().catch(onError)
    if (!stopped) timer = setTimeout(() => void turn(), LOOK_MS)
  }

  return {
    tell: async topic => {
      const [row] = await db.query<{ n: number }>(
        `insert into changed (topic, n) values ($1, 1)
        on conflict (topic) do update set n = changed.n + 1 returning n`,
        [topic],
      )
      // this process knows it already, unless another one was quicker
      if (row !== undefined && (seen.get(topic) ?? 0) === row.n - 1) seen.set(topic, row.n)
    },
    on: (topic, read) => {
      readers.set(topic, [...(readers.get(topic) ?? []), read])
    },
    look,
    start: () => {
      looking = lookNow(true).finally(() => {
        looking = undefined
      })
      looking.catch(onError)
      timer = setTimeout(() => void turn(), LOOK_MS)
    },
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await looking?.catch(() => undefined)
    },
  }
}
