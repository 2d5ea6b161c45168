import { setTimeout as after } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Log } from '../lib/log.ts'
import type { Queryable } from './db.ts'

/** This process does not lead, or not any longer: what was begun must not be finished here. */
export class NotLeading extends Error {
  constructor() {
    super('another replica leads now and goes on with this')
    this.name = 'NotLeading'
  }
}

/** What follows when this process begins or ceases to lead. Calls never overlap. */
export interface Reactions {
  readonly gained: () => Promise<void>
  readonly lost: () => Promise<void>
}

/**
 * The right to do what one process of an installation does alone: the clock, the outbox, jobs, publications.
 */
export interface Leadership {
  /** False once it is known to be lost, or while nobody knows. */
  leads(): boolean
  /**
   * Whether it leads, once somebody knows: a process whose session ended on a busy machine leads again in a moment.
   * Waits 30 s at most, and not at all while another one is known to lead.
   */
  decided(): Promise<boolean>
  /** Counts up with every leader; part of the names of folders that are being built. */
  epoch(): number
  /**
   * For what a statement cannot guard, such as a rename: throws NotLeading also when this process has stood still for
   * so long that another may lead.
   */
  assert(): void
  /** The first statement of a transaction that only the leader may commit. @throws NotLeading */
  fence(tx: Queryable): Promise<void>
  /** Asks the database now. @throws NotLeading */
  check(): Promise<void>
  /** Begins to lead if nobody does, or waits for that in the background. @returns whether it leads */
  start(reactions: Reactions): Promise<boolean>
  stop(): Promise<void>
}

/** For an installation of one process, which its lock on REPOS_ROOT guards. */
export function createSoleLeadership(): Leadership {
  let leading = false
  return {
    leads: () => leading,
    decided: async () => leading,
    epoch: () => 0,
    assert: () => undefined,
    fence: () => Promise.resolve(),
    check: () => Promise.resolve(),
    start: async ({ gained }) => {
      leading = true
      await gained()
      return true
    },
    stop: async () => {
      leading = false
    },
  }
}

// two numbers that no other program is likely to lock; the first spells "gate"
const LOCK = [0x67617465, 1] as const
/** The server ends a session that is silent for so long, and with it its lock: a process that stands still. */
const SILENT_MS = 6_000
const PING_MS = 1_000
const RETRY_MS = 500
/** A process that has not asked for so long may have been replaced. */
const ASSERT_MS = SILENT_MS - 1_000
const DECIDED_MS = 30_000
const LOOK_MS = 50

/**
 * Sets what ends a session that no longer answers. Source: PostgreSQL, "Connections and Authentication" and "Client
 * Connection Defaults"; servers before 14 do not know all of it.
 */
const SESSION = [
  `set idle_session_timeout = ${SILENT_MS}`,
  'set idle_in_transaction_session_timeout = 5000',
  'set tcp_keepalives_idle = 2',
  'set tcp_keepalives_interval = 1',
  'set tcp_keepalives_count = 3',
  'set tcp_user_timeout = 5000',
  'set client_connection_check_interval = 2000',
]

export interface LeadershipDeps {
  /** A connection of its own, not connected yet. */
  readonly open: () => Client
  readonly db: Queryable
  /** The name of this process. */
  readonly instance: string
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
}

/**
 * The backend must stay the same from one transaction to the next: a pooler in transaction mode gives several clients
 * one session, and with it the same lock.
 * @throws Error
 */
