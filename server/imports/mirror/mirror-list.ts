import { isRefusal } from '../../core/errors.ts'
import type { Run } from '../../core/work.ts'
import { askImport, followImport } from '../run/asked.ts'
import type { ImportResult } from '../run/import-work.ts'
import type { Resolution } from '../run/plan.ts'
import type { Source } from '../source.ts'
import { choose, type Choice } from './choose.ts'
import { listFrozen } from './frozen.ts'
import { keyOf } from './lists.ts'
import { countFailed, countIn, doneIn, type MirrorEnd, type Trouble } from './report.ts'
import { readPlace, savePlace, type MirrorRule } from './rules.ts'
import type { Importing, ListCursor, MirrorCursor, MirrorDeps } from './run.ts'
import { listWanted, type MirrorList, type Wanted } from './wanted.ts'

export interface ListOf {
  readonly source: Source
  readonly all: readonly Source[]
  readonly rule: MirrorRule
  readonly list: MirrorList
  readonly cursor: MirrorCursor
}

interface Went {
  readonly cursor: MirrorCursor
  /** Why it did not come to the end of the list. */
  readonly end?: MirrorEnd
}

/** So many are resolved and imported together: one publication for each. */
const TOGETHER = 50

/** The wanted ones in the order of this run: from where it began to the end, then from the first. */
function inOrder(
  wanted: readonly Wanted[],
  after: string,
  { start, wrapped }: NonNullable<ListCursor['list']>,
): Wanted[] {
  const behind = wanted.filter(({ name }) => name > after && (!wrapped || name <= start))
  return wrapped ? behind : [...behind, ...wanted.filter(({ name }) => name <= start)]
}

/** What the packages were resolved to; those that no source has any more, as `lost`. */
async function resolveThese(
  { planner }: Pick<MirrorDeps, 'planner'>,
  wanted: readonly Wanted[],
  { list, source, signal }: { list: MirrorList; source: Source; signal: AbortSignal },
): Promise<{ wanted: readonly Wanted[]; resolution: Resolution | undefined; lost: readonly Wanted[] }> {
  const ask = (these: readonly Wanted[]): Promise<Resolution> =>
    planner.resolve(
      {
        packages: these.map(({ name, version }) => ({ name, version })),
        target: { ...list, state: 'active' },
        recommends: false,
        sourceKey: source.key,
      },
      signal,
    )
  const isUnknown = (error: unknown): boolean =>
    isRefusal(error, 'import_unknown') || isRefusal(error, 'import_unknown_version')
  try {
    return { wanted, resolution: await ask(wanted), lost: [] }
  } catch (error) {
    if (!isUnknown(error)) throw error
  }
  const kept: Wanted[] = []
  const lost: Wanted[] = []
  for (const one of wanted)
    try {
      await ask([one])
      kept.push(one)
    } catch (error) {
      if (!isUnknown(error)) throw error
      lost.push(one)
    }
  return { wanted: kept, resolution: kept.length === 0 ? undefined : await ask(kept), lost }
}

