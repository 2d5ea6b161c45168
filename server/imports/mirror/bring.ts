import { isRefusal } from '../../core/errors.ts'
import type { Run } from '../../core/work.ts'
import type { Tx } from '../../db/db.ts'
import { askImport, followImport } from '../run/asked.ts'
import type { ImportResult } from '../run/import-work.ts'
import type { Listed, Resolution } from '../run/plan.ts'
import { below, choose, type Choice } from './choose.ts'
import { listFrozen } from './frozen.ts'
import { countFailed, countIn, doneIn, type MirrorEnd, type Trouble } from './report.ts'
import type { BringCursor, BringDeps, Importing } from './run.ts'
import type { MirrorList, Wanted } from './wanted.ts'

/** What is brought into one list. */
export interface Bringing<Cursor extends BringCursor> {
  readonly list: MirrorList
  readonly group: string
  /** The wanted packages come from this source alone. */
  readonly sourceKey?: string
  readonly cursor: Cursor
  /** What is wanted, in the order in which it comes, and the cursor to go on with. */
  readonly wanted: (cursor: Cursor) => Promise<{ readonly wanted: readonly Wanted[]; readonly cursor: Cursor }>
  /** Why some of these must not come, by their ids: what needs them does not come, either. */
  readonly barred?: (packages: readonly Listed[]) => Promise<ReadonlyMap<Listed['id'], string>>
  /** Keeps what was dealt with, in the order in which it was wanted. */
  readonly passed: (tx: Tx, cursor: Cursor, through: readonly Named[]) => Promise<Cursor>
}

type Named = Pick<Wanted, 'name'>

export interface Went<Cursor> {
  readonly cursor: Cursor
  /** Why it did not come to the end of what is wanted. */
  readonly end?: MirrorEnd
}

interface Lost extends Wanted {
  readonly why: string
}

interface Resolved {
  readonly wanted: readonly Wanted[]
  readonly resolution: Resolution | undefined
  readonly lost: readonly Lost[]
}

/** So many are resolved and imported together: one publication for each. */
const TOGETHER = 50
const GONE = 'Its source lists it no longer, or hides it from clients.'

const isUnknown = (error: unknown): boolean =>
  isRefusal(error, 'import_unknown') || isRefusal(error, 'import_unknown_version')

/** The next ones: about so many, and whole units. */
function nextOf(wanted: readonly Wanted[], at: number): readonly Wanted[] {
  let end = Math.min(at + TOGETHER, wanted.length)
  const unit = wanted[end - 1]?.unit
  while (unit !== undefined && wanted[end]?.unit === unit) end++
  return wanted.slice(at, end)
}

