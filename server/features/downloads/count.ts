import type { Db, Tx } from '../../db/db.ts'
import { isIP } from 'node:net'
import type { Repositories } from '../../core/repository.ts'
import type { Clock } from '../../lib/clock.ts'
import { failpoint } from '../../lib/failpoint.ts'
import type { LogSeries } from '../../record/log-series.ts'
import { assign, type Assigned, type LogState } from './assign.ts'
import { blocksOf, HEAD_BYTES, headDigest, lookAt, type Block, type LogFile } from './log-file.ts'
import { isMoving, nameFiles, type NamesDeps } from './names.ts'
import { addCounts, addFiles, addOthers, addRecent, advance, knownFiles, listStates } from './store.ts'
import { createTally, type Tally } from './tally.ts'

export interface CountDeps extends NamesDeps {
  readonly db: Db
  readonly clock: Clock
  readonly repositories: Pick<Repositories, 'find'>
  /** The logs that are counted. */
  readonly series: () => Promise<readonly LogSeries[]>
}

/** Counts what access logs say. */
export interface Counting {
  /** Counts all that is new; what another process is counting at the same time is left to that one. */
  run(signal?: AbortSignal): Promise<void>
}

/** So many blocks are counted together: the database is asked once for all of them. */
const BLOCKS = 4

/** The ids of the files of these paths, and the paths that are none: what is read beside a package. */
async function idsOf(
  tx: Tx,
  paths: readonly string[],
  deps: CountDeps,
): Promise<{ readonly ids: ReadonlyMap<string, number>; readonly beside: ReadonlySet<string> }> {
  const moving = new Set(paths.filter(path => isMoving(path, deps)))
  const ids = await knownFiles(
    tx,
    paths.filter(path => !moving.has(path)),
  )
  const fresh = paths.filter(path => !ids.has(path))
  if (fresh.length === 0) return { ids, beside: new Set() }
  const named = await nameFiles(tx, fresh, deps)
  const files = named.filter(({ isBeside }) => isBeside !== true)
  if (files.length > 0) for (const [path, id] of await addFiles(tx, files)) ids.set(path, id)
  return { ids, beside: new Set(named.flatMap(({ path, isBeside }) => (isBeside === true ? [path] : []))) }
}

async function store(tx: Tx, tally: Tally, deps: CountDeps): Promise<void> {
  const { ids, beside } = await idsOf(tx, [...new Set(tally.files.map(({ path }) => path))], deps)
  tally.leaveOut(beside)
  const { files, others, recent } = tally
  if (others.length > 0) await addOthers(tx, others)
  if (files.length === 0) return
  await addCounts(tx, files, ids)
  await addRecent(
    tx,
    recent.map(access => ({ ...access, ip: isIP(access.address) === 0 ? '0.0.0.0' : access.address })),
    ids,
  )
}

/** @returns the new state; undefined when another process has counted these lines */
async function countBlocks(
  deps: CountDeps,
  { series, file, state }: { readonly series: string; readonly file: LogFile; readonly state: LogState | undefined },
  blocks: readonly Block[],
): Promise<LogState | undefined> {
  const tally = createTally(name => deps.repositories.find(name) !== undefined)
  for (const { lines } of blocks) tally.add(lines)
  const end = blocks.at(-1)?.end ?? 0
  const headBytes = Math.min(file.head.length, end, HEAD_BYTES)
  const head = headDigest(file.head, headBytes)
  const id = await deps.db.tx(async tx => {
    // the state and the counts are kept together or not at all: no line is counted twice, none is left out
    const moved = await advance(tx, state, { series, head, headBytes, end, at: deps.clock.now() })
    if (moved !== undefined) await store(tx, tally, deps)
    failpoint('downloads:before-commit')
    return moved
  })
  return id === undefined ? undefined : { id, head, head_bytes: headBytes, position: end }
}

/** @returns whether all of the file is counted; otherwise another process is at it */
async function countFile(
  deps: CountDeps,
  series: string,
  { file, state: known }: Assigned,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  let state = known
  let blocks: Block[] = []
  const flush = async (): Promise<boolean> => {
    if (blocks.length === 0) return true
    state = await countBlocks(deps, { series, file, state }, blocks)
    blocks = []
    return state !== undefined
  }
  for await (const block of blocksOf(file, known?.position ?? 0)) {
    signal?.throwIfAborted()
    blocks.push(block)
    if (blocks.length === BLOCKS && !(await flush())) return false
  }
  return flush()
}

/** Counts by files and positions that are kept in the database. */
export function createCounting(deps: CountDeps): Counting {
  /** Files that were read to their ends, by what they were like then. */
  const finished = new Map<string, string>()

  async function countSeries({ name, files: paths }: LogSeries, signal: AbortSignal | undefined): Promise<void> {
    const files = (await Promise.all(paths.map(lookAt))).filter(file => file !== undefined)
    if (files.every(({ path, mark }) => finished.get(path) === mark)) return
    for (const assigned of assign(files, await listStates(deps.db, name)))
      if (!(await countFile(deps, name, assigned, signal))) return
    for (const { path, mark } of files) finished.set(path, mark)
  }

  return {
    run: async signal => {
      for (const series of await deps.series()) await countSeries(series, signal)
    },
  }
}
