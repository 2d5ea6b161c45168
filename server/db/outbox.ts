import type { Debt, Debts, Deliver } from '../core/feature.ts'
import type { Db, Queryable } from './db.ts'
import { NotLeading } from './leadership.ts'
import { inRequest } from '../lib/request-scope.ts'

/**
 * Work that must still follow a committed decision. Asks with equal keys become one delivery. Keys: `manifest:<ref>`,
 * `blob:<sha256>`, `publish:<codename>`, `contents:<codename>`, `audit`.
 */
export interface Outbox {
  /** @returns the number of the ask, for `settled` */
  owe(tx: Queryable, key: string, options?: { readonly delayMs?: number }): Promise<number>
  /** As `owe`, several at once by their keys. @returns the numbers of the asks by key */
  oweAll(tx: Queryable, delayMsByKey: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>>
  /** Sets the function that delivers `<kind>` and `<kind>:<rest>`. Call it before `start`. */
  handle(kind: string, deliver: Deliver, options?: Omit<Debt, 'deliver'>): void
  /** Looks now instead of at the next tick. Call it after a commit that owed something. */
  nudge(): void
  /** Resolves true when this ask was delivered; false when its delivery failed (it stays owed) or after `timeoutMs`. */
  settled(key: string, ask: number, timeoutMs: number): Promise<boolean>
  /** Delivers everything that is owed, due or not, until nothing is left but failures. @throws NotLeading */
  drain(): Promise<void>
  start(): void
  /** Finishes the running deliveries, then stops. */
  stop(): Promise<void>
  /** Debts that failed at least once, for the health report. */
  stuck(): Promise<readonly { readonly key: string; readonly tries: number; readonly last_error: string }[]>
}

export interface OutboxDeps {
  readonly db: Db
  readonly onError: (key: string, error: unknown) => void
  /** How often to look without a nudge; 1,000 ms by default. */
  readonly tickMs?: number
  /** Whether this process is the one that delivers; by default it is. */
  readonly leads?: () => boolean
}

interface Owed {
  readonly key: string
  readonly ids: number[]
  readonly tries: number
  readonly due_in_ms: number
}
interface Waiter {
  readonly ask: number
  readonly tell: (delivered: boolean) => void
}

/** No debt to the service's own files is put off for longer; the longest that any is put off is 30 s. */
export const FILES_LONGEST_MS = 60_000

const LONGEST_BACKOFF_MS = 60_000
/** So many delivered asks are remembered for those who ask a moment later. */
const REMEMBERED = 10_000
const KEYS_AT_ONCE = 500
/** How often a process that does not deliver asks whether another one has. */
const ASK_MS = 200
/** While much is owed and delivered, so long between two looks: each finds more. A look after a rest does not wait. */
const LOOKS_APART_MS = 20

const kindOf = (key: string): string => key.split(':', 1)[0] ?? key
const restOf = (key: string): string => key.slice(kindOf(key).length + 1)

/** The keys that are due first, and the time until each is due; 0 or less means now. */
async function readOwed(db: Db): Promise<Owed[]> {
  return db.repeat<Owed>(`
    select key, array_agg(id) as ids, max(tries) as tries, extract(epoch from min(not_before) - clock_timestamp())::float8 * 1000 as due_in_ms
    from outbox group by key order by greatest(min(not_before), clock_timestamp()), min(id) limit ${KEYS_AT_ONCE}`)
}

/** The loop that delivers debts. One instance per database, in the leader. */
export function createOutbox({ db, onError, tickMs = 1_000, leads = () => true }: OutboxDeps): Outbox {
  const kinds = new Map<
    string,
    { deliver: Deliver; parallel: number; batch: number; longestMs: number; running: number }
  >()
  const inFlight = new Set<string>()
  const retryAt = new Map<string, number>() // by performance.now(): the time of day may be set back
  const waiters = new Map<string, Set<Waiter>>()
  const deliveries = new Set<Promise<void>>()
  // asks delivered while the debts are being read: the answer may still hold them
  const finished = new Set<number>()
  const delivered = new Set<number>()
  let readers = 0
  let timer: NodeJS.Timeout | undefined
  let soon: NodeJS.Timeout | undefined
  let next: NodeJS.Timeout | undefined
  let lookedAt = -Infinity // by performance.now()
  let looking: Promise<void> | undefined
  let lookAgain = false
  let stopped = true

  function tell(owed: Owed, isDelivered: boolean): void {
    const ids = new Set(owed.ids)
    for (const waiter of waiters.get(owed.key) ?? []) if (ids.has(waiter.ask)) waiter.tell(isDelivered)
  }

  function remember(ids: readonly number[]): void {
    if (readers > 0) for (const id of ids) finished.add(id)
    for (const id of ids) delivered.add(id)
    for (const id of delivered) {
      if (delivered.size <= REMEMBERED) break
      delivered.delete(id)
    }
  }

  /** What is owed by now under the same keys, with the asks that were read before. */
  async function joined(batch: readonly Owed[]): Promise<readonly Owed[]> {
    const rows = await db.repeat<{ id: number; key: string }>(
      'select id, key from outbox where key = any($1::text[])',
      [batch.map(({ key }) => key)],
    )
    return batch.map(owed => ({
      ...owed,
      ids: [...new Set([...owed.ids, ...rows.filter(({ key }) => key === owed.key).map(({ id }) => id)])],
    }))
  }

  async function deliverBatch(kind: { deliver: Deliver; running: number }, read: readonly Owed[]): Promise<void> {
    let batch = read
    kind.running++
    for (const { key } of batch) inFlight.add(key)
    try {
      await kind.deliver(
        batch.map(owed => restOf(owed.key)),
        async () => {
          batch = await joined(batch)
        },
      )
      if (!leads()) return await oweAgain(batch)
      // exactly the asks that were read: one that came during the delivery stays owed
      const ids = batch.flatMap(owed => owed.ids)
      await db.repeat('delete from outbox where id = any($1::bigint[])', [ids])
      remember(ids)
      for (const owed of batch) {
        retryAt.delete(owed.key)
        tell(owed, true)
      }
    } catch (error) {
      await failed(batch, error)
    } finally {
      kind.running--
      for (const { key } of batch) inFlight.delete(key)
    }
  }

  /**
   * Another process delivers now, and may have delivered these while this one stood still: what was written here is
   * older than what it wrote. So it writes them once more.
   */
  async function oweAgain(batch: readonly Owed[]): Promise<void> {
    await db.query(
      'insert into outbox (key, not_before) select key, clock_timestamp() from unnest($1::text[]) as o (key)',
      [batch.map(({ key }) => key)],
    )
  }

  async function failed(batch: readonly Owed[], error: unknown): Promise<void> {
    const said = error instanceof Error ? error.message : String(error)
    for (const owed of batch) {
      retryAt.set(owed.key, performance.now() + Math.min(LONGEST_BACKOFF_MS, 250 * 2 ** Math.min(owed.tries, 10)))
      onError(owed.key, error)
      tell(owed, false)
    }
    const ids = batch.flatMap(owed => owed.ids)
    await db
      .query('update outbox set tries = tries + 1, last_error = $2 where id = any($1)', [ids, said.slice(0, 500)])
      // the database does not answer: the rows stay as they are, and stay owed
      .catch((again: unknown) => onError('outbox', again))
  }

  function dispatch(rows: readonly Owed[], patient: boolean): void {
    const ready = rows.filter(
      ({ key }) => !inFlight.has(key) && (!patient || (retryAt.get(key) ?? 0) <= performance.now()),
    )
    for (const [name, kind] of kinds) {
      const mine = ready.filter(({ key }) => kindOf(key) === name)
      while (mine.length > 0 && kind.running < kind.parallel) {
        const delivery = deliverBatch(kind, mine.splice(0, kind.batch)).then(nudge)
        deliveries.add(delivery)
        void delivery.finally(() => deliveries.delete(delivery))
      }
    }
  }

  /** Reads the debts and hands them to `take` at once, without those delivered in the meantime. */
  async function withOwed<T>(take: (rows: readonly Owed[]) => T): Promise<T> {
    readers++
    try {
      const rows = await readOwed(db)
      return take(
        rows.map(row => ({ ...row, ids: row.ids.filter(id => !finished.has(id)) })).filter(({ ids }) => ids.length > 0),
      )
    } finally {
      readers--
      if (readers === 0) finished.clear()
    }
  }

  const isDue = ({ key, due_in_ms }: Owed): boolean =>
    due_in_ms <= 0 || due_in_ms > (kinds.get(kindOf(key))?.longestMs ?? Infinity)

  /** The tick finds what others wrote. What this process owed with a delay is looked at when it is due. */
  function lookWhenDue(dueInMs: readonly number[]): void {
    const soonest = Math.min(...dueInMs.filter(ms => ms > 0))
    if (soonest >= tickMs || stopped) return
    clearTimeout(soon)
    soon = setTimeout(lookNow, Math.ceil(soonest) + 1)
  }

  async function look(): Promise<void> {
    lookAgain = false
    try {
      await withOwed(rows => {
        if (leads()) dispatch(rows.filter(isDue), true)
        lookWhenDue(rows.map(row => row.due_in_ms))
      })
    } catch (error) {
      onError('outbox', error)
    }
    // in the same moment as the question whether to look again: a nudge in between would be lost until the next tick
    looking = undefined
    lookedAt = performance.now()
    if (lookAgain) nudge()
  }

  function lookNow(): void {
    if (stopped) return
    // whose request it was that owed something does not matter: others join in
    if (looking === undefined) looking = inRequest(undefined, look)
    else lookAgain = true
  }

  function nudge(): void {
    const wait = lookedAt + LOOKS_APART_MS - performance.now()
    if (wait <= 0 || looking !== undefined) return lookNow()
    if (stopped || next !== undefined) return
    next = setTimeout(() => {
      next = undefined
      lookNow()
    }, wait)
  }

  async function drain(): Promise<void> {
    const tried = new Map<string, number>()
    for (;;) {
      // each delivery would be owed again, and this loop would find it
      if (!leads()) throw new NotLeading()
      const isDone = await withOwed(rows => {
        const fresh = rows.filter(
          ({ key, ids }) => kinds.has(kindOf(key)) && !inFlight.has(key) && tried.get(key) !== Math.max(...ids),
        )
        for (const { key, ids } of fresh) tried.set(key, Math.max(...ids))
        dispatch(fresh, false)
        // no room now: its turn comes in the next round
        for (const { key } of fresh) if (!inFlight.has(key)) tried.delete(key)
        return fresh.length === 0 && deliveries.size === 0
      })
      if (isDone) return
      if (deliveries.size > 0) await Promise.race(deliveries)
    }
  }

  const oweAll: Outbox['oweAll'] = async (tx, delayMsByKey) => {
    const rows = await tx.repeat<{ id: number; key: string }>(
      `insert into outbox (key, not_before) select o.key, clock_timestamp() + o.delay * interval '1 millisecond'
      from unnest($1::text[], $2::float8[]) as o (key, delay) returning id, key`,
      [[...delayMsByKey.keys()], [...delayMsByKey.values()]],
    )
    return new Map(rows.map(({ key, id }) => [key, id]))
  }

  return {
    owe: async (tx, key, options = {}) => (await oweAll(tx, new Map([[key, options.delayMs ?? 0]]))).get(key) ?? 0,
    oweAll,
    handle: (kind, deliver, options = {}) => {
      kinds.set(kind, {
        deliver,
        parallel: options.parallel ?? 1,
        batch: options.batch ?? 1,
        longestMs: options.longestMs ?? Infinity,
        running: 0,
      })
    },
    nudge,
    settled: (key, ask, timeoutMs) =>
      new Promise((resolve, reject) => {
        // it may have been delivered between the commit and this call
        if (delivered.has(ask) || timeoutMs <= 0) return resolve(delivered.has(ask))
        const set = waiters.get(key) ?? new Set()
        waiters.set(key, set)
        const finish = (delivered: boolean): void => {
          clearTimeout(deadline)
          clearInterval(asking)
          set.delete(waiter)
          if (set.size === 0 && waiters.get(key) === set) waiters.delete(key)
          resolve(delivered)
        }
        const waiter: Waiter = { ask, tell: finish }
        // the database knows what was delivered before this process began
        const deadline = setTimeout(() => {
          db.first('select 1 from outbox where id = $1', [ask]).then(row => finish(row === undefined), reject)
        }, timeoutMs)
        set.add(waiter)
        // another process delivers, or did so before this one began to: the row tells
        let isOthers = !leads()
        const asking = setInterval(() => {
          isOthers ||= !leads()
          if (!isOthers) return
          db.first<{ tries: number }>('select tries from outbox where id = $1', [ask]).then(row => {
            if (row === undefined || row.tries > 0) finish(row === undefined)
          }, reject)
        }, ASK_MS)
      }),
    drain,
    start: () => {
      stopped = false
      timer = setInterval(nudge, tickMs)
      nudge()
    },
    stop: async () => {
      stopped = true
      clearInterval(timer)
      clearTimeout(soon)
      clearTimeout(next)
      await looking
      await Promise.all(deliveries)
    },
    stuck: () =>
      db.query(
        'select key, max(tries) as tries, max(last_error) as last_error from outbox where tries > 0 group by key order by key limit 100',
      ),
  }
}

/** Has the outbox deliver these from now on. */
export function handleDebts(outbox: Pick<Outbox, 'handle'>, debts: Debts = {}): void {
  for (const [kind, { deliver, ...options }] of Object.entries(debts)) outbox.handle(kind, deliver, options)
}
