import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from 'pg'
import { readAt } from '../lib/read-at.ts'
import { auditFiles } from '../record/audit-file.ts'
import { quoted } from './dump.ts'
import { hasTable } from './restore-database.ts'

/** What a restore does with the audit log: it goes on, or that of the backup comes, in the place of one or of none. */
export type AuditFate = 'kept' | 'taken' | 'replaced'

const CHUNK = 1 << 20

/** Whether the second file begins with all bytes of the first. */
async function isBeginning(path: string, of: string): Promise<boolean> {
  const [one, other] = await Promise.all([open(path, 'r'), open(of, 'r')])
  try {
    const { size } = await one.stat()
    if ((await other.stat()).size < size) return false
    for (let at = 0; at < size; at += CHUNK) {
      const length = Math.min(CHUNK, size - at)
      const [a, b] = await Promise.all([readAt(one, at, length), readAt(other, at, length)])
      if (!a.equals(b)) return false
    }
    return true
  } finally {
    await Promise.all([one.close(), other.close()])
  }
}

async function idOf(client: Client, schema: string): Promise<string | undefined> {
  if (!(await hasTable(client, schema, 'installation'))) return undefined
  return (await client.query<{ id: string }>(`select id from ${quoted(schema)}.installation`)).rows[0]?.id
}

/** Whether the log of here goes on from where the backup's ends: then it has every line of it, and those since. */
async function goesOn({ staged, root, client, fresh }: Logs): Promise<boolean> {
  const [here, there] = [join(root, 'audit'), join(staged, 'audit')]
  const [own, theirs] = await Promise.all([auditFiles(here), auditFiles(there)])
  const newest = theirs.at(-1)
  if (own.length === 0) return false
  // each line names the one before it: the newest file stands for all
  if (newest !== undefined && own.includes(newest)) return isBeginning(join(there, newest), join(here, newest))
  // the backup is of a time before the first line, or retention removed that file here
  const isOlder = newest === undefined || newest < (own[0] ?? '')
  const [mine, its] = [await idOf(client, 'public'), await idOf(client, fresh)]
  return isOlder && mine !== undefined && mine === its
}

interface Logs {
  readonly root: string
  /** Where the backup's files are. */
  readonly staged: string
  readonly client: Client
  /** The schema with its tables. */
  readonly fresh: string
}

/**
 * An audit log is evidence: what was written since the backup stays. Drops the backup's from what is staged where the
 * one of here has it. @returns what becomes of the log
 */
export async function settleAudit(logs: Logs): Promise<AuditFate> {
  if (await goesOn(logs)) {
    await rm(join(logs.staged, 'audit'), { recursive: true, force: true })
    return 'kept'
  }
  return (await auditFiles(join(logs.root, 'audit'))).length === 0 ? 'taken' : 'replaced'
}
