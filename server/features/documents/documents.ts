import { countModular } from '../../catalog/queries/modules.ts'
import { fail } from '../../core/errors.ts'
import type { Codename, FormatId } from '../../core/identity.ts'
import type { Distribution, SeenRepositories } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { HoldDistribution } from '../../db/distribution-lock.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { DocumentFiles, StoredDocument } from '../../files/documents.ts'
import type { SpooledFile } from '../../files/spool.ts'
import type { DocumentKey, DocumentKind } from '../../formats/documents.ts'
import type { Format } from '../../formats/format.ts'
import { readFile } from 'node:fs/promises'
import type { Clock } from '../../lib/clock.ts'
import { failpoint } from '../../lib/failpoint.ts'
import type { KeyedLock } from '../../lib/keyed-lock.ts'
import { belongs, readDocuments } from '../../publish/documents.ts'
import type { Audit } from '../../record/audit.ts'
import type { CheckDocument } from './check.ts'
import { deleteDocument, needRoom, saveDocument } from './store.ts'

export interface DocumentDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'owe'>
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly clock: Clock
  readonly repositories: Pick<SeenRepositories, 'need'>
  readonly formats: (id: FormatId) => Pick<Format, 'tree'>
  readonly files: DocumentFiles
  readonly check: CheckDocument
  readonly hold: HoldDistribution
  /** Protects bytes from removal while no row names them yet. */
  readonly lock: KeyedLock
}

const PARTS = ['component', 'arch', 'name'] as const

export type DocumentCard = Omit<StoredDocument, 'codename'>

/** A kind of document that a distribution takes. */
export interface KindCard {
  readonly kind: string
  readonly label: string
  /** The file in the tree that people know it by. */
  readonly file: string
  readonly keys: readonly (typeof PARTS)[number][]
  /** What the key `name` stands for, where the kind has it. */
  readonly name: { readonly label: string; readonly hint: string } | null
  /** A sentence: what clients see without a document of this kind. */
  readonly without: string
}

/** The documents of a tree. `notes` are whole sentences about problems. */
export interface DocumentList {
  readonly codename: string
  readonly documents: readonly DocumentCard[]
  readonly kinds: readonly KindCard[]
  readonly notes: readonly string[]
}

/** A requested change: the caller and the document. */
export interface DocumentUpload {
  readonly codename: string
  readonly kind: string
  readonly key: Readonly<Partial<Record<keyof DocumentKey, string | undefined>>>
  readonly by: string
  readonly ip: string
}

const kindsOf = ({ formats }: Pick<DocumentDeps, 'formats'>, { format }: Distribution): readonly DocumentKind[] =>
  formats(format).tree?.documents ?? []

/** @throws unknown_document, bad_document */
function resolve(
  deps: Pick<DocumentDeps, 'formats'>,
  distribution: Distribution,
  { kind: id, key }: Pick<DocumentUpload, 'kind' | 'key'>,
): { readonly kind: DocumentKind; readonly key: DocumentKey } {
  const { codename, components, archs } = distribution
  const kinds = kindsOf(deps, distribution)
  const known = kinds.map(one => one.id).join(', ') || 'none'
  const kind = kinds.find(one => one.id === id) ?? fail('unknown_document', { codename, kind: id, known })
  for (const part of PARTS) {
    const value = key[part]
    if (kind.keys.includes(part) !== (value !== undefined))
      fail('bad_document', {
        kind: id,
        why: `it is told apart by ${kind.keys.join(' and ')}: name these and no others`,
      })
    const allowed = part === 'component' ? components : part === 'arch' ? archs : undefined
    if (value !== undefined && allowed !== undefined && !allowed.includes(value))
      fail('bad_document', { kind: id, why: `${codename} has ${part} ${allowed.join(', ')}, not ${value}` })
  }
  if (key.name !== undefined && kind.names !== undefined && !kind.names.pattern.test(key.name))
    fail('bad_document', { kind: id, why: `name is ${kind.names.hint}` })
  return { kind, key: { component: key.component ?? '', arch: key.arch ?? '', name: key.name ?? '' } }
}

const factOf = ({ kind, component, arch, name }: Pick<StoredDocument, 'kind' | keyof DocumentKey>) => ({
  document: kind,
  ...(component === '' ? {} : { component }),
  ...(arch === '' ? {} : { arch }),
  ...(name === '' ? {} : { name }),
})

/** Owes the files on disk and a publication. */
async function oweFiles({ outbox }: Pick<DocumentDeps, 'outbox'>, tx: Tx, codename: Codename): Promise<void> {
  await outbox.owe(tx, `document:${codename}`)
  await outbox.owe(tx, `contents:${codename}`)
}

/** The key of the lock that keeps the memory of all checks at that of one; no codename has a blank. */
const CHECKING = 'one check'

/** Writes rows, audit lines and debts in one transaction. The caller holds the lock and has kept the bytes. */
async function save(
  deps: DocumentDeps,
  rows: readonly StoredDocument[],
  { by, ip }: Pick<DocumentUpload, 'by' | 'ip'>,
): Promise<void> {
  failpoint('document:before-commit')
  await deps.db.tx(async tx => {
    for (const codename of new Set(rows.map(row => row.codename))) await deps.hold(tx, codename)
    for (const row of rows) {
      await saveDocument(tx, row)
      await needRoom(tx, row.codename)
      await deps.audit.owe(tx, {
        action: 'DOCUMENT_PUT',
        result: 'SUCCESS',
        user: by,
        ip,
        distribution: row.codename,
        facts: { kind: 'document.put', ...factOf(row), sha256: row.sha256, size: row.size },
      })
      await oweFiles(deps, tx, row.codename)
    }
  })
  deps.outbox.nudge()
}

