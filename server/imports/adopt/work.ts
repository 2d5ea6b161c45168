import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { fail, isRefusal } from '../../core/errors.ts'
import type { FormatId } from '../../core/identity.ts'
import { sha256 } from '../../core/identity.ts'
import type { Distribution, SeenRepositories } from '../../core/repository.ts'
import type { Run, WorkKind } from '../../core/work.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import type { Arrivals } from '../../lib/arrivals.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Applicant } from '../../pipeline/gate.ts'
import type { Audit } from '../../record/audit.ts'
import type { Settings } from '../../settings/store.ts'
import type { TreeFile } from '../bulk/read-files.ts'
import { admitTogether, type TogetherDeps } from '../bulk/together.ts'
import { discardAll, type Arrival, type Tree, type TreeReader } from '../bulk/tree.ts'
import { listTree, type Listing } from './list.ts'
import { countIn, type FileFate, NOTHING_YET, sayCounts, type Tally } from './report.ts'
import type { AdoptRoots } from './roots.ts'

export const ADOPT = 'adopt'

/** What a job is asked for. */
export interface AdoptRequest {
  readonly path: string
  readonly codename: string
  readonly component?: string
  readonly suite?: string
  readonly group: string
  readonly ip?: string
}

/** Behind which path to go on. */
interface Cursor extends Tally {
  readonly after: string
}

/** What came of it. */
export interface Adopted extends Tally {
  readonly group: string
  /** The indexes that named the files; empty where every package file was taken. */
  readonly indexes: readonly string[]
  /** Package files that no index names, which were left out: how many, and the first of them. */
  readonly unlisted: number
  readonly unlisted_first: readonly string[]
  readonly message: string
}

export interface AdoptDeps extends TogetherDeps {
  readonly db: Db
  readonly roots: AdoptRoots
  readonly trees: TreeReader
  readonly repositories: Pick<SeenRepositories, 'get'>
  readonly formats: (id: FormatId) => Format
  readonly settings: Pick<Settings, 'now'>
  readonly audit: Pick<Audit, 'owe'>
  readonly arrivals: Pick<Arrivals, 'enter'>
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
}

/** One transaction has at most so many packages, and so many bytes that are copied before it. */
const MOST_FILES = 256
const MOST_BYTES = 256 * 2 ** 20
const MOST_UNLISTED = 50

/** The files in batches, in their order. A size that no index names is looked up. */
export function batchesOf(root: string, files: readonly TreeFile[]): TreeFile[][] {
  const batches: TreeFile[][] = []
  let bytes = Infinity
  for (const file of files) {
    const size = file.size ?? lstatSync(join(root, file.path), { throwIfNoEntry: false })?.size ?? 0
    const last = batches.at(-1)
    if (last === undefined || last.length >= MOST_FILES || bytes + size > MOST_BYTES) {
      batches.push([file])
      bytes = size
    } else {
      last.push(file)
      bytes += size
    }
  }
  return batches
}

interface Batch {
  readonly files: readonly TreeFile[]
  readonly arrivals: readonly Arrival[]
}

/** Reads each batch while the one before it is admitted. */
async function* readAhead(
  { trees }: AdoptDeps,
  tree: Tree,
  { batches, signal }: { readonly batches: readonly (readonly TreeFile[])[]; readonly signal: AbortSignal },
): AsyncGenerator<Batch> {
  const begin = (n: number): Promise<readonly Arrival[]> | undefined => {
    const files = batches[n]
    const reading = files === undefined ? undefined : trees.read(tree, files, signal)
    reading?.catch(() => undefined) // whoever awaits it gets the error
    return reading
  }
  let next = begin(0)
  try {
    for (const [n, files] of batches.entries()) {
      const arrivals = (await next) ?? []
      next = begin(n + 1)
      yield { files, arrivals }
    }
  } finally {
    await next?.then(discardAll, () => undefined)
  }
}

/** Where a package of the tree goes: where it was asked for, or into the component that it was in. */
const componentOf = (
  { components }: Distribution,
  wanted: string | undefined,
  { component }: TreeFile,
): Pick<Applicant, 'component'> => {
  const name = wanted ?? (component !== undefined && components.includes(component) ? component : undefined)
  return name === undefined ? {} : { component: name }
}

