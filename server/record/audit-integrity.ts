import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from '../db/db.ts'
import { walkChain, type FileSoFar, type Head, type Walked } from './audit-chain.ts'
import { AUDIT_LOCK, auditFiles, lineKey } from './audit-file.ts'

export interface ChainPlace {
  readonly db: Db
  /** `audit/` below REPOS_ROOT. */
  readonly folder: string
}

interface Snapshot {
  readonly files: readonly FileSoFar[]
  readonly head: Head | undefined
  /** Names of files that retention removed and that are there again. */
  readonly back: readonly string[]
}

/** What belongs to the log at this moment; lines that are written later are not part of it. */
const look = ({ db, folder }: ChainPlace): Promise<Snapshot> =>
  db.tx(async tx => {
    await tx.query('select pg_advisory_xact_lock($1)', [AUDIT_LOCK])
    const cuts = await tx.first<{ going: string | null; gone: string | null; owed: boolean }>(
      `select max(last_file) filter (where done_at is null) as going, max(last_file) filter (where done_at is not null) as gone,
        exists (select 1 from audit_pending where fact->'facts'->>'kind' = 'audit.cut') as owed from audit_cut`,
    )
    const { going, gone, owed } = cuts ?? { going: null, gone: null, owed: false }
    const all = (await auditFiles(folder)).filter(file => going === null || file > going)
    const names = all.filter(file => gone === null || file > gone)
    const files = await Promise.all(
      names.map(async name => ({ path: join(folder, name), size: (await stat(join(folder, name))).size })),
    )
    const head = await tx.first<Head>('select hash, starts from audit_head')
    const pending = await tx.query<{ id: number; at: Date }>('select id, at from audit_pending order by id limit 1000')
    const keys = new Set(pending.map(row => lineKey({ id: String(row.id), timestamp: row.at.toISOString() })))
    return {
      files,
      head: head && { ...head, owesCut: owed, owed: keys },
      back: all.filter(file => !names.includes(file)),
    }
  })

const TRIES = 3
const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

/**
 * Walks the whole chain. Files that a run of retention is about to remove are not part of it: their removal is on
 * record. Files that were removed and are there again are named.
 */
export async function readChain(place: ChainPlace, signal?: AbortSignal): Promise<Walked> {
  for (let tries = 1; ; tries++) {
    const { files, head, back } = await look(place)
    try {
      const walked = await walkChain(files, head, signal)
      const why = 'retention removed this file, and it is there again; move it away'
      const broken = [...back.map(file => ({ file, line: 1, why })), ...walked.broken]
      return { ...walked, ok: broken.length === 0, broken }
    } catch (error) {
      // retention removed a file meanwhile
      if (!isGone(error) || tries === TRIES) throw error
    }
  }
}
