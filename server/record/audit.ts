import { join } from 'node:path'
import type { Db, Tx } from '../db/db.ts'
import type { Viewer } from '../core/viewer.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Layout } from '../files/layout.ts'
import type { Clock } from '../lib/clock.ts'
import { failpoint } from '../lib/failpoint.ts'
import { currentRequest } from '../lib/request-scope.ts'
import { listVisible, type VisibleFile } from './audit-archive.ts'
import { appendAfter, finishClaims } from './audit-append.ts'
import type { ChainReport } from './audit-chain.ts'
import { cutAudit, type CutMade, type CutWish } from './audit-cut.ts'
import {
  AUDIT_LOCK,
  auditFiles,
  digestFile,
  lineHash,
  lineKey,
  loadTail,
  NO_LINE,
  type FileDigest,
  type Tail,
} from './audit-file.ts'
import type { AuditAction, AuditEntry, AuditFact, AuditFilter, AuditQuery, StoredEntry } from './audit-entry.ts'
import { readChain } from './audit-integrity.ts'
import { createAuditSearch } from './audit-search.ts'
import { createAuditTally, type DayTally } from './audit-tally.ts'
import { printFacts } from './audit-sentences.ts'

export { AUDIT_ACTIONS, AUDIT_RESULTS } from './audit-entry.ts'
export type {
  AuditAction,
  AuditEntry,
  AuditFact,
  AuditFilter,
  AuditQuery,
  AuditResult,
  StoredEntry,
} from './audit-entry.ts'

/**
 * The append-only log. Facts are written to the table `audit_pending` in the transaction they belong to, then become
 * lines.
 */
export interface Audit {
  /** Owes the line inside `tx`: no line without its change, no change without its line. */
  owe(tx: Tx, fact: AuditFact): Promise<void>
  /** As `owe`, several in their order. */
  oweAll(tx: Tx, facts: readonly AuditFact[]): Promise<void>
  /** For acts that change no row: logins, refusals. */
  record(fact: AuditFact): Promise<void>
  /** Appends everything owed, in order. The outbox calls it for the key `audit`. */
  deliver(): Promise<void>
  /** What the viewer may see, newest first. Streams the files and holds one page. */
  search(viewer: Viewer, query: AuditQuery): Promise<{ readonly items: readonly StoredEntry[]; readonly total: number }>
  /** The newest entries with one of these actions that the viewer may see, at most `limit`; stops reading there. */
  recent(viewer: Viewer, actions: readonly AuditAction[], limit: number): Promise<readonly AuditEntry[]>
  /** How many entries of each day since `from`, action and result the viewer may see. Reads only what is new. */
  tally(viewer: Viewer, from: string): Promise<readonly DayTally[]>
  /** The first day in UTC of which there are lines; undefined before the first one. */
  firstDay(): Promise<string | undefined>
  /** Everything the viewer may see, newest first, a block of a file at a time. */
  all(viewer: Viewer, filter: AuditFilter): AsyncGenerator<StoredEntry>
  /** The files with the lines that the viewer may see, oldest first. */
  files(viewer: Viewer): AsyncGenerator<VisibleFile>
  /**
   * Walks the whole chain: every changed, added or removed line shows, also a cut end. Reads every file. What retention
   * removed is on record and no fault.
   */
  integrity(): Promise<ChainReport>
  /** Removes old files. Reads every file that is there. @throws audit_not_whole */
  cut(wish: CutWish): Promise<CutMade>
  /** The digest, size and number of lines of every file. Reads every file. */
  digests(): Promise<readonly FileDigest[]>
}

export interface AuditDeps {
  readonly db: Db
  readonly layout: Pick<Layout, 'audit'>
  readonly clock: Clock
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
}

// one delivery has at most this many lines, so a crash between append and delete repeats no more than these
const BATCH = 500
// lines that are owed within this time are appended, and made durable, together; whoever reads the log waits for none
const COALESCE_MS = 100

interface PendingRow {
  readonly id: number
  readonly at: Date
  /** A row of a release that knew no facts has its sentence instead. */
  readonly fact: AuditFact | (Omit<AuditFact, 'facts'> & { readonly detail: string })
}
interface HeadRow {
  readonly hash: string
  readonly starts: string
}

const owed = (row: PendingRow): { id: string; timestamp: string } => ({
  id: String(row.id),
  timestamp: row.at.toISOString(),
})

/**
 * One line. The order of the keys is part of the format: `audit-search.ts` searches lines as bytes and relies on
 * `timestamp` being first and `prev` last.
 */
function renderLine(row: PendingRow, prev: string): string {
  const { action, result, user, package: name, version, distribution, ip, request_id } = row.fact
  const { id, timestamp } = owed(row)
  const said =
    'facts' in row.fact ? { detail: printFacts(row.fact.facts), facts: row.fact.facts } : { detail: row.fact.detail }
  const about = { package: name, version, distribution, ...said, ip, request_id }
  return JSON.stringify({ timestamp, id, action, result, user, ...about, prev })
}

/**
 * The rows that go into one file, in order. The file is the day of the first row in UTC, but never one before the
 * newest file: the chain runs through the files in the order of their names.
 */
export function nextFile(
  rows: readonly PendingRow[],
  newest: string | undefined,
): { readonly file: string; readonly rows: readonly PendingRow[] } {
  const fileOf = (row: PendingRow): string => {
    const own = `${row.at.toISOString().slice(0, 10)}.jsonl`
    return newest !== undefined && newest > own ? newest : own
  }
  const file = rows[0] === undefined ? '' : fileOf(rows[0])
  const other = rows.findIndex(row => fileOf(row) > file)
  return { file, rows: other < 0 ? rows : rows.slice(0, other) }
}

