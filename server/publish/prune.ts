import { readdir, readlink, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Codename } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import { recipePath } from '../files/recipes.ts'
import type { Joiner } from './joiner.ts'
import { sharedPaths } from './shared-files.ts'
import { readState, stateFile, type GenerationState, type UnlistedFile } from './state.ts'
import { unlinkPackage } from './pool-links.ts'

/** How many generations are kept, the live one included, and for how long those that are not live. */
export interface Keep {
  readonly generations: number
  readonly days: number
}
export const KEEP: Keep = { generations: 5, days: 7 }
const DAY_MS = 86_400_000
/** How long files stay reachable for clients with an older index. */
const GRACE_MS = 60 * 60 * 1000

type Places = Pick<Layout, 'trees' | 'shards' | 'generation' | 'live' | 'published' | 'blob' | 'byHash'>

/** The number of the generation that clients see, undefined where nothing was published. */
export async function liveGeneration(layout: Pick<Layout, 'live'>, codename: Codename): Promise<number | undefined> {
  try {
    const n = Number(basename(await readlink(layout.live(codename))))
    return Number.isInteger(n) ? n : undefined
  } catch {
    return undefined // never published
  }
}

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Folders and states of a distribution, oldest first. */
export async function listGenerations(layout: Pick<Layout, 'trees'>, codename: Codename): Promise<number[]> {
  const numbers = (await names(join(layout.trees, codename))).flatMap(name =>
    /^\d+$/.test(name) ? [Number(name)] : [],
  )
  return numbers.sort((a, b) => a - b)
}

async function removeOld(
  folder: string,
  { needed, before }: { readonly needed: ReadonlySet<string>; readonly before: number },
): Promise<void> {
  for (const name of await names(folder)) {
    const path = join(folder, name)
    const known = await stat(path).catch(() => undefined)
    if (known === undefined) continue
    if (known.isDirectory()) await removeOld(path, { needed, before })
    else if (!needed.has(name) && known.mtimeMs < before) await rm(path, { force: true })
  }
}

/**
 * Removes unlisted package files from the tree once their hour is over and no kept generation lists them.
 * @param oldest the oldest generation that is kept
 * @returns those that stay for now
 */
export async function removeDueFiles(
  layout: Pick<Layout, 'published' | 'blob'>,
  codename: Codename,
  unlisted: readonly UnlistedFile[],
  { now, oldest }: { readonly now: Date; readonly oldest: number },
): Promise<readonly UnlistedFile[]> {
  const due = unlisted.filter(file => now.getTime() - Date.parse(file.at) >= GRACE_MS && file.n <= oldest)
  for (const grave of due) await unlinkPackage(layout, codename, grave.path)
  return unlisted.filter(file => !due.includes(file))
}

/** The states of the generations that exist, oldest first; a generation without its state cannot be returned to. */
export async function readStates(layout: Pick<Layout, 'trees'>, codename: Codename): Promise<GenerationState[]> {
  return (await Promise.all((await listGenerations(layout, codename)).map(n => readState(layout, codename, n)))).filter(
    state => state !== undefined,
  )
}

/** How long until the by-hash files are searched for old ones again. They grow with the publications of an hour. */
const SWEEP_MS = 10 * 60 * 1000

/** Removes what no client can request any more. */
export interface Pruner {
  /**
   * Removes generations that are not kept; by-hash files and file lists every ten minutes, so that a publication does
   * not pay for those before it.
   * @param live the generation that clients see
   * @param needs further generations that stay whatever their age
   * @param sweep removes by-hash files and file lists now
   * @returns the oldest generation that is kept
   */
  prune(
    codename: Codename,
    to: {
      readonly live: GenerationState
      readonly now: Date
      readonly needs?: readonly number[]
      readonly keep?: Keep
      readonly sweep?: boolean
    },
  ): Promise<number>
}

interface Remembered {
  /** When the generation was made, in ms. */
  readonly at: number
  /** The by-hash files of its indexes that can be joined from pieces again. */
  readonly shared: readonly string[]
}