/** Takes kept bytes away again when no row came to name them: the distribution was removed meanwhile. */
async function saveOrClear({ db, files }: DocumentDeps, codename: Codename, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    await files.settle(codename, await readDocuments(db, codename)).catch(() => undefined) // the first error says more
    throw error
  }
}

/** @throws distribution_not_found, unknown_document, bad_document, documents_full */
export async function putDocument(
  deps: DocumentDeps,
  wish: DocumentUpload,
  receive: () => Promise<SpooledFile>,
): Promise<DocumentCard> {
  const distribution = deps.repositories.need(wish.codename)
  const { codename } = distribution
  const { kind, key } = resolve(deps, distribution, wish)
  const file = await receive()
  try {
    return await deps.lock.run(CHECKING, async () => {
      const checked = await deps.check({ format: distribution.format, kind: kind.id, path: file.path, key })
      if ('why' in checked) return fail('bad_document', { kind: kind.id, why: checked.why })
      const { sha256, size } = file.blob
      const at = deps.clock.now().toISOString()
      const card = { kind: kind.id, ...key, sha256, size, entries: checked.entries, by: wish.by, at }
      await deps.lock.run(codename, async () => {
        // it may have been removed since the upload began
        resolve(deps, deps.repositories.need(codename), wish)
        await deps.files.keep(codename, sha256, await readFile(file.path))
        await saveOrClear(deps, codename, () => save(deps, [{ codename, ...card }], wish))
      })
      return card
    })
  } finally {
    await file.discard()
  }
}

/** @throws distribution_not_found, unknown_document, bad_document, document_not_found */
export async function removeDocument(deps: DocumentDeps, wish: DocumentUpload): Promise<void> {
  const distribution = deps.repositories.need(wish.codename)
  const { codename } = distribution
  const { kind, key } = resolve(deps, distribution, wish)
  await deps.db.tx(async tx => {
    if (!(await deleteDocument(tx, { codename, kind: kind.id, ...key })))
      fail('document_not_found', { codename, kind: kind.id })
    await deps.audit.owe(tx, {
      action: 'DOCUMENT_REMOVE',
      result: 'SUCCESS',
      user: wish.by,
      ip: wish.ip,
      distribution: codename,
      facts: { kind: 'document.removed', ...factOf({ kind: kind.id, ...key }) },
    })
    await oweFiles(deps, tx, codename)
  })
  deps.outbox.nudge()
}

/** @throws distribution_not_found, other_format, same_distribution */
export async function copyDocuments(
  deps: DocumentDeps,
  { codename: name, from: source, by, ip }: Pick<DocumentUpload, 'codename' | 'by' | 'ip'> & { readonly from: string },
): Promise<void> {
  const [to, from] = [deps.repositories.need(name), deps.repositories.need(source)]
  if (to.codename === from.codename) fail('same_distribution', { codename: to.codename })
  if (to.format !== from.format)
    fail('other_format', { to: to.codename, takes: to.format, from: from.codename, has: from.format })
  // both, in the order of names: what is copied must not lose its bytes meanwhile
  const [first = to, second = to] = [to, from].toSorted((a, b) => (a.codename < b.codename ? -1 : 1))
  const alone = (work: () => Promise<void>): Promise<void> =>
    deps.lock.run(first.codename, () => deps.lock.run(second.codename, work))
  await alone(async () => {
    const there = await readDocuments(deps.db, from.codename)
    const at = deps.clock.now().toISOString()
    const rows = there.filter(one => belongs(to, one)).map(one => ({ ...one, codename: to.codename, by, at }))
    for (const one of there)
      if (rows.some(({ sha256 }) => sha256 === one.sha256))
        await deps.files.keep(to.codename, one.sha256, await deps.files.read(one))
    await saveOrClear(deps, to.codename, () => save(deps, rows, { by, ip }))
  })
}

/** @throws distribution_not_found */
export async function listDocuments(deps: DocumentDeps, viewer: Viewer, name: string): Promise<DocumentList> {
  const distribution = deps.repositories.need(name)
  const { codename } = distribution
  const stored = await readDocuments(deps.db, codename)
  const modular = stored.some(({ kind }) => kind === 'modules') ? 0 : await countModular(deps.db, viewer, codename)
  return {
    codename,
    documents: stored.map(({ codename: _, ...card }) => card),
    kinds: kindsOf(deps, distribution).map(({ id, label, file, keys, names, without }) => ({
      kind: id,
      label,
      file,
      keys,
      name: names === undefined ? null : { label: names.label, hint: names.hint },
      without,
    })),
    notes: [
      ...stored
        .filter(one => !belongs(distribution, one))
        .map(
          one => `${one.kind} is for ${one.component} ${one.arch}, which ${codename} has no more: it is not served.`,
        ),
      ...(modular === 0
        ? []
        : [
            `${modular} packages of ${codename} are built for a module, and there is no modules.yaml: dnf does not install them. Add the document modules.`,
          ]),
    ],
  }
}