async function refusePooler(open: () => Client, client: Client): Promise<void> {
  const pidOf = async (one: Client): Promise<unknown> =>
    (await one.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
  const before = await pidOf(client)
  const other = open()
  other.on('error', () => undefined)
  await other.connect()
  try {
    await other.query('begin') // takes the session that a pooler would have given back
    await pidOf(other)
    if ((await pidOf(client)) !== before)
      throw new Error(
        'The database is behind a pooler in transaction mode, where a lock belongs to nobody. Give DATABASE_URL the address of PostgreSQL itself, or a pooler in session mode.',
      )
    await other.query('rollback')
  } finally {
    await other.end().catch(() => undefined)
  }
}

/** For replicas on one database: a lock of a session of its own, and a number that every write of the leader checks. */
export function createLeadership({ open, db, instance, log }: LeadershipDeps): Leadership {
  let reactions: Reactions = { gained: async () => undefined, lost: async () => undefined }
  let client: Client | undefined
  let epoch = 0
  let leading = false
  let isAnothers = false // as of the last question; false while nobody knows
  let askedAt = -Infinity // performance.now() when the last question was sent that showed the lock to be held
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let reacting: Promise<void> = Promise.resolve()

  /** One reaction after the other. A leader that cannot begin its work gives the lead away, and tries again. */
  const react = (work: () => Promise<void>): Promise<void> => {
    const done = reacting.then(work)
    reacting = done.catch((error: unknown) => {
      if (stopped) return // in order: another replica does it
      log.error({ err: error }, 'the change of the leader was not followed')
      drop()
    })
    return done
  }

  function drop(): void {
    client?.end().catch(() => undefined)
    client = undefined
    isAnothers = false
    if (!leading) return
    leading = false
    log.warn({ instance, epoch }, 'this replica leads no longer')
    react(() => reactions.lost()).catch(() => undefined)
  }

  async function connect(): Promise<Client> {
    const fresh = open()
    fresh.on('error', () => {
      if (client === fresh) drop()
    })
    await fresh.connect()
    for (const line of SESSION)
      await fresh.query(line).catch((error: { code?: string }) => {
        // undefined_object: a setting of later releases; invalid_parameter_value: not on this platform
        if (error.code !== '42704' && error.code !== '22023') throw error
      })
    await refusePooler(open, fresh)
    return fresh
  }

  /** @returns what follows from leading, under way; undefined while another one leads */
  async function tryToLead(): Promise<{ readonly ready: Promise<void> } | undefined> {
    client ??= await connect()
    const asked = performance.now()
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1, $2) as held', [...LOCK])
    isAnothers = rows[0]?.held !== true
    if (isAnothers) return undefined
    const next = await db.first<{ epoch: number }>(
      'update leader set epoch = epoch + 1, holder = $1, since = now() returning epoch',
      [instance],
    )
    epoch = next?.epoch ?? 0
    askedAt = asked
    leading = true
    log.info({ instance, epoch }, 'this replica leads')
    const ready = react(() => reactions.gained())
    ready.catch(() => undefined)
    return { ready }
  }

  async function ping(): Promise<void> {
    const asked = performance.now()
    const answer = await client?.query(
      `select 1 from pg_locks where locktype = 'advisory' and classid = $1::oid and objid = $2::oid
        and pid = pg_backend_pid() and granted`,
      [...LOCK],
    )
    if (answer?.rowCount === 1) askedAt = asked
    else drop()
  }

  async function turn(): Promise<void> {
    try {
      if (leading) await ping()
      else await tryToLead()
    } catch (error) {
      if (!leading && client === undefined) log.warn({ err: error }, 'it is not known which replica leads')
      drop()
    }
    if (!stopped) timer = setTimeout(() => void turn(), leading ? PING_MS : RETRY_MS)
  }

  const isLate = (): boolean => performance.now() - askedAt > ASSERT_MS
  const leads = (): boolean => leading && !isLate()
  return {
    leads,
    decided: async () => {
      const end = performance.now() + DECIDED_MS
      while (!leads() && !isAnothers && !stopped && performance.now() < end) await after(LOOK_MS)
      return leads()
    },
    epoch: () => epoch,
    assert: () => {
      if (!leading || isLate()) throw new NotLeading()
    },
    fence: async tx => {
      // the next leader waits for this transaction: it must end although this process stands still
      await tx.query('set local idle_in_transaction_session_timeout = 5000')
      if ((await tx.query('select 1 from leader where epoch = $1 for share', [epoch])).length === 0 || !leading)
        throw new NotLeading()
    },
    check: async () => {
      const row = await db.first('select 1 from leader where epoch = $1', [epoch])
      if (row === undefined || !leading) throw new NotLeading()
    },
    start: async given => {
      reactions = given
      const lead = await tryToLead()
      timer = setTimeout(() => void turn(), lead === undefined ? RETRY_MS : PING_MS)
      await lead?.ready
      return lead !== undefined
    },
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      leading = false
      await reacting
      // the session ends, and with it the lock: another replica leads at once
      await client?.end().catch(() => undefined)
    },
  }
}
