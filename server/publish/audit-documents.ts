import { join } from 'node:path'
import type { FormatId } from '../core/identity.ts'
import type { Distribution, Repositories } from '../core/repository.ts'
import type { Db } from '../db/db.ts'
import { createDocumentFiles, type StoredDocument } from '../files/documents.ts'
import type { Layout } from '../files/layout.ts'
import type { Format } from '../formats/format.ts'
import type { Kind, TreeWriter } from '../formats/tree.ts'
import type { Difference, Verifying } from './audit-manifests.ts'
import { belongs, isFormOf, readDocuments } from './documents.ts'
import { digestOf } from './live-tree.ts'
import { liveGeneration } from './prune.ts'
import { readState } from './state.ts'
import { readFrozen } from './store.ts'

interface Run {
  readonly db: Db
  readonly layout: Layout
  readonly formats: (id: FormatId) => Format
  readonly repositories: Pick<Repositories, 'all'>
  readonly verified: Verifying
}

const printKey = ({ codename, kind, component, arch, name }: StoredDocument): string =>
  `${codename}: ${[kind, component, arch, name].filter(part => part !== '').join(' ')}`

const FACTS = ['sha256', 'size', 'entries', 'by', 'at'] as const

/** Why a document and its file are not the same. */
function differenceOf(row: StoredDocument, filed: StoredDocument | undefined): string | undefined {
  if (filed === undefined) return 'the database knows it, and its file is not there'
  const fact = FACTS.find(one => filed[one] !== row[one])
  return fact === undefined ? undefined : `its file says ${fact} ${filed[fact]}, the database ${row[fact]}`
}

/**
 * Every document of the database has its file and its bytes on disk, and every file its document.
 * @returns the documents of the database
 */
export async function checkDocumentFiles({
  db,
  layout,
  repositories,
  verified,
}: Run): Promise<readonly StoredDocument[]> {
  const { checked, differences, notes } = verified
  const say = (where: string, why: string): void => {
    differences.push({ what: 'document', where, why })
  }
  const rows = await readDocuments(db)
  const filed = new Map<string, StoredDocument>()
  const bytes = new Set<string>()
  for await (const found of createDocumentFiles(layout).walk()) {
    if ('document' in found) filed.set(printKey(found.document), found.document)
    else if ('sha256' in found) bytes.add(found.path)
    else if ('broken' in found) say(`documents/${found.path}`, `it cannot be read: ${found.broken}`)
    else
      notes.push({
        what: 'stray file',
        where: `documents/${found.path}`,
        why: 'it is being written, or a kill stopped that; the next start removes it',
      })
  }
  const known = new Set(repositories.all().map(({ codename }) => codename))
  for (const row of rows) {
    checked.documents++
    const key = printKey(row)
    if (!known.has(row.codename)) say(key, 'no distribution has this codename')
    const why = differenceOf(row, filed.get(key))
    filed.delete(key)
    if (why !== undefined) say(key, why)
    const digest = await digestOf(join(layout.documents, row.codename, row.sha256))
    if (digest !== row.sha256)
      say(key, digest === undefined ? 'its bytes are missing' : `its bytes have SHA-256 ${digest}`)
  }
  for (const key of filed.keys()) say(key, 'it is on disk, and the database does not know it')
  const named = new Set([...rows, ...filed.values()].map(({ codename, sha256 }) => `${codename}/${sha256}`))
  for (const path of [...bytes].filter(one => !named.has(one)))
    notes.push({
      what: 'stray file',
      where: `documents/${path}`,
      why: 'no document has these bytes; the next start removes them',
    })
  return rows
}

/** A file that the live tree owes to a document. */
interface Form {
  readonly document: StoredDocument
  /** Of the plain form. */
  readonly path: string
  readonly kind: Kind
  /** What it unpacks to; absent where advisories are added to it. */
  readonly sha256?: string
}

function formsOf(writer: TreeWriter, distribution: Distribution, document: StoredDocument): readonly Form[] {
  const plans = writer.advisories?.(distribution) ?? []
  const taking = plans.filter(({ takes }) => takes?.kind === document.kind && takes.arch === document.arch)
  const kind = writer.documents?.find(({ id }) => id === document.kind)
  if (kind === undefined || !belongs(distribution, document)) return []
  return [
    ...taking.map(({ path }): Form => ({ document, path, kind: '.gz' })),
    ...kind.kinds.map((form): Form => ({
      ...{ document, path: kind.path(document), kind: form },
      sha256: document.sha256,
    })),
  ]
}

/** The live tree serves every document of the database, and none besides. One that is rolled back serves older ones. */
export async function checkServedDocuments(
  { db, layout, formats, verified }: Run,
  distribution: Distribution,
  documents: readonly StoredDocument[],
): Promise<void> {
  const { codename, format } = distribution
  const writer = formats(format).tree
  const n = await liveGeneration(layout, codename)
  const state = n === undefined ? undefined : await readState(layout, codename, n)
  const isUnknown = n !== undefined && state === undefined // the check of the tree says so
  if (writer === undefined || isUnknown || (await readFrozen(db, codename)) !== undefined) return
  const contents = state?.contents ?? []
  const found: Difference[] = []
  const say = (where: string, why: string): void => {
    found.push({ what: 'document', where, why })
  }
  const forms = documents.filter(one => one.codename === codename).flatMap(one => formsOf(writer, distribution, one))
  for (const { document, path, kind, sha256 } of forms) {
    const file = contents.find(one => isFormOf(one, path, kind))
    if (file === undefined) say(printKey(document), `the live tree has no ${path}${kind}`)
    else if (sha256 !== undefined && (file.plain?.sha256 ?? file.sha256) !== sha256)
      say(printKey(document), `${file.path} of the live tree has other content`)
  }
  const others = [
    ...writer.contents(distribution).map(({ path }) => ({ path, kind: '' as Kind })),
    ...(writer.advisories?.(distribution) ?? []).map(({ path }) => ({ path, kind: '.gz' as Kind })),
  ]
  for (const file of contents)
    if (![...forms, ...others].some(({ path, kind }) => isFormOf(file, path, kind)))
      say(`${codename}: ${file.path}`, 'the live tree has it, and the database has no document for it')
  const waits = await db.first('select 1 as one from outbox where key = $1 limit 1', [`contents:${codename}`])
  if (waits === undefined) verified.differences.push(...found)
  else
    verified.notes.push(
      ...found.map(({ why, ...one }) => ({ ...one, why: `${why}; a publication is about to follow` })),
    )
}