/** Brings what is wanted in parts, each with all that it needs, until all is here or the run has come to a bound. */
export async function bringIn<Cursor extends BringCursor>(
  deps: BringDeps,
  run: Run<Cursor>,
  of: Bringing<Cursor>,
): Promise<Went<Cursor>> {
  const { db, planner } = deps
  const { list, group, sourceKey } = of
  let cursor = of.cursor

  const ask = (these: readonly Wanted[]): Promise<Resolution> =>
    planner.resolve(
      {
        packages: these.map(({ name, version }) => ({ name, version })),
        target: { ...list, state: 'active' },
        recommends: false,
        sourceKey,
      },
      run.signal,
    )

  /** What the packages are resolved to; those that no source has any more as `lost`. */
  async function resolveKnown(wanted: readonly Wanted[]): Promise<Resolved> {
    try {
      return { wanted, resolution: await ask(wanted), lost: [] }
    } catch (error) {
      if (!isUnknown(error)) throw error
    }
    const kept: Wanted[] = []
    const lost: Lost[] = []
    for (const one of wanted)
      try {
        await ask([one])
        kept.push(one)
      } catch (error) {
        if (!isUnknown(error)) throw error
        lost.push({ ...one, why: GONE })
      }
    return { wanted: kept, resolution: kept.length === 0 ? undefined : await ask(kept), lost }
  }

  /** The same without what needs packages that must not come. */
  async function resolveThese(wanted: readonly Wanted[]): Promise<Resolved> {
    const found = await resolveKnown(wanted)
    const { resolution } = found
    const barred = resolution === undefined ? undefined : await of.barred?.(resolution.packages)
    if (resolution === undefined || barred === undefined || barred.size === 0) return found
    const places = new Map(resolution.packages.map(({ id }, at) => [id, at]))
    const whys = found.wanted.map((_, n) => {
      const root = resolution.closure.roots[n]?.package
      const own = below(root === undefined ? undefined : places.get(root.id), resolution.needs, new Set())
      return [...own].map(at => barred.get(resolution.packages[at]?.id ?? '')).find(why => why !== undefined)
    })
    const lost = found.wanted.flatMap((one, n) => (whys[n] === undefined ? [] : [{ ...one, why: whys[n] }]))
    const kept = found.wanted.filter((_, n) => whys[n] === undefined)
    const rest = kept.length === 0 ? undefined : await ask(kept)
    return { wanted: kept, resolution: rest, lost: [...found.lost, ...lost] }
  }

  /** Follows the import that was asked for, and counts what it brought. */
  async function settle(importing: Importing): Promise<MirrorEnd | undefined> {
    const { request } = importing
    const id = await askImport(deps, request, run)
    const base = doneIn(cursor.tally)
    const end = await followImport(deps, run, {
      id,
      seen: importing.seen,
      told: async ({ seen, done, bytes, say }) => {
        cursor = { ...cursor, importing: { ...importing, seen } }
        await run.step({ cursor, done: base + done, bytes: cursor.bytes + bytes, say })
      },
    })
    const result = end.state === 'done' ? (end.result as ImportResult) : undefined
    if (result === undefined) {
      // counted as failed where it could not be done; a person who cancelled it wants the run to end
      const why = end.error?.message ?? null
      const troubles: Trouble[] = request.packages.map(({ name, version = '' }) => ({
        ...{ distribution: list.codename, name, version, arch: list.arch, status: 'failed', why },
      }))
      const isFull = end.error?.code === 'import_no_room' || end.error?.code === 'storage_full'
      const stop: MirrorEnd | undefined = end.state === 'cancelled' ? 'cancelled' : isFull ? 'disk' : undefined
      const tally = stop === undefined ? countFailed(cursor.tally, troubles) : cursor.tally
      cursor = { ...cursor, importing: undefined, tally }
      await record(stop === undefined ? request.packages : [])
      return stop
    }
    const left = result.packages.filter(({ status }) => status === 'waiting')
    const leftRoots = new Set(left.filter(one => one.is_root).map(({ name }) => name))
    const firstLeft = request.packages.findIndex(({ name }) => leftRoots.has(name))
    cursor = {
      ...cursor,
      importing: undefined,
      taken: cursor.taken + result.packages.length - left.length,
      bytes: cursor.bytes + result.bytes,
      tally: countIn(cursor.tally, result, importing.missing),
    }
    await record(firstLeft < 0 ? request.packages : request.packages.slice(0, firstLeft))
    return result.stopped === 'out_of_space' ? 'disk' : result.stopped
  }

  async function record(through: readonly Named[]): Promise<void> {
    await db.tx(async tx => {
      if (through.length > 0) cursor = await of.passed(tx, cursor, through)
      await run.step({ cursor, done: doneIn(cursor.tally), bytes: cursor.bytes }, tx)
    })
  }

  /** Chooses the next ones. */
  async function next(
    wanted: readonly Wanted[],
  ): Promise<Choice & { roots: readonly Wanted[]; lost: readonly Lost[] }> {
    const found = await resolveThese(wanted)
    const { min_free_disk_gb: leastGb } = deps.bounds()
    const room = {
      packages: cursor.limit - cursor.taken,
      bytes: (await deps.freeBytes()) - leastGb * 1024 ** 3,
      isFirst: cursor.taken === 0,
    }
    const choice: Choice =
      found.resolution === undefined
        ? { taken: 0, packages: 0, bytes: 0, missing: [] }
        : choose(found.wanted, found.resolution, room)
    return { ...choice, roots: found.wanted.slice(0, choice.taken), lost: found.lost }
  }

  async function bound(): Promise<MirrorEnd | undefined> {
    if (deps.clock.now().toISOString() >= cursor.until) return 'time'
    if (cursor.taken >= cursor.limit) return 'packages'
    return (await listFrozen(db)).some(({ codename }) => codename === list.codename) ? 'frozen' : undefined
  }

  async function begin(roots: readonly Wanted[], missing: readonly string[]): Promise<MirrorEnd | undefined> {
    const request = {
      packages: roots.map(({ name, version }) => ({ name, version })),
      ...{ codename: list.codename, arch: list.arch, recommends: false, group },
      ...(sourceKey === undefined ? {} : { source_key: sourceKey }),
      until: cursor.until,
      free_gb: deps.bounds().min_free_disk_gb,
      part_of: `${run.id}:${cursor.asked}`,
    }
    const importing = { request, seen: 0, missing }
    cursor = { ...cursor, asked: cursor.asked + 1, importing }
    // what is asked for is on record first: after a crash it is found again by part_of
    await run.step({ cursor })
    return settle(importing)
  }

  if (cursor.importing !== undefined) {
    const stopped = await settle(cursor.importing)
    if (stopped !== undefined) return { cursor, end: stopped }
  }
  const found = await of.wanted(cursor)
  const { wanted } = found
  cursor = found.cursor
  const total = doneIn(cursor.tally) + Math.min(wanted.length, Math.max(0, cursor.limit - cursor.taken))
  await run.step({ cursor, total })
  let at = 0
  const ended = (end: MirrorEnd): Went<Cursor> => ({
    cursor: { ...cursor, remaining: cursor.remaining + wanted.length - at },
    end,
  })
  while (at < wanted.length) {
    const end = await bound()
    if (end !== undefined) return ended(end)
    const { roots, lost, full, missing, taken, packages } = await next(nextOf(wanted, at))
    const troubles = lost.map(({ name, version, arch, why }) => ({
      ...{ name, version, arch, why, distribution: list.codename, status: 'failed' },
    }))
    if (troubles.length > 0) cursor = { ...cursor, tally: countFailed(cursor.tally, troubles) }
    if (packages > 0) {
      const stopped = await begin(roots, missing)
      if (stopped !== undefined) return ended(stopped)
    } else if (taken + lost.length > 0) await record([...roots, ...lost])
    at += taken + lost.length
    if (full !== undefined) return ended(full)
  }
  return { cursor }
}
