import type { Codename } from '../../core/identity.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Db } from '../../db/db.ts'
import type { HoldDistribution } from '../../db/distribution-lock.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { DocumentFiles, StoredDocument } from '../../files/documents.ts'
import type { KeyedLock } from '../../lib/keyed-lock.ts'
import type { Log } from '../../lib/log.ts'
import { readDocuments } from '../../publish/documents.ts'
import { listOwed, saveDocument } from './store.ts'

export interface RestoreDeps {
  readonly db: Db
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly files: DocumentFiles
  readonly hold: HoldDistribution
  readonly repositories: Pick<Repositories, 'find'>
  readonly lock: KeyedLock
  readonly log: Log
}

const keyOf = ({ kind, component, arch, name }: StoredDocument): string => [kind, component, arch, name].join('\n')

/**
 * Makes rows of the files that the database does not know, and removes what a stopped upload left. The caller holds the
 * lock, so that nothing is being written. @returns how many rows
 */
async function settleOne({ db, outbox, files, hold, log }: RestoreDeps, codename: Codename): Promise<number> {
  const filed: StoredDocument[] = []
  const bytes = new Set<string>()
  const unfinished: string[] = []
  for await (const found of files.walk(codename)) {
    if ('document' in found) filed.push(found.document)
    if ('sha256' in found) bytes.add(found.sha256)
    if ('unfinished' in found) unfinished.push(found.unfinished)
  }
  for (const name of unfinished) await files.discard(codename, name)
  const rows = await readDocuments(db, codename)
  // read after the rows: a removed document is a debt until its file is removed
  if ((await listOwed(db)).includes(codename)) return 0
  const known = new Set(rows.map(keyOf))
  const lost = filed.filter(one => !known.has(keyOf(one)))
  const whole = lost.filter(({ sha256 }) => bytes.has(sha256))
  for (const { kind } of lost.filter(({ sha256 }) => !bytes.has(sha256)))
    log.error({ codename, kind }, 'a document on disk has lost its bytes; put it again')
  if (whole.length > 0)
    await db.tx(async tx => {
      await hold(tx, codename)
      for (const one of whole) await saveDocument(tx, one)
      await outbox.owe(tx, `contents:${codename}`)
    })
  const named = new Set([...filed, ...rows].map(({ sha256 }) => sha256))
  for (const sha256 of bytes) if (!named.has(sha256)) await files.discard(codename, sha256)
  return whole.length
}

/**
 * Reads the documents on disk that the database lost. What cannot be read, or belongs to no distribution, stays and is
 * logged.
 */
export async function restoreDocuments(deps: RestoreDeps): Promise<void> {
  const { outbox, files, repositories, lock, log } = deps
  const codenames = new Set<Codename>()
  for await (const { codename, ...found } of files.walk()) {
    codenames.add(codename)
    if ('broken' in found)
      log.error(
        { path: `documents/${found.path}`, why: found.broken },
        'a document on disk cannot be read; put it again, or remove the file',
      )
  }
  let count = 0
  for (const codename of codenames)
    if (repositories.find(codename) !== undefined) count += await lock.run(codename, () => settleOne(deps, codename))
    else
      log.error({ codename }, 'documents on disk are of no distribution; add it and start again, or remove the folder')
  if (count === 0) return
  outbox.nudge()
  log.info({ documents: count }, 'documents were read from the disk')
}
