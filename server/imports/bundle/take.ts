import { basename, join } from 'node:path'
import { rm } from 'node:fs/promises'
import { fail, isRefusal } from '../../core/errors.ts'
import { isRegistry } from '../../core/repository.ts'
import type { Run, WorkKind } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { Layout } from '../../files/layout.ts'
import type { Arrivals } from '../../lib/arrivals.ts'
import type { Clock } from '../../lib/clock.ts'
import { failpoint } from '../../lib/failpoint.ts'
import type { Audit } from '../../record/audit.ts'
import { lookAt, needAcceptable, refusalOf, type Looked } from './accept.ts'
import { codenamesIn, printRow, type BundleManifest } from './manifest.ts'
import {
  beginTaking,
  endTaking,
  failTaking,
  findTaken,
  forgetItems,
  NONE,
  noteData,
  noteItem,
  readItems,
  type Counts,
  type DataOutcome,
  type ItemOutcome,
  type NotPublished,
  type Sender,
  type Taken,
  type WordOutcome,
} from './senders.ts'
import { steadily } from './steadily.ts'
import { takeData, type TakeDataDeps } from './take-data.ts'
import { takePackages, type TakePackagesDeps } from './take-packages.ts'
import { takeWords, type TakenWords, type TakeWordsDeps } from './take-words.ts'

export const TAKE = 'bundle-import'

export interface TakeRequest {
  /** Where the file lies, and how it is called. */
  readonly path: string
  readonly file: string
  /** The digest of its list: another file under this path is not taken. */
  readonly sha256: string
  /** An upload, which is removed at the end. */
  readonly upload?: string
  readonly allow_older: boolean
  readonly hidden: readonly string[]
  readonly ip: string
}

/** Where a run that goes on begins. */
interface Cursor {
  readonly verified: true
  readonly loaded: boolean
}

export interface TakeDeps extends Omit<TakePackagesDeps, 'intake'>, TakeWordsDeps, TakeDataDeps {
  readonly intake: TakePackagesDeps['intake'] & TakeWordsDeps['intake']
  readonly db: Db
  readonly layout: Pick<Layout, 'bundles'>
  readonly audit: Pick<Audit, 'record'>
  readonly arrivals: Pick<Arrivals, 'enter'>
  readonly clock: Clock
  /** Publishes what is owed to a distribution now. */
  readonly publish: (codename: string) => Promise<void>
  /** Removes an upload. */
  readonly dropUpload: (id: string) => Promise<void>
}

export interface TakenBundle extends Counts {
  readonly id: number
  readonly name: string
  readonly sender: string
  readonly missing: readonly number[]
  readonly data: readonly DataOutcome[]
}

const numbers = (missing: readonly number[]): string => missing.map(n => String(n).padStart(4, '0')).join(', ')

/** The sentence about bundles that were lost. */
export const printGap = (missing: readonly number[], sender: string): string =>
  `It builds on ${numbers(missing)}, which ${missing.length === 1 ? 'has' : 'have'} not come from ${sender}. What needs packages of ${missing.length === 1 ? 'it' : 'them'} is left out. Carry the receipt back: the next bundle then holds what is missing.`

const pick = ({ id, name, missing, data }: Taken): Pick<TakenBundle, 'id' | 'name' | 'missing' | 'data'> => ({
  id,
  name,
  missing,
  data,
})

interface Taking {
  readonly deps: TakeDeps
  readonly run: Run<Cursor>
  readonly request: TakeRequest
  readonly looked: Looked
  readonly sender: Sender
  readonly takenId: number
}

async function loadData({ deps, run, request, looked, takenId }: Taking): Promise<readonly DataOutcome[]> {
  const scratch = join(deps.layout.bundles, 'scratch', run.id)
  const { bundle } = looked
  const outcomes = await takeData(deps, {
    bundle,
    scratch,
    signal: run.signal,
    allowOlder: request.allow_older,
  })
  await noteData(deps.db, takenId, outcomes)
  await run.step({
    cursor: { verified: true, loaded: true },
    say: outcomes
      .filter(({ outcome }) => outcome !== 'loaded' && outcome !== 'already')
      .map(({ name, why }) => ({ level: 'warning', message: `${name} is not loaded: ${why ?? ''}` })),
  })
  return outcomes
}