/** The audit log over `audit_pending` and the files under `audit/`. */
export function createAudit({ db, layout, clock, outbox }: AuditDeps): Audit {
  const folder = layout.audit
  const files = createAuditSearch(folder)
  const tally = createAuditTally(folder)
  let known: Tail | undefined // what we last wrote; undefined: read the files first
  let turn: Promise<unknown> = Promise.resolve()

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = turn.then(work)
    turn = mine.catch(() => undefined) // the caller of `work` gets the error, the next in turn does not
    return mine
  }

  async function oweAll(tx: Tx, facts: readonly AuditFact[]): Promise<void> {
    if (facts.length === 0) return
    await tx.repeat(
      'insert into audit_pending (at, fact) select $1, said.fact from unnest($2::jsonb[]) with ordinality as said (fact, n) order by said.n',
      [clock.now(), facts.map(fact => JSON.stringify({ ...fact, request_id: currentRequest() }))],
    )
    await outbox.owe(tx, 'audit', { delayMs: COALESCE_MS })
  }
  const owe = (tx: Tx, fact: AuditFact): Promise<void> => oweAll(tx, [fact])

  /** The end of the chain, with what another process began. */
  async function readTail(): Promise<Tail> {
    await finishClaims(folder)
    return loadTail(folder, BATCH)
  }

  /** Appends those of them that go into one file. @returns undefined where another process went on meanwhile */
  async function append(
    rows: readonly PendingRow[],
    tail: Tail,
  ): Promise<{ readonly tail: Tail; readonly rows: readonly PendingRow[] } | undefined> {
    const { file, rows: mine } = nextFile(rows, tail.file)
    let hash = tail.hash
    let text = ''
    for (const row of mine) {
      const line = renderLine(row, hash)
      hash = lineHash(line)
      text += `${line}\n`
    }
    failpoint('audit:before-append')
    if (!(await appendAfter(folder, tail, file, text))) return undefined
    failpoint('audit:after-append')
    const size = (file === tail.file ? tail.size : 0) + Buffer.byteLength(text)
    return { tail: { file, size, hash, recent: new Set(mine.map(row => lineKey(owed(row)))) }, rows: mine }
  }

  /** Moves one batch from the table to the files. @returns false when nothing was pending */
  async function deliverBatch(): Promise<boolean> {
    let trusted = known
    known = undefined // whatever goes wrong below, the files are read again
    const moved = await db.tx(async tx => {
      const ours = trusted
      trusted = undefined // if the transaction runs once more, its lines may be there already
      await tx.repeat('select pg_advisory_xact_lock($1)', [AUDIT_LOCK])
      const rows = await tx.repeat<PendingRow>('select id, at, fact from audit_pending order by id limit $1', [BATCH])
      const [head] = await tx.repeat<HeadRow>('select hash, starts from audit_head')
      // another instance wrote meanwhile, or this one crashed between append and delete
      let tail = ours !== undefined && ours.hash === head?.hash ? ours : await readTail()
      let done: PendingRow[]
      for (;;) {
        const { recent } = tail
        const missing = rows.filter(row => !recent.has(lineKey(owed(row))))
        done = rows.filter(row => !missing.includes(row))
        if (missing.length === 0) break
        const appended = await append(missing, tail)
        if (appended !== undefined) {
          tail = appended.tail
          done.push(...appended.rows)
          break
        }
        tail = await readTail()
      }
      if (tail.hash !== head?.hash && tail.hash !== NO_LINE) {
        await tx.repeat(
          'insert into audit_head (hash) values ($1) on conflict (one) do update set hash = excluded.hash',
          [tail.hash],
        )
      }
      if (done.length > 0)
        await tx.repeat('delete from audit_pending where id = any($1::bigint[])', [done.map(row => row.id)])
      return { tail, any: rows.length > 0 }
    })
    known = moved.tail
    return moved.any
  }

  async function deliver(): Promise<void> {
    await inTurn(async () => {
      while (await deliverBatch()) {
        /* until nothing is pending */
      }
    })
  }

  return {
    owe,
    oweAll,
    deliver,
    record: async fact => {
      await db.tx(tx => owe(tx, fact))
      outbox.nudge()
    },
    search: async (viewer, query) => {
      // lines owed a moment ago are found at once; when the disk refuses, the outbox reports it and readers see what is
      // there
      await deliver().catch(() => undefined)
      return files.search(viewer, query)
    },
    recent: async (viewer, actions, limit) => {
      await deliver().catch(() => undefined) // as above
      return files.recent(viewer, actions, limit)
    },
    tally: async (viewer, from) => {
      await deliver().catch(() => undefined) // as above
      return tally(viewer, from)
    },
    firstDay: async () => {
      await deliver().catch(() => undefined) // as above
      return (await auditFiles(folder))[0]?.slice(0, 10)
    },
    all: async function* (viewer, filter) {
      await deliver().catch(() => undefined) // as above
      yield* files.all(viewer, filter)
    },
    files: async function* (viewer) {
      await deliver().catch(() => undefined) // as above
      yield* listVisible(folder, viewer)
    },
    digests: async () => {
      const names = await auditFiles(folder)
      const all: FileDigest[] = []
      for (const name of names) {
        const one = await digestFile(join(folder, name))
        if (one !== undefined) all.push(one)
      }
      return all
    },
    integrity: async () => {
      const { ends: _, ...report } = await readChain({ db, folder })
      return report
    },
    cut: async wish => {
      const made = await cutAudit({ db, folder, clock, owe }, wish)
      outbox.nudge()
      return made
    },
  }
}