async function admitBatch(
  deps: AdoptDeps,
  { files, arrivals }: Batch,
  {
    request,
    run,
    record,
  }: {
    readonly request: AdoptRequest
    readonly run: Run<Cursor>
    /** Writes how far it is, in the transaction of the batch. */
    readonly record: (tx: Tx, fates: readonly FileFate[]) => Promise<void>
  },
): Promise<void> {
  const distribution = deps.repositories.get(request.codename)
  const actor = { name: run.by, ...(request.ip === undefined ? {} : { ip: request.ip }) }
  const there = files.flatMap((file, n) => {
    const arrival = arrivals[n]
    return arrival !== undefined && 'file' in arrival ? [{ n, file, arrival }] : []
  })
  const applicants = there.map(({ file, arrival }): Applicant => ({
    file: arrival.file,
    format: deps.formats(distribution.format),
    distribution,
    ...componentOf(distribution, request.component, file),
    ...(file.sha256 === undefined ? {} : { expectedSha256: sha256(file.sha256) }),
    actor,
    from: 'source:adopted',
    imported: { method: 'adopted', group: request.group },
    ...(arrival.read === undefined ? {} : { read: arrival.read }),
  }))
  const outcomes = await admitTogether(
    deps,
    { applicants, actor },
    {
      signal: run.signal,
      within: (tx, fates) => {
        const byPlace = new Map(there.map(({ n }, at) => [n, fates[at]]))
        return record(
          tx,
          files.map(({ path }, n) => {
            const arrival = arrivals[n]
            const why = arrival !== undefined && 'failed' in arrival ? arrival.failed : 'it was not read'
            return { path, fate: byPlace.get(n) ?? { left: why } }
          }),
        )
      },
    },
  )
  for (const [at, outcome] of outcomes.entries())
    if ('error' in outcome && !isRefusal(outcome.error))
      deps.log.error(
        { err: outcome.error, job: run.id, path: there[at]?.file.path },
        'a package of a tree was left out',
      )
}

/** Says at the beginning what is there. */
const sayListing = ({ files, indexes, unlisted }: Listing): string =>
  indexes.length === 0
    ? `${files.length} package files, and no index that names them.`
    : `${files.length} packages named by ${indexes.join(', ')}.${unlisted.length === 0 ? '' : ` ${unlisted.length} package files are named by none and are left out.`}`

/** The end of a job on record. */
async function end(
  { db, audit }: AdoptDeps,
  {
    request,
    run,
    listing,
    tally,
  }: {
    readonly request: AdoptRequest
    readonly run: Run<Cursor>
    readonly listing: Listing
    readonly tally: Tally
  },
): Promise<Adopted> {
  const { group, path, codename, ip } = request
  const { troubles, added, held, blocked, upstream_changed, skipped, failed } = tally
  const counts = { added, held, blocked, skipped, failed: failed + upstream_changed }
  const message = `${path} was adopted into ${codename}: ${sayCounts(tally)}.`
  await db.tx(async tx => {
    await audit.owe(tx, {
      action: 'IMPORT',
      result: held + blocked + counts.failed > 0 ? 'WARNING' : 'SUCCESS',
      user: run.by,
      distribution: codename,
      facts: { kind: 'tree.adopted', path, group, ...counts },
      ...(ip === undefined ? {} : { ip }),
    })
    await run.step({ say: [{ level: 'info', message }] }, tx)
  })
  return {
    ...{ added, held, blocked, upstream_changed, skipped, failed },
    troubles,
    group,
    indexes: listing.indexes,
    unlisted: listing.unlisted.length,
    unlisted_first: listing.unlisted.slice(0, MOST_UNLISTED),
    message,
  }
}

async function adopt(deps: AdoptDeps, request: AdoptRequest, run: Run<Cursor>): Promise<Adopted> {
  const root = await deps.roots.resolve(request.path)
  const distribution = deps.repositories.get(request.codename)
  if (distribution.state === 'retired') fail('distribution_retired', { codename: distribution.codename })
  const listing = await listTree({
    root,
    distribution,
    format: deps.formats(distribution.format),
    now: deps.clock.now(),
    ...(request.suite === undefined ? {} : { suite: request.suite }),
  })
  let cursor: Cursor = { ...NOTHING_YET, after: '', ...run.cursor }
  const { after } = cursor
  const left = after === '' ? listing.files : listing.files.filter(({ path }) => path > after)
  const total = listing.files.length
  await run.step({
    total,
    done: total - left.length,
    ...(run.cursor === undefined ? { say: [{ level: 'info', message: sayListing(listing) }] } : {}),
  })
  const limitBytes = deps.settings.now().validation.max_upload_size_mb * 2 ** 20
  const tree: Tree = { root, format: distribution.format, limitBytes }
  const leave = deps.arrivals.enter('many')
  try {
    let done = total - left.length
    let written = cursor
    for await (const batch of readAhead(deps, tree, { batches: batchesOf(root, left), signal: run.signal })) {
      await admitBatch(deps, batch, {
        request,
        run,
        record: async (tx, fates) => {
          const { tally, say } = countIn(cursor, fates)
          const next: Cursor = { ...tally, after: batch.files.at(-1)?.path ?? after }
          await run.step({ cursor: next, done: done + batch.files.length, say }, tx)
          written = next
        },
      })
      cursor = written
      done += batch.files.length
    }
  } finally {
    leave()
  }
  return end(deps, { request, run, listing, tally: cursor })
}

/** Adoption of a tree on this machine, through the same gate as an upload. */
export const adoptWork = (deps: AdoptDeps): WorkKind<AdoptRequest, Cursor, Adopted> => ({
  kind: ADOPT,
  name: 'Adopt the packages of a tree on this machine',
  see: 'maintainer+',
  cancel: 'maintainer+',
  run: (run, request) => adopt(deps, request, run),
})
