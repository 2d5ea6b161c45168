import type { Shared } from '../lib/replica-memory.ts'
import type { Changes } from './changes.ts'
import type { Db } from './db.ts'
import type { Replicas } from './replicas.ts'

export interface RelayDeps {
  readonly db: Db
  readonly changes: Pick<Changes, 'tell' | 'on'>
  readonly shared: Pick<Shared, 'client' | 'tell' | 'hear'>
  readonly replicas: Pick<Replicas, 'others'>
  /** The name of this process. */
  readonly instance: string
  readonly onError: (error: unknown) => void
}

interface Message {
  readonly topic: string
  readonly body: unknown
}

const GATHER_MS = 100
/** Numbers are given before they are committed: so far back others are looked for. */
const BACK = 500

/** Messages between replicas: by Redis, and by way of the database where none answers, a second later. */
export async function createRelay({
  db,
  changes,
  shared,
  replicas,
  instance,
  onError,
}: RelayDeps): Promise<Pick<Shared, 'tell' | 'hear'>> {
  const listeners = new Map<string, ((message: unknown) => void)[]>()
  const row = await db.first<{ n: number }>('select coalesce(max(id), 0)::float8 as n from replica_message')
  let last = row?.n ?? 0
  // what was there before this process is not for it
  let seen = new Set(
    (await db.query<{ id: number }>('select id::float8 as id from replica_message where id > $1', [last - BACK])).map(
      ({ id }) => id,
    ),
  )
  let waiting: Message[] = []

  async function send(): Promise<void> {
    const sent = waiting
    waiting = []
    await db.query(`delete from replica_message where sent_at < clock_timestamp() - interval '1 minute'`)
    await db.query(
      `insert into replica_message (sender, topic, body) select $1, topic, body from unnest($2::text[], $3::jsonb[]) as m (topic, body)`,
      [instance, sent.map(({ topic }) => topic), sent.map(({ body }) => JSON.stringify(body))],
    )
    await changes.tell('messages')
  }

  changes.on('messages', async () => {
    const rows = await db.query<Message & { id: number; sender: string }>(
      `select id::float8 as id, sender, topic, body from replica_message where id > $1 order by id`,
      [last - BACK],
    )
    for (const { id, sender, topic, body } of rows)
      if (!seen.has(id) && sender !== instance) for (const listen of listeners.get(topic) ?? []) listen(body)
    last = Math.max(last, ...rows.map(({ id }) => id))
    seen = new Set(rows.map(({ id }) => id))
  })

  return {
    tell: (topic, message) => {
      if (shared.client() !== undefined) return shared.tell(topic, message)
      if (replicas.others() === 0) return
      waiting.push({ topic, body: message })
      if (waiting.length === 1) setTimeout(() => void send().catch(onError), GATHER_MS).unref()
    },
    hear: (topic, listener) => {
      listeners.set(topic, [...(listeners.get(topic) ?? []), listener])
      shared.hear(topic, listener)
    },
  }
}