async function passAll(taking: Taking): Promise<readonly ItemOutcome[]> {
  const { deps, run, request, looked, sender, takenId } = taking
  const { bundle } = looked
  const { packages } = bundle.manifest
  const done = await readItems(deps.db, takenId)
  let ended = done.length
  await run.step({ done: ended, total: packages.length })
  const leave = deps.arrivals.enter('many')
  try {
    await takePackages(deps, {
      bundle,
      sender: sender.name,
      by: run.by,
      ip: request.ip,
      signal: run.signal,
      hidden: request.hidden,
      done,
      note: async item => {
        await noteItem(deps.db, takenId, item)
        failpoint('bundle:after-package')
        const ref = packages[item.seq]?.ref
        const isTold = item.outcome !== 'published' && item.outcome !== 'already' && ref !== undefined
        await run.step({
          done: ++ended,
          say: isTold ? [{ level: 'warning', message: `${printRow(ref)}: ${item.outcome}. ${item.why ?? ''}` }] : [],
        })
      },
    })()
  } finally {
    leave()
  }
  for (const codename of codenamesIn(bundle.manifest)) {
    const distribution = deps.distributionOf(codename)
    if (distribution !== undefined && !isRegistry(distribution)) await deps.publish(codename)
  }
  return readItems(deps.db, takenId)
}

/** Tags and marks come last: a tag names only what is published. */
async function sayAll(
  { deps, run, request, looked, sender }: Taking,
  items: readonly ItemOutcome[],
): Promise<TakenWords> {
  const taken = await takeWords(deps, {
    bundle: looked.bundle,
    sender: sender.name,
    actor: { name: run.by, ip: request.ip },
    hidden: request.hidden,
    signal: run.signal,
    items,
  })
  await run.step({
    say: taken.others
      .slice(0, MOST_SAID)
      .map(one => ({ level: one.outcome === 'done' ? 'info' : 'warning', message: printWord(one) })),
  })
  return taken
}

const MOST_SAID = 200

/** `Tag next of lib 1.0 (any, ours): stays. Somebody …` */
const printWord = ({ word, tag, ref, outcome, why }: WordOutcome): string =>
  `${word === 'tag' ? `Tag ${tag ?? ''}` : 'Mark'} of ${printRow(ref)}: ${outcome === 'done' ? 'set' : outcome}. ${why}`

function summed(items: readonly ItemOutcome[], { packages }: BundleManifest) {
  const counts = { ...NONE }
  const notPublished: NotPublished[] = []
  for (const { seq, outcome, why } of items) {
    counts[outcome]++
    const ref = packages[seq]?.ref
    if (ref === undefined || outcome === 'published' || outcome === 'already') continue
    notPublished.push({ ref, outcome, why: why ?? '' })
  }
  return { counts, notPublished }
}

async function verify({ bundle }: Looked, run: Run<Cursor>, file: string): Promise<void> {
  const totalBytes = bundle.manifest.files.reduce((sum, { size }) => sum + size, 0)
  await run.step({ say: [{ level: 'info', message: 'The whole file is read before anything is taken in.' }] })
  await bundle
    .verify(
      run.signal,
      steadily(bytes => run.step({ bytes, totalBytes })),
    )
    .catch((error: unknown) => {
      run.signal.throwIfAborted()
      return refusalOf(error, file)
    })
  await run.step({
    cursor: { verified: true, loaded: false },
    bytes: totalBytes,
    totalBytes,
    say: [{ level: 'info', message: 'Every byte is as it was signed.' }],
  })
}

