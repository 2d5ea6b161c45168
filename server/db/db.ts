import { pipeline } from 'node:stream/promises'
import knex, { type Knex } from 'knex'
import type { PoolClient } from 'pg'
import pg from 'pg'
import copyStreams from 'pg-copy-streams'
import { asUnavailable } from './database-unavailable.ts'

// PostgreSQL's int8 (OID 20) arrives as text by default; every bigint here is a count, a size or a sequence below 2^53
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
const INT8_ARRAY = 1016 as never // the typings know scalar types only
const parseInt8Array = pg.types.getTypeParser(INT8_ARRAY) as (text: string) => (string | null)[]
pg.types.setTypeParser(INT8_ARRAY, (text: string) => parseInt8Array(text).map(Number))

/**
 * Runs one statement with `$1` parameters. Rows come back as PostgreSQL names them: `timestamptz` as Date, `int8` as
 * number.
 */
export interface Queryable {
  query<Row extends object = Record<string, unknown>>(sql: string, params?: readonly unknown[]): Promise<Row[]>
  /**
   * As `query`, for statements that come with every upload: each connection reads and plans them once. Write them so
   * that one plan is right for tables of every size, those without statistics too.
   */
  repeat<Row extends object = Record<string, unknown>>(sql: string, params?: readonly unknown[]): Promise<Row[]>
  /** The first row, or undefined. */
  first<Row extends object = Record<string, unknown>>(
    sql: string,
    params?: readonly unknown[],
  ): Promise<Row | undefined>
}

/** Runs one transaction: everything in it is kept, or nothing. */
export interface Tx extends Queryable {
  readonly inTransaction: true
  /**
   * Many rows at once. @param sql  `copy … from stdin`
   * @param rows  in PostgreSQL's text format of COPY
   * @returns how many there were
   */
  load(sql: string, rows: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<number>
}

export interface Db extends Queryable {
  /**
   * Commits when `work` returns, rolls back when it throws. Runs `work` once more after a serialization failure or
   * deadlock. @throws DatabaseGone
   */
  tx<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Only for migrations. */
  readonly knex: Knex
  close(): Promise<void>
}

/** A URL, or the folder of a unix socket. */
export type DatabaseAddress = { readonly url: string } | { readonly socket: string; readonly database: string }

// 40001 serialization_failure, 40P01 deadlock_detected (PostgreSQL, appendix A)
const RETRYABLE = new Set(['40001', '40P01'])
// the server ends a transaction that is silent for so long: others wait for the rows of a process that stands still
const SILENT_MS = 30_000

/** A statement; one with a name stays prepared in its connection. */
interface Statement {
  readonly text: string
  readonly name?: string
}

interface Named {
  readonly name: string
  runs: number
  /** The runs after which it is planned again. */
  next: number
  plans: number
}

const named = new Map<string, Named>()
const PLANNED_AGAIN = { after: 64, times: 8 } as const

/**
 * A name for a statement. The texts are those of this code, so there are few. PostgreSQL keeps the plan of a prepared
 * statement until the table is analyzed: one made for an empty table reads all of what has come since. So the name
 * changes after 64 runs, 512, 4,096 …: each new one is planned for the tables as they are then.
 */
function nameOf(text: string): string {
  const known = named.get(text) ?? { name: `gatehouse_${named.size}`, runs: 0, next: PLANNED_AGAIN.after, plans: 0 }
  named.set(text, known)
  if (known.runs++ >= known.next) {
    known.next *= PLANNED_AGAIN.times
    known.plans++
  }
  return `${known.name}_${known.plans}`
}

function queryable(run: (statement: Statement, params: readonly unknown[]) => Promise<unknown[]>): Queryable {
  return {
    query: async <Row extends object>(text: string, params: readonly unknown[] = []) =>
      (await run({ text }, params)) as Row[],
    repeat: async <Row extends object>(text: string, params: readonly unknown[] = []) =>
      (await run({ text, name: nameOf(text) }, params)) as Row[],
    first: async <Row extends object>(text: string, params: readonly unknown[] = []) =>
      (await run({ text }, params))[0] as Row | undefined,
  }
}

const gone = (error: unknown): never => {
  throw asUnavailable(error)
}

/** Runs one statement. Errors thrown between statements do not concern the database, whatever their code. */
const ask = async (client: PoolClient, statement: Statement, params: readonly unknown[] = []): Promise<unknown[]> =>
  (await client.query({ ...statement, values: [...params] }).catch(gone)).rows

async function load(client: PoolClient, sql: string, rows: Parameters<Tx['load']>[1]): Promise<number> {
  const into = client.query(copyStreams.from(sql))
  await pipeline(rows, into).catch(gone)
  return into.rowCount
}

async function once<T>(client: PoolClient, work: (tx: Tx) => Promise<T>): Promise<T> {
  await ask(client, { text: 'begin' })
  try {
    const result = await work({
      ...queryable((statement, params) => ask(client, statement, params)),
      inTransaction: true,
      load: (sql, rows) => load(client, sql, rows),
    })
    await ask(client, { text: 'commit' })
    return result
  } catch (error) {
    await client.query('rollback').catch(() => undefined) // the connection is lost; the first error says more
    throw error
  }
}

// knex prints the stack of a failed connection and also throws it; whoever catches it reports it once
const SILENT: Knex.Logger = {
  warn: () => undefined,
  error: () => undefined,
  deprecate: () => undefined,
  debug: () => undefined,
}

/**
 * A connection of its own beside the pool, not connected yet: for a session that holds a lock, or one that reads for
 * minutes.
 */
export function openClient(address: DatabaseAddress, { queryTimeoutMs = 3_000 } = {}): pg.Client {
  return new pg.Client({
    ...('url' in address
      ? { connectionString: address.url }
      : { host: address.socket, database: address.database, user: 'postgres' }),
    keepAlive: true,
    keepAliveInitialDelayMillis: 1_000,
    connectionTimeoutMillis: 5_000,
    ...(queryTimeoutMs === Infinity ? {} : { query_timeout: queryTimeoutMs }),
  })
}

/**
 * The only code that talks to PostgreSQL. knex has the pool and the migrations; statements are plain SQL.
 * @param options.silentMs  a transaction may be silent for so long between two statements
 */
export function createDb(
  address: DatabaseAddress,
  { poolSize = 12, silentMs = SILENT_MS }: { readonly poolSize?: number; readonly silentMs?: number } = {},
): Db {
  const connection =
    'url' in address
      ? { connectionString: address.url }
      : { host: address.socket, database: address.database, user: 'postgres' }
  const pool = knex({
    client: 'pg',
    connection,
    pool: {
      min: 0,
      max: poolSize,
      idleTimeoutMillis: 30_000,
      afterCreate: (client: PoolClient, done: (error?: Error) => void) => {
        client.query(`set idle_in_transaction_session_timeout = ${silentMs}`).then(() => done(), done)
      },
    },
    acquireConnectionTimeout: 30_000,
    log: SILENT,
  })

  async function withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = (await (pool.client as Knex.Client).acquireConnection().catch(gone)) as PoolClient
    try {
      return await work(client)
    } finally {
      await (pool.client as Knex.Client).releaseConnection(client)
    }
  }

  return {
    ...queryable((statement, params) => withClient(client => ask(client, statement, params))),
    tx: async work =>
      withClient(async client => {
        for (let attempt = 1; ; attempt++) {
          try {
            return await once(client, work)
          } catch (error) {
            if (attempt >= 3 || !RETRYABLE.has((error as { code?: string }).code ?? '')) throw error
          }
        }
      }),
    knex: pool,
    close: () => pool.destroy(),
  }
}
