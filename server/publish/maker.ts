import { rm } from 'node:fs/promises'
import type { Distribution, Repositories } from '../core/repository.ts'
import type { Codename, FormatId } from '../core/identity.ts'
import { validUntil } from '../core/release-fields.ts'
import type { Db, Tx } from '../db/db.ts'
import { createSoleLeadership, type Leadership } from '../db/leadership.ts'
import type { Layout } from '../files/layout.ts'
import type { Format } from '../formats/format.ts'
import type { ListedFile, TreeWriter } from '../formats/tree.ts'
import type { Clock } from '../lib/clock.ts'
import { failpoint } from '../lib/failpoint.ts'
import type { Keyring, Signer } from '../signing/signer.ts'
import { countPackages, withNeutral } from './count.ts'
import { buildGeneration, goLive } from './generation.ts'
import type { Pieces } from './indexes.ts'
import { createJoiner } from './joiner.ts'
import { unlinkPackage } from './pool-links.ts'
import { createPruner, KEEP, liveGeneration, readStates, removeDueFiles, type Keep } from './prune.ts'
import type { ForeignIndexes } from './reprepro.ts'
import { age } from './shared-files.ts'
import { treeParts, type TreePart } from './tree-parts.ts'
import { createShardCache, type ShardCache } from './shard-cache.ts'
import { readState, stateFile, writeState, type GenerationState, type UnlistedFile } from './state.ts'
import {
  everyFile,
  isSetUp,
  lastGeneration,
  markAllDirty,
  readFrozen,
  readWords,
  recordGeneration,
  takeNumber,
  pathsWithheld,
  type PoolFile,
} from './store.ts'

export interface MakerDeps {
  readonly db: Db
  readonly layout: Layout
  readonly keyring: Pick<Keyring, 'signer'> & Partial<Pick<Keyring, 'rsaKeys'>>
  readonly clock: Clock
  readonly formats: (id: FormatId) => Format
  readonly repositories: Pick<Repositories, 'all' | 'find' | 'get'>
  readonly keep?: () => Keep
  /** Absent: nobody else publishes. */
  readonly leadership?: Pick<Leadership, 'epoch' | 'assert' | 'fence' | 'check'>
  /** Heard in the transaction of the first publication of a distribution that nobody set up: a package did. */
  readonly onFirst?: (tx: Tx, codename: Codename) => Promise<void>
  /** The external writer of a distribution's indexes, if any. */
  readonly foreign?: (distribution: Distribution) => ForeignIndexes | undefined
}

/** The input of a new generation. */
export interface Order {
  readonly distribution: Distribution
  /** The live generation, whose files and unlisted files are carried on. */
  readonly live: GenerationState | undefined
  readonly pieces: Pieces
  readonly contents: readonly ListedFile[]
  readonly gone: readonly PoolFile[]
  readonly came: ReadonlySet<string>
  /** Reuses the files of the live generation: only the root is made again. */
  readonly rootOnly?: true
  readonly from?: number
  /** Written with the record of the generation, in one transaction. */
  readonly record: (tx: Tx, n: number, until: Date | undefined) => Promise<void>
}

/** The result of `make`. */
export interface Made {
  readonly codename: Codename
  readonly n: number
  readonly packages: number
  readonly bytes: number
  readonly ms: number
}

/**
 * Makes generations from pieces, switches to them, and knows the live one. The caller holds the distribution's lock.
 */
export interface Maker {
  readonly cache: ShardCache
  writerOf(distribution: Distribution): TreeWriter
  /** The indexes that are cut at the same names: those of one architecture in one component. */
  partsOf(distribution: Distribution): readonly TreePart[]
  /** The package files that the pieces name, each by itself. */
  filesOf(distribution: Distribution, pieces: Pieces): Promise<PoolFile[]>
  /** The files that new pieces name; empty when the live generation has no unlisted files to compare them with. */
  listNewFiles(distribution: Distribution, order: Pick<Order, 'pieces' | 'live'>): Promise<ReadonlySet<string>>
  /** The state of the live generation; undefined when there is none, or when it was lost. */
  current(codename: Codename): Promise<GenerationState | undefined>
  /** @throws no_signing_key */
  make(order: Order): Promise<Made>
  /**
   * Forgets the states of generations whose pieces are lost: pieces are a cache. @returns true when the live generation
   * is among them: everything is then rendered again
   */
  forgetLost(codename: Codename): Promise<boolean>
  /** Forgets the live state, whose files were changed. */
  forget(codename: Codename): void
  /** Removes files whose time is over. */
  tidy(codename: Codename): Promise<void>
  close(): Promise<void>
}

/**
 * apt accepts a date this far ahead of its own clock (`Acquire::Max-FutureTime`), and none older than that of the root
 * it has.
 */