async function take(deps: TakeDeps, run: Run<Cursor>, request: TakeRequest, looked: Looked): Promise<TakenBundle> {
  const { file, sha256 } = request
  const { bundle, missing } = looked
  const { manifest, sizeBytes } = bundle
  if (looked.sha256 !== sha256)
    fail('bundle_refused', { file, why: 'it is another file than the one that was asked for' })
  // a run that goes on may find its own row there
  const sender = needAcceptable(looked, { file, allowOlder: request.allow_older })
  const before = await findTaken(deps.db, { senderId: sender.id, sha256 })
  // it was cut short between its last step and its end
  if (before?.state === 'done' && before.job_id === run.id)
    return { ...NONE, ...before.counts, ...pick(before), sender: sender.name }
  if (run.cursor === undefined) await verify(looked, run, file)
  const takenId = await beginTaking(deps.db, {
    senderId: sender.id,
    manifest,
    sha256,
    size: sizeBytes,
    missing,
    jobId: run.id,
    by: run.by,
  })
  const taking: Taking = { deps, run, request, looked, sender, takenId }
  try {
    if (run.cursor === undefined) {
      await forgetItems(deps.db, takenId)
      if (missing.length > 0) await run.step({ say: [{ level: 'warning', message: printGap(missing, sender.name) }] })
    }
    const data = run.cursor?.loaded === true ? [] : await loadData(taking)
    const items = await passAll(taking)
    const { counts, notPublished } = summed(items, manifest)
    const { others: words } = await sayAll(taking, items)
    const now = deps.clock.now()
    await deps.db.tx(tx => endTaking(tx, { takenId, sender, manifest, counts, notPublished, words, now }))
    await deps.audit.record({
      action: 'BUNDLE_IMPORT',
      result:
        counts.refused + counts.upstream_changed + counts.held + counts.waits > 0 || missing.length > 0
          ? 'WARNING'
          : 'SUCCESS',
      user: run.by,
      ip: request.ip,
      facts: {
        kind: 'bundle.taken',
        bundle: manifest.name,
        sender: sender.name,
        fingerprint: 'by' in looked.signed ? looked.signed.by : '',
        older: looked.sequence === 'older',
        missing,
        ...counts,
        refused: counts.refused + counts.upstream_changed,
      },
    })
    return { id: takenId, name: manifest.name, sender: sender.name, missing, data, ...counts }
  } catch (error) {
    if (!run.signal.aborted)
      await failTaking(
        deps.db,
        takenId,
        error instanceof Error ? error.message.slice(0, 500) : 'it broke',
        deps.clock.now(),
      )
    throw error
  }
}

/**
 * Takes a bundle in: the whole file is verified, its data are loaded, and each package goes through the gate.
 * A run that was cut short goes on where it was; asked for again, it takes what is not here yet.
 */
export const takeWork = (deps: TakeDeps): WorkKind<TakeRequest, Cursor, TakenBundle> => ({
  kind: TAKE,
  name: 'Import a bundle',
  see: 'maintainer+',
  cancel: 'maintainer+',
  run: async (run, request) => {
    const file = request.file === '' ? basename(request.path) : request.file
    const looked = await lookAt(deps, request.path, file)
    try {
      const taken = await take(deps, run, { ...request, file }, looked)
      if (request.upload !== undefined) await deps.dropUpload(request.upload)
      return taken
    } catch (error) {
      if (request.upload !== undefined && isRefusal(error, 'bundle_refused')) await deps.dropUpload(request.upload)
      if (!run.signal.aborted)
        await deps.audit.record({
          action: 'BUNDLE_IMPORT',
          result: 'FAILURE',
          user: run.by,
          ip: request.ip,
          facts: {
            kind: 'bundle.refused',
            file,
            why: error instanceof Error ? error.message.slice(0, 500) : 'it broke',
          },
        })
      throw error
    } finally {
      await looked.bundle.close()
      await rm(join(deps.layout.bundles, 'scratch', run.id), { recursive: true, force: true })
    }
  },
})
