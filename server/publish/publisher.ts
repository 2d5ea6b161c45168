import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { mainOf, type Distribution } from '../core/repository.ts'
import type { Codename } from '../core/identity.ts'
import type { Tx } from '../db/db.ts'
import type { ListedFile } from '../formats/tree.ts'
import { failpoint } from '../lib/failpoint.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import { updateIndexes, type IndexUpdate, type Pieces } from './indexes.ts'
import { makeLists, type ListDeps } from './later-files.ts'
import { createMaker, type Made, type MakerDeps, type Order } from './maker.ts'
import { hasEveryIndex, type TreePart } from './tree-parts.ts'
import { unlinkPackage } from './pool-links.ts'
import { pruneShards } from './prune.ts'
import { createRepair } from './repair.ts'
import { createRollback, type Rollback, type RolledBack, type Within } from './rollback.ts'
import type { GenerationState, RootDates } from './state.ts'
import { upgradeStates } from './upgrade.ts'
import { goLive } from './generation.ts'
import { liveGeneration } from './prune.ts'
import {
  clearDirty,
  lastGenerations,
  pathsWithheld,
  readDirty,
  readFrozen,
  wasPublished,
  type Dirty,
  type PoolFile,
} from './store.ts'

/** The result of a publication, for logs, events and the dashboard. */
export interface Publication extends Made {
  /** How many changes it took in. */
  readonly changes: number
  readonly shardsWritten: number
  /** Packages that the database has and the pool has not; they are left out of the index. */
  readonly missing: readonly string[]
}

/** Makes generations and switches to them. One at a time per distribution. */
export interface Publisher {
  /** Runs work on the trees of a distribution while no publication of it runs and none of its file lists is made. */
  alone<T>(codename: Codename, work: () => Promise<T>): Promise<T>
  /**
   * Updates the live tree of one distribution from the database. If it is rolled back, only removes packages that must
   * not be served any more. Idempotent; costs what changed.
   * @returns undefined when there was nothing to do. @throws no_signing_key
   */
  publish(codename: Codename): Promise<Publication | undefined>
  /**
   * Makes file lists and advisories again and publishes those that differ. The cost grows with the distribution, so it
   * runs later than the packages.
   */
  publishContents(codename: Codename): Promise<Publication | undefined>
  /** The generations that are kept, oldest first, and whether the distribution is rolled back now. */
  generations(codename: Codename): ReturnType<Rollback['list']>
  /**
   * Publishes again what generation `n` was, under a new number and date, since clients refuse a root older than
   * theirs. It stays so until it is rolled to its newest generation, which is also the way forward.
   * @param within  written in the same transaction: the audit line. @throws generation_not_kept, no_signing_key
   */
  rollback(codename: Codename, n: number, within: Within): Promise<RolledBack>
  /**
   * Removes what a crash left and checks every live tree.
   * @param of.isForeign  the trees are of another database: a backup was restored
   * @returns the distributions whose tree is to be built again
   */
  repair(of?: { readonly isForeign: boolean }): Promise<readonly Codename[]>
  /** Of the live tree; undefined where nothing is published. */
  root(codename: Codename): Promise<RootDates | undefined>
  /**
   * Publishes the live tree again with a new root; every other file is linked.
   * @param within written in the same transaction
   * @returns undefined where nothing is published. @throws no_signing_key
   */
  signAgain(
    codename: Codename,
    within: (tx: Tx, done: { readonly n: number; readonly until: Date | undefined }) => Promise<void>,
  ): Promise<Publication | undefined>
  /**
   * Puts back links that are older than what was published: a process that stood still may have moved one when it was
   * woken. @returns the distributions concerned
   */
  relink(): Promise<readonly Codename[]>
  /** Removes files that no client can request any more, in all distributions. */
  tidy(): Promise<void>
  close(): Promise<void>
}

export interface PublisherDeps extends MakerDeps, Pick<ListDeps, 'fixes' | 'documents'> {
  readonly onPublished?: (publication: Publication) => void
}

function areSame(lists: readonly ListedFile[], before: readonly ListedFile[] | undefined): boolean {
  const known = new Set(before?.map(file => `${file.path} ${file.sha256}`))
  return known.size === lists.length && lists.every(file => known.has(`${file.path} ${file.sha256}`))
}

