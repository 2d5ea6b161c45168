import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../core/errors.ts'
import type { Db, Tx } from '../db/db.ts'
import { fsyncFolder } from '../lib/atomic.ts'
import type { Clock } from '../lib/clock.ts'
import { failpoint } from '../lib/failpoint.ts'
import type { AuditFact } from './audit-entry.ts'
import { AUDIT_LOCK, auditFiles, NO_LINE, sizeOf } from './audit-file.ts'
import { readChain } from './audit-integrity.ts'

/** What a run removed, and until which day. */
export interface CutMade {
  readonly files: number
  readonly lines: number
  readonly bytes: number
  readonly first_day: string | null
  readonly last_day: string | null
}

export interface CutWish {
  /** Files whose day is longer ago go. */
  readonly days: number
  readonly by: string
  readonly ip?: string | undefined
  /** Removes a part that was changed, too, and records how often. */
  readonly acceptsBroken: boolean
  readonly signal: AbortSignal
}

export interface CutDeps {
  readonly db: Db
  readonly folder: string
  readonly clock: Clock
  readonly owe: (tx: Tx, fact: AuditFact) => Promise<void>
}

const DAY_MS = 86_400_000
export const NOTHING_CUT: CutMade = { files: 0, lines: 0, bytes: 0, first_day: null, last_day: null }
const dayOf = (file: string): string => file.slice(0, 10)

const PENDING = 'select id, last_file from audit_cut where done_at is null order by id'

/** Removes the files of cuts that are recorded. */
async function finishCuts({ db, folder }: Pick<CutDeps, 'db' | 'folder'>): Promise<void> {
  const rows = await db.query<{ id: string; last_file: string }>(PENDING)
  for (const { id, last_file: last } of rows) {
    for (const file of await auditFiles(folder)) {
      if (file > last) break
      await rm(join(folder, file), { force: true })
      failpoint('audit:between-files')
    }
    await fsyncFolder(folder)
    failpoint('audit:before-cut-done')
    await db.query('update audit_cut set done_at = clock_timestamp() where id = $1', [id])
  }
}

/** What a run removes, and where the log begins then. */
interface Part extends CutMade {
  readonly from: string
  readonly to: string
  readonly hash: string
  readonly broken: number
}

/**
 * Records a cut and owes its line, in one transaction: from here on the log begins later.
 * @returns false when another process was faster
 */
async function record(
  { db, folder, clock, owe }: CutDeps,
  { days, by, ip }: CutWish,
  { from, to, hash, files, lines, bytes, broken }: Part,
): Promise<boolean> {
  const said = { days, files, lines, bytes, first_day: dayOf(from), last_day: dayOf(to), hash }
  const facts = { kind: 'audit.cut' as const, ...said, ...(broken === 0 ? {} : { broken }) }
  return db.tx(async tx => {
    await tx.query('select pg_advisory_xact_lock($1)', [AUDIT_LOCK])
    if (!(await auditFiles(folder)).includes(from) || (await tx.first(PENDING)) !== undefined) return false
    await tx.query(
      'insert into audit_cut (at, asked_by, days, last_file, hash, files, lines, bytes) values ($1, $2, $3, $4, $5, $6, $7, $8)',
      [clock.now(), by, days, to, hash, files, lines, bytes],
    )
    // a database that was made again has no row before the next line
    await tx.query(
      'insert into audit_head (hash, starts) values ($1, $2) on conflict (one) do update set starts = excluded.starts',
      [NO_LINE, hash],
    )
    await owe(tx, { action: 'RETENTION', result: 'SUCCESS', user: by, ...(ip === undefined ? {} : { ip }), facts })
    return true
  })
}

/**
 * Removes the daily files that are older than so many days, oldest first, but never the newest. The log begins later
 * then: a line of it, and the database, say behind which line and why. A run that is cut short is finished by the next;
 * until then the chain verifies without the files that go.
 * @throws audit_not_whole when the part that would go was changed: it is evidence
 */
export async function cutAudit(deps: CutDeps, wish: CutWish): Promise<CutMade> {
  const { folder, clock } = deps
  await finishCuts(deps)
  const limit = new Date(clock.now().getTime() - wish.days * DAY_MS).toISOString().slice(0, 10)
  const old = (await auditFiles(folder)).slice(0, -1).filter(file => dayOf(file) < limit)
  if (old.length === 0) return NOTHING_CUT
  const walked = await readChain(deps, wish.signal)
  const [place] = walked.broken
  if (place !== undefined && !wish.acceptsBroken) fail('audit_not_whole', { ...place })
  // others were removed before, by this process or another
  const files = old.filter(file => walked.ends.has(file))
  const [from = '', to = ''] = [files[0], files.at(-1)]
  const end = walked.ends.get(to)
  if (end === undefined) return NOTHING_CUT
  // they grow no more: only the newest file does
  const sizes = await Promise.all(files.map(async file => (await sizeOf(join(folder, file))) ?? 0))
  const made = {
    files: files.length,
    lines: end.lines,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    first_day: dayOf(from),
    last_day: dayOf(to),
  }
  failpoint('audit:before-cut')
  const broken = walked.broken.filter(({ file }) => file <= to).length
  const isOurs = await record(deps, wish, { ...made, from, to, hash: end.hash, broken })
  failpoint('audit:after-cut')
  await finishCuts(deps)
  return isOurs ? made : NOTHING_CUT
}