function joinableIn(state: GenerationState | undefined): readonly string[] {
  return (state?.files ?? []).filter(({ recipe }) => recipe === 'beside').flatMap(sharedPaths)
}

/** The pruner of every tree. It remembers when generations were made and when it last searched for old files. */
export function createPruner(layout: Places, thread: Pick<Joiner, 'take'>): Pruner {
  const swept = new Map<Codename, number>()
  const remembered = new Map<Codename, ReadonlyMap<number, Remembered>>()

  /** What is known of the generations. Reads the states that it does not know yet; those that are lost are of 1970. */
  async function recall(
    codename: Codename,
    { all, live }: { readonly all: readonly number[]; readonly live: GenerationState },
  ): Promise<ReadonlyMap<number, Remembered>> {
    const known = remembered.get(codename)
    const now = new Map<number, Remembered>()
    for (const n of all) {
      const state = known?.has(n) === true ? undefined : n === live.n ? live : await readState(layout, codename, n)
      now.set(n, known?.get(n) ?? { at: Date.parse(state?.at ?? '1970-01-01'), shared: joinableIn(state) })
    }
    remembered.set(codename, now)
    return now
  }

  /** Removes by-hash files and file lists that no kept generation names and whose hour is over. */
  async function sweepFiles(codename: Codename, kept: ReadonlySet<number>, now: Date): Promise<void> {
    const states = await readStates(layout, codename)
    const needed = new Set(
      states
        .filter(state => kept.has(state.n))
        .flatMap(state => state.files.flatMap(file => [file.sha256, file.sha512 ?? '', basename(file.path)]))
        .flatMap(name => [name, recipePath(name)]),
    )
    const before = now.getTime() - GRACE_MS
    await removeOld(layout.byHash(codename), { needed, before })
    await removeOld(join(layout.trees, codename, 'contents'), { needed, before })
    swept.set(codename, now.getTime())
  }

  return {
    async prune(codename, { live: state, now, needs = [], keep = KEEP, sweep = false }) {
      const live = state.n
      const isDue = sweep || Math.abs(now.getTime() - (swept.get(codename) ?? 0)) >= SWEEP_MS
      if (isDue) remembered.delete(codename) // a state may have been lost meanwhile
      const all = (await listGenerations(layout, codename)).filter(n => n <= live)
      const known = await recall(codename, { all, live: state })
      const recent = all
        .slice(-keep.generations)
        .filter(n => n === live || now.getTime() - (known.get(n)?.at ?? 0) < keep.days * DAY_MS)
      const kept = new Set([...recent, ...needs])
      const named = new Set([...kept].flatMap(n => known.get(n)?.shared ?? []))
      const dropped = all.filter(one => !kept.has(one))
      // who still holds the root of one is served from the pieces
      const shared = dropped.flatMap(n => known.get(n)?.shared ?? []).filter(path => !named.has(path))
      const paths = [
        ...shared.map(path => join(layout.byHash(codename), path)),
        ...dropped.flatMap(n => [layout.generation(codename, n), stateFile(layout, codename, n)]),
      ]
      await thread.take(paths.map(path => ({ do: 'remove', path })))
      if (isDue) await sweepFiles(codename, kept, now)
      return Math.min(...kept)
    },
  }
}

/** Removes pieces that no kept generation of any distribution is made of, nor an index of the last hour. */
export async function pruneShards(layout: Places, codenames: readonly Codename[], now: Date): Promise<void> {
  const needed = new Set<string>()
  for (const codename of codenames) {
    for (const n of await listGenerations(layout, codename)) {
      const state = await readState(layout, codename, n)
      for (const shard of Object.values(state?.pieces ?? {}).flat())
        for (const kind of ['txt', 'gz', 'xz', 'zst', 'deflate', 'json']) needed.add(`${shard.digest}.${kind}`)
    }
  }
  // later than the recipes that name them, which a search of every ten minutes removes
  await removeOld(layout.shards, { needed, before: now.getTime() - GRACE_MS - SWEEP_MS })
}