/** The packages that changed in one part of a tree; neutral ones in each architecture. */
function changedIn(
  { arch, component }: Pick<TreePart, 'arch' | 'component'>,
  distribution: Distribution,
  dirty: readonly Dirty[],
): ReadonlySet<number> {
  const isHere = (mark: Dirty): boolean =>
    (mark.arch === null || mark.arch === arch || distribution.neutral.includes(mark.arch)) &&
    (mark.component === null || (mark.component === '' ? mainOf(distribution) : mark.component) === component)
  return new Set(dirty.filter(isHere).flatMap(mark => mark.id ?? []))
}

/** The publisher of every distribution. */
export function createPublisher(deps: PublisherDeps): Publisher {
  const { db, layout, keyring, clock, formats, repositories, onPublished } = deps
  const lock = createKeyedLock()
  /** Held while file lists and advisories are made, which publications do not wait for. It is taken before `lock`. */
  const listsLock = createKeyedLock()
  const maker = createMaker(deps)

  /** The ordinary publication: renders the pieces again in which a package changed. */
  async function follow(
    distribution: Distribution,
    {
      live,
      before,
      dirty,
      contents,
    }: {
      readonly live: GenerationState | undefined
      readonly before: GenerationState | undefined
      readonly dirty: readonly Dirty[]
      readonly contents: readonly ListedFile[] | undefined
    },
    record: Order['record'] = () => Promise.resolve(),
  ): Promise<Publication> {
    const started = performance.now()
    const everything = before === undefined || dirty.some(mark => mark.id === null)
    const parts = {
      db,
      layout,
      cache: maker.cache,
      format: formats(distribution.format),
      writer: maker.writerOf(distribution),
    }
    await keyring.signer() // no key: say so before any work
    failpoint('publish:before-build')
    const updates: IndexUpdate[] = []
    for (const part of maker.partsOf(distribution)) {
      const changed = everything ? undefined : changedIn(part, distribution, dirty)
      updates.push(await updateIndexes(parts, { distribution, ...part, before: before?.pieces ?? {}, changed }))
    }
    const pieces: Pieces = Object.assign({}, ...updates.map(update => update.pieces)) as Pieces
    const gone = updates.flatMap(update => update.gone)
    // forward again from a rollback: packages that only that generation had go, too
    if (live !== undefined && live.n !== before?.n) gone.push(...(await filesOnlyIn(distribution, live.pieces, pieces)))
    const made = await maker.make({
      distribution,
      live,
      pieces,
      contents: contents ?? before?.contents ?? [],
      gone,
      came: await maker.listNewFiles(distribution, { pieces, live }),
      record: async (tx, n, until) => {
        await clearDirty(
          tx,
          dirty.map(mark => mark.seq),
        )
        await record(tx, n, until)
      },
    })
    const shardsWritten = updates.reduce((sum, update) => sum + update.written, 0)
    return {
      ...made,
      ms: Math.round(performance.now() - started),
      shardsWritten,
      changes: dirty.length,
      missing: updates.flatMap(update => update.missing),
    }
  }

  async function filesOnlyIn(distribution: Distribution, one: Pieces, other: Pieces): Promise<readonly PoolFile[]> {
    const there = new Set((await maker.filesOf(distribution, other)).map(file => file.path))
    return (await maker.filesOf(distribution, one)).filter(file => !there.has(file.path))
  }

  const rollback = createRollback({
    db,
    layout,
    maker,
    repositories,
    goForward: async (distribution, base, record) =>
      follow(
        distribution,
        {
          live: await maker.current(distribution.codename),
          before: base,
          dirty: await readDirty(db, distribution.codename),
          contents: undefined,
        },
        record,
      ),
  })

  async function stay(...of: Parameters<Rollback['stay']>): Promise<Publication | undefined> {
    const made = await rollback.stay(...of)
    return made === undefined ? undefined : whole(made)
  }

  const whole = (made: Made): Publication => ({ shardsWritten: 0, changes: 1, missing: [], ...made })

  /** Makes the live tree what was requested. The caller holds the lock. */
  async function attempt(
    codename: Codename,
    lists: readonly ListedFile[] | undefined,
    isLast: boolean,
  ): Promise<Publication | undefined> {
    const distribution = repositories.find(codename)
    if (distribution === undefined) return undefined // removed since it was owed
    const dirty = await readDirty(db, codename)
    const frozen = await readFrozen(db, codename)
    const before = await maker.current(codename)
    const contents = lists === undefined || areSame(lists, before?.contents) ? undefined : lists
    const isWhole = before !== undefined && hasEveryIndex(maker.writerOf(distribution), distribution, before.pieces)
    if (frozen === undefined && dirty.length === 0 && isWhole && contents === undefined) return undefined
    try {
      return await (frozen !== undefined
        ? stay(distribution, frozen, dirty)
        : follow(distribution, { live: before, before, dirty, contents }))
    } catch (error) {
      await withhold(distribution, before, dirty).catch(() => undefined) // the first error says more
      if (isLast || !(await maker.forgetLost(codename).catch(() => false))) throw error
      return attempt(codename, lists, true)
    }
  }

  /** @param lists  what file lists and advisories are now; absent, those of before are carried on */
  function publishing(codename: Codename, lists?: readonly ListedFile[]): Promise<Publication | undefined> {
    return lock.run(codename, async () => {
      const publication = await attempt(codename, lists, false)
      if (publication !== undefined) onPublished?.(publication)
      return publication
    })
  }

  /**
   * When no new index can be made, because the disk is full for example, withheld packages still become unreachable.
   */
  async function withhold(
    distribution: Distribution,
    live: GenerationState | undefined,
    dirty: readonly Dirty[],
  ): Promise<void> {
    const names = new Set(dirty.map(mark => mark.name))
    const touched = (await maker.filesOf(distribution, live?.pieces ?? {})).filter(
      file => names.has('') || names.has(file.name),
    )
    for (const path of await pathsWithheld(db, distribution.codename, touched))
      await unlinkPackage(layout, distribution.codename, path)
  }

  const signAgain: Publisher['signAgain'] = async (codename, within) => {
    const live = await maker.current(codename)
    if (live === undefined) return undefined
    const { pieces, contents, from } = live
    const done = whole(
      await maker.make({
        ...{ distribution: repositories.get(codename), live, pieces, contents, rootOnly: true },
        ...{ gone: [], came: new Set() },
        ...(from === undefined ? {} : { from }),
        record: (tx, n, until) => within(tx, { n, until }),
      }),
    )
    onPublished?.(done)
    return done
  }

  async function listsOf(codename: Codename): Promise<readonly ListedFile[] | undefined> {
    const distribution = repositories.find(codename)
    if (distribution === undefined) return undefined
    const before = (await maker.current(codename))?.contents ?? []
    return makeLists(deps, distribution, { writer: maker.writerOf(distribution), before })
  }

  const repairOne = createRepair({ db, layout, maker })
  return {
    publish: codename => publishing(codename),
    publishContents: codename =>
      listsLock.run(codename, async () =>
        (await readFrozen(db, codename)) === undefined
          ? publishing(codename, await listsOf(codename))
          : publishing(codename),
      ),
    generations: codename => rollback.list(codename),
    rollback: (codename, n, within) =>
      lock.run(codename, async () => {
        const done = await rollback.to(codename, n, within)
        onPublished?.(whole(done))
        return done
      }),
    root: async codename => {
      const live = await maker.current(codename)
      if (live === undefined) return undefined
      const { at, validUntil: until } = live
      return { at: new Date(at), ...(until === undefined ? {} : { until: new Date(until) }) }
    },
    alone: (codename, work) => listsLock.run(codename, () => lock.run(codename, work)),
    signAgain: (codename, within) => lock.run(codename, () => signAgain(codename, within)),
    async repair(of = { isForeign: false }) {
      const broken: Codename[] = []
      for (const distribution of repositories.all()) {
        const { codename } = distribution
        const wasTouched =
          existsSync(join(layout.trees, codename)) ||
          existsSync(layout.publishedFolder(codename)) ||
          (await wasPublished(db, codename))
        if (!wasTouched) continue
        await upgradeStates(layout, distribution, formats(distribution.format))
        if (await repairOne(distribution, of)) broken.push(codename)
      }
      return broken
    },
    async relink() {
      const moved: Codename[] = []
      for (const [codename, last] of await lastGenerations(db))
        await lock.run(codename, async () => {
          if (repositories.find(codename) === undefined) return
          const live = await liveGeneration(layout, codename)
          if (live === undefined || live >= last || !existsSync(layout.generation(codename, last))) return
          await goLive(layout, codename, last)
          moved.push(codename)
        })
      return moved
    },
    async tidy() {
      for (const { codename } of repositories.all()) await lock.run(codename, () => maker.tidy(codename))
      await pruneShards(
        layout,
        repositories.all().map(distribution => distribution.codename),
        clock.now(),
      )
    },
    close: () => maker.close(),
  }
}