const AHEAD_MS = 10_000

/**
 * The date of a new root: now, or that of the live generation if the clock was set back a little. Clients refuse older
 * dates.
 */
function dateAfter(live: GenerationState | undefined, now: Date): Date {
  const before = Date.parse(live?.at ?? '')
  return before > now.getTime() && before - now.getTime() <= AHEAD_MS ? new Date(before) : now
}

/** The signing keys as one string; RSA keys only if they exist already. */
async function signersOf(signer: Signer, keyring: MakerDeps['keyring']): Promise<string> {
  const rsa = (await keyring.rsaKeys?.()) ?? []
  return [...signer.keys.map(key => key.fingerprint), ...rsa.map(key => key.key_name)].join(' ')
}

const digestsOf = (pieces: Pieces): readonly string[] =>
  Object.values(pieces).flatMap(shards => shards.map(({ digest }) => digest))

function unlistedFrom(
  gone: readonly PoolFile[],
  withheld: ReadonlySet<string>,
  { at, n }: { readonly at: Date; readonly n: number },
): UnlistedFile[] {
  return gone.filter(file => !withheld.has(file.path)).map(file => ({ path: file.path, at: at.toISOString(), n }))
}

/** The maker of generations below one root. */
export function createMaker({
  db,
  layout,
  keyring,
  clock,
  formats,
  keep = () => KEEP,
  leadership = createSoleLeadership(),
  foreign,
  onFirst,
}: MakerDeps): Maker {
  const joiner = createJoiner()
  const cache = createShardCache(layout, joiner)
  const states = new Map<Codename, GenerationState>()
  const pruner = createPruner(layout, joiner)

  function writerOf({ format }: Distribution): TreeWriter {
    const writer = formats(format).tree
    if (writer === undefined) throw new Error(`there is no tree for the format ${format}`)
    return writer
  }

  const partsOf = (distribution: Distribution): readonly TreePart[] => treeParts(writerOf(distribution), distribution)
  /** The first index of each part: its cards hold the paths of the packages. */
  const carriers = (distribution: Distribution, pieces: Pieces): readonly Pieces[string][] =>
    partsOf(distribution).map(({ plans }) => pieces[plans[0]?.id ?? ''] ?? [])

  async function filesOf(distribution: Distribution, pieces: Pieces): Promise<PoolFile[]> {
    const cards = await Promise.all(
      carriers(distribution, pieces)
        .flat()
        .map(shard => cache.find(shard.digest)),
    )
    return everyFile(cards.flatMap(card => card?.files ?? []))
  }

  async function current(codename: Codename): Promise<GenerationState | undefined> {
    const n = await liveGeneration(layout, codename)
    if (n === undefined) return undefined
    const known = states.get(codename)
    return known?.n === n ? known : readState(layout, codename, n)
  }

  /** Withheld packages go at once; deleted ones stay for clients with the old index. */
  async function retire(
    codename: Codename,
    gone: readonly PoolFile[],
    { at, n }: { readonly at: Date; readonly n: number },
  ): Promise<UnlistedFile[]> {
    const withheld = await pathsWithheld(db, codename, gone)
    for (const path of withheld) await unlinkPackage(layout, codename, path)
    return unlistedFrom(gone, withheld, { at, n })
  }

  /** Pieces that were replaced count as new: indexes of the last hour are joined from them. */
  async function keepReplaced(live: GenerationState | undefined, pieces: Pieces): Promise<void> {
    const named = new Set(digestsOf(pieces))
    await cache.touch(digestsOf(live?.pieces ?? {}).filter(digest => !named.has(digest)))
  }

  async function make({ distribution, live, rootOnly, ...order }: Order): Promise<Made> {
    const { contents, gone, came, from, record } = order
    const started = performance.now()
    const { codename, neutral } = distribution
    const parts = partsOf(distribution)
    const pieces = await withNeutral(cache, { parts, neutral }, order.pieces)
    const signer = await keyring.signer()
    const at = dateAfter(live, clock.now())
    const floor = Math.max(
      live?.n ?? 0,
      await lastGeneration(db, codename),
      (await liveGeneration(layout, codename)) ?? 0,
    )
    const n = await db.tx(async tx => {
      await leadership.fence(tx)
      return takeNumber(tx, codename, floor)
    })
    const words = await readWords(db, codename)
    const until = validUntil(words, at)
    const carried =
      rootOnly === true && live !== undefined ? { from: live.n, files: live.files, made: live.made } : undefined
    const indexes = carried === undefined ? foreign?.(distribution) : undefined
    const packages = indexes === undefined ? [] : await filesOf(distribution, pieces)
    const by = indexes === undefined ? undefined : (root: string) => indexes(distribution, { root, packages })
    const signedBy = await signersOf(signer, keyring)
    const { files, made } = await buildGeneration(
      { layout, cache, joiner, writer: writerOf(distribution), foreign: by, epoch: leadership.epoch() },
      { distribution, n, at, pieces, contents, signer, signedBy, live, words, carried },
    )
    const named = new Set(gone.map(file => file.path))
    const entries = countPackages(parts, pieces)
    const bytes = files.reduce((sum, file) => sum + file.size, 0)
    // a package that is listed again is not unlisted any more
    const old = (live?.graves ?? []).filter(grave => !named.has(grave.path) && !came.has(grave.path))
    const state: GenerationState = {
      schema: 3,
      n,
      at: at.toISOString(),
      pieces,
      entries,
      files,
      contents,
      graves: old,
      ...(until === undefined ? {} : { validUntil: until.toISOString() }),
      made,
      signed_by: signedBy,
      ...(from === undefined ? {} : { from }),
    }
    // written with its unlisted files before it goes live: a crash in between would lose them
    const written = [...old, ...unlistedFrom(gone, await pathsWithheld(db, codename, gone), { at, n })]
    await writeState(layout, codename, { ...state, graves: written })
    leadership.assert()
    await goLive(layout, codename, n)
    // one that stood still in between may have moved the link of a newer leader, which moves it back
    await leadership.check()
    const unlisted = [...old, ...(await retire(codename, gone, { at, n }))]
    await removeUnlisted(codename, { ...state, graves: unlisted }, { now: at, written })
    const here = new Set(files.map(file => `${file.path} ${file.sha256}`))
    const past = (live?.files ?? []).filter(file => !here.has(`${file.path} ${file.sha256}`))
    await Promise.all([joiner.take(age(layout, codename, { files: past, at })), keepReplaced(live, pieces)])
    failpoint('publish:before-done')
    await db.tx(async tx => {
      await leadership.fence(tx)
      await record(tx, n, until)
      if (live === undefined && !(await isSetUp(tx, codename))) await onFirst?.(tx, codename)
      await recordGeneration(tx, { codename, n, at, packages: entries, bytes })
    })
    return { codename, n, packages: entries, bytes, ms: Math.round(performance.now() - started) }
  }

  /**
   * Removes files whose time is over, and writes the state when that changed it.
   * @param written the unlisted files of the state on disk
   */
  async function removeUnlisted(
    codename: Codename,
    state: GenerationState,
    at: { readonly now: Date; readonly written: readonly UnlistedFile[]; readonly sweep?: boolean },
  ): Promise<void> {
    const { now, written, sweep = false } = at
    const frozen = await readFrozen(db, codename)
    const needs = frozen === undefined ? [] : [frozen.head, frozen.to]
    const oldest = await pruner.prune(codename, { live: state, now, needs, keep: keep(), sweep })
    const unlisted = await removeDueFiles(layout, codename, state.graves, { now, oldest })
    const settled = { ...state, graves: unlisted }
    states.set(codename, settled)
    if (JSON.stringify(written) !== JSON.stringify(unlisted)) await writeState(layout, codename, settled)
  }

  /** The files that new pieces name; empty when the live generation has no unlisted files to compare them with. */
  async function listNewFiles(
    distribution: Distribution,
    { pieces, live }: { readonly pieces: Pieces; readonly live: GenerationState | undefined },
  ): Promise<ReadonlySet<string>> {
    if (live === undefined || live.graves.length === 0) return new Set()
    const old = new Set(
      Object.values(live.pieces)
        .flat()
        .map(shard => shard.digest),
    )
    const fresh = Object.fromEntries(
      Object.entries(pieces).map(([id, shards]) => [id, shards.filter(shard => !old.has(shard.digest))]),
    )
    return new Set((await filesOf(distribution, fresh)).map(file => file.path))
  }

  async function forgetLost(codename: Codename): Promise<boolean> {
    const live = await liveGeneration(layout, codename)
    const lost: number[] = []
    for (const { n, pieces } of await readStates(layout, codename)) {
      const whole = await Promise.all(
        Object.values(pieces)
          .flat()
          .map(shard => cache.refresh(shard.digest)),
      )
      if (!whole.every(Boolean)) lost.push(n)
    }
    for (const n of lost) await rm(stateFile(layout, codename, n), { force: true })
    if (live === undefined || !lost.includes(live)) return false
    states.delete(codename)
    await markAllDirty(db, codename)
    return true
  }

  return {
    cache,
    writerOf,
    partsOf,
    filesOf,
    listNewFiles,
    current,
    make,
    forget: codename => {
      states.delete(codename)
    },
    forgetLost,
    async tidy(codename) {
      const state = await current(codename)
      if (state === undefined) return
      await removeUnlisted(codename, state, { now: clock.now(), written: state.graves, sweep: true })
    },
    close: () => joiner.close(),
  }
}