/** Brings what a list wants, until it is through or the run has come to a bound. */
export async function mirrorList(deps: MirrorDeps, run: Run<MirrorCursor>, of: ListOf): Promise<Went> {
  const { db } = deps
  const { source, list } = of
  const place = { sourceId: source.id, codename: list.codename, arch: list.arch }
  let cursor = of.cursor

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
    const { importing: _, ...rest } = cursor
    const result = end.state === 'done' ? (end.result as ImportResult) : undefined
    if (result === undefined) {
      // counted as failed where it could not be done; a person who cancelled it wants the run to end
      const why = end.error?.message ?? null
      const troubles: Trouble[] = request.packages.map(({ name, version = '' }) => ({
        ...{ distribution: list.codename, name, version, arch: list.arch, status: 'failed', why },
      }))
      const isFull = end.error?.code === 'import_no_room' || end.error?.code === 'storage_full'
      const stop: MirrorEnd | undefined = end.state === 'cancelled' ? 'cancelled' : isFull ? 'disk' : undefined
      cursor = stop === undefined ? { ...rest, tally: countFailed(rest.tally, troubles) } : rest
      const after = stop === undefined ? (request.packages.at(-1)?.name ?? '') : undefined
      await record(after)
      return stop
    }
    const left = result.packages.filter(({ status }) => status === 'waiting')
    const leftRoots = new Set(left.filter(one => one.is_root).map(({ name }) => name))
    const firstLeft = request.packages.findIndex(({ name }) => leftRoots.has(name))
    const through = firstLeft < 0 ? request.packages : request.packages.slice(0, firstLeft)
    cursor = {
      ...rest,
      taken: rest.taken + result.packages.length - left.length,
      bytes: rest.bytes + result.bytes,
      tally: countIn(rest.tally, result, importing.missing),
    }
    await record(through.at(-1)?.name)
    return result.stopped ?? undefined
  }

  /** Keeps how far it is. @param name  the last that was dealt with; what follows it may be of the same name */
  async function record(name: string | undefined): Promise<void> {
    await db.tx(async tx => {
      // not past the name: other versions of it may be left. What is here is not wanted again
      if (name !== undefined) {
        const { start = '', wrapped = false, key = keyOf(list) } = cursor.list ?? {}
        cursor = { ...cursor, list: { key, start, wrapped: wrapped || name <= start } }
        await savePlace(tx, { ...place, after: name })
      }
      await run.step({ cursor, done: doneIn(cursor.tally), bytes: cursor.bytes }, tx)
    })
  }

  /** Chooses the next ones. */
  async function next(
    wanted: readonly Wanted[],
  ): Promise<Choice & { roots: readonly Wanted[]; lost: readonly Wanted[] }> {
    const found = await resolveThese(deps, wanted, { ...of, signal: run.signal })
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

  if (cursor.importing !== undefined) {
    const stopped = await settle(cursor.importing)
    if (stopped !== undefined) return { cursor, end: stopped }
  }
  const state = cursor.list?.key === keyOf(list) ? cursor.list : undefined
  const after = await readPlace(db, source.id, list.codename, list.arch)
  cursor = { ...cursor, list: state ?? { key: keyOf(list), start: after, wrapped: false } }
  const siblings = of.all.filter(one => one.enabled && one.codenames.includes(list.codename))
  const wanted = inOrder(
    await listWanted(
      db,
      {
        ...of,
        sources: siblings.map(({ id }) => id),
        security: siblings.filter(({ security }) => security).map(({ id }) => id),
      },
      deps.formatOf(list.format),
    ),
    after,
    cursor.list as NonNullable<ListCursor['list']>,
  )
  const total = doneIn(cursor.tally) + Math.min(wanted.length, Math.max(0, cursor.limit - cursor.taken))
  await run.step({ cursor, total })
  let at = 0
  const bound = async (): Promise<MirrorEnd | undefined> => {
    if (deps.clock.now().toISOString() >= cursor.until) return 'time'
    if (cursor.taken >= cursor.limit) return 'packages'
    return (await listFrozen(db)).some(({ codename }) => codename === list.codename) ? 'frozen' : undefined
  }
  while (at < wanted.length) {
    const end = await bound()
    if (end !== undefined) return { cursor: { ...cursor, remaining: cursor.remaining + wanted.length - at }, end }
    const { roots, lost, full, missing, taken, packages } = await next(wanted.slice(at, at + TOGETHER))
    if (lost.length > 0) {
      const why = 'Its source lists it no longer, or hides it from clients.'
      const troubles = lost.map(one => ({ ...one, distribution: list.codename, status: 'failed', why }))
      cursor = {
        ...cursor,
        tally: countFailed(
          cursor.tally,
          troubles.map(({ size: _, ...rest }) => rest),
        ),
      }
    }
    if (packages > 0) {
      const { min_free_disk_gb: leastGb } = deps.bounds()
      const request = {
        packages: roots.map(({ name, version }) => ({ name, version })),
        ...{ codename: list.codename, arch: list.arch, recommends: false },
        group: source.codenames.length === 1 ? `mirror-${source.key}` : `mirror-${source.key}-${list.codename}`,
        source_key: source.key,
        until: cursor.until,
        free_gb: leastGb,
        part_of: `${run.id}:${cursor.asked}`,
      }
      cursor = { ...cursor, asked: cursor.asked + 1, importing: { request, seen: 0, missing } }
      // what is asked for is on record first: after a crash it is found again by part_of
      await run.step({ cursor })
      const stopped = await settle(cursor.importing as Importing)
      if (stopped !== undefined)
        return { cursor: { ...cursor, remaining: cursor.remaining + wanted.length - at }, end: stopped }
    } else if (taken + lost.length > 0) await record([...roots, ...lost].at(-1)?.name)
    at += taken + lost.length
    if (full !== undefined)
      return { cursor: { ...cursor, remaining: cursor.remaining + wanted.length - at }, end: full }
  }
  // the next run begins with the first again
  cursor = { ...cursor, done: [...cursor.done, keyOf(list)] }
  const { list: _, ...rest } = cursor
  cursor = rest
  await db.tx(async tx => {
    await savePlace(tx, { ...place, after: '' })
    await run.step({ cursor }, tx)
  })
  return { cursor }
}
