import type { Distribution, Repositories } from '../core/repository.ts'
import { fail } from '../core/errors.ts'
import type { Codename } from '../core/identity.ts'
import type { Db, Queryable, Tx } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import type { Pieces } from './indexes.ts'
import type { Made, Maker, Order } from './maker.ts'
import { liveGeneration, readStates } from './prune.ts'
import { readState, type GenerationState } from './state.ts'
import {
  readDirty,
  readFrozen,
  saveFrozen,
  pathsNotPublished,
  pathsWithheld,
  type Dirty,
  type Frozen,
} from './store.ts'
import { withdraw } from './withdraw.ts'

/** A generation that is kept. */
export interface GenerationCard {
  readonly n: number
  readonly at: string
  readonly packages: number
  readonly bytes: number
  readonly live: boolean
  /** The generation it is a return to. */
  readonly from?: number
}

/** The result of a rollback. */
export interface RolledBack extends Made {
  /** False when this went forward again to the packages of the database. */
  readonly frozen: boolean
  /** Packages of that generation that must not or cannot be served any more. */
  readonly left_out: readonly string[]
}

/** Written in the transaction that records the new generation: the audit line. */
export type Within = (tx: Tx, done: { readonly n: number; readonly frozen: boolean }) => Promise<void>

export interface RollbackDeps {
  readonly db: Db
  readonly layout: Layout
  readonly maker: Maker
  readonly repositories: Pick<Repositories, 'get'>
  /** The ordinary publication, from the pieces of `base`; without them everything is rendered again. */
  readonly goForward: (
    distribution: Distribution,
    base: GenerationState | undefined,
    record: Order['record'],
  ) => Promise<Made>
}

/** Rollbacks of a distribution. The caller holds the distribution's lock. */
export interface Rollback {
  /** @throws generation_not_kept, no_signing_key */
  to(codename: Codename, n: number, within: Within): Promise<RolledBack>
  /**
   * While rolled back, only what must not be served any more is taken out; new keys sign the same again. @returns
   * undefined when there was nothing to do
   */
  stay(distribution: Distribution, frozen: Frozen, dirty: readonly Dirty[]): Promise<Made | undefined>
  list(codename: Codename): Promise<{
    readonly generations: readonly GenerationCard[]
    readonly frozen: { readonly to: number; readonly head: number } | undefined
  }>
}

// a withdrawn package is not published again automatically: the person who withdrew it decides
const LOST = 'none. A rollback without a generation publishes its packages as they are now'

/** Rolls distributions back. */
export function createRollback({ db, layout, maker, repositories, goForward }: RollbackDeps): Rollback {
  /**
   * Publishes given pieces without `out`: an earlier generation, or the live one of a distribution that is rolled back.
   */
  async function republish(
    distribution: Distribution,
    {
      base,
      live,
      out,
      from,
      record,
    }: {
      readonly base: GenerationState
      readonly live: GenerationState | undefined
      readonly out: ReadonlySet<string>
      readonly from: number
      readonly record: Order['record']
    },
  ): Promise<Made> {
    const pieces: Record<string, Pieces[string]> = {}
    for (const { plans } of maker.partsOf(distribution))
      Object.assign(
        pieces,
        await withdraw(maker.cache, { plans, pieces: base.pieces, neutral: distribution.neutral }, file =>
          out.has(file.path),
        ),
      )
    const gone = (await maker.filesOf(distribution, live?.pieces ?? {})).filter(file => out.has(file.path))
    return maker.make({
      distribution,
      live,
      pieces,
      contents: base.contents,
      gone,
      came: await maker.listNewFiles(distribution, { pieces, live }),
      from,
      record,
    })
  }

  /** While rolled back, only what must not be served any more is taken out; new keys sign the same again. */
  async function stay(distribution: Distribution, frozen: Frozen, dirty: readonly Dirty[]): Promise<Made | undefined> {
    const { codename } = distribution
    const live = await maker.current(codename)
    const base =
      live ??
      (await readState(layout, codename, frozen.to)) ??
      fail('generation_not_kept', { codename, generation: frozen.to, kept: LOST })
    const fresh = dirty.filter(mark => mark.seq > frozen.seq)
    if (fresh.length === 0 && live !== undefined) return undefined
    const names = new Set(fresh.map(mark => mark.name))
    const touched = (await maker.filesOf(distribution, base.pieces)).filter(file => names.has(file.name))
    const out = await pathsNotPublished(db, codename, touched)
    const seq = Math.max(frozen.seq, ...fresh.map(mark => mark.seq))
    const record = (tx: Queryable): Promise<void> => saveFrozen(tx, codename, { ...frozen, seq })
    if (out.size > 0 || names.has('') || live === undefined)
      return republish(distribution, { base, live, out, from: frozen.to, record })
    await record(db)
    return undefined
  }

  async function rollback(codename: Codename, n: number, within: Within): Promise<RolledBack> {
    const distribution = repositories.get(codename)
    const live = await maker.current(codename)
    const frozen = await readFrozen(db, codename)
    const base = await readState(layout, codename, n)
    const kept = (await readStates(layout, codename)).map(state => state.n)
    const head = frozen?.head ?? live?.n
    if (n === head) {
      // only going back needs the earlier files, which a restored backup may not have
      const publication = await goForward(distribution, base, async (tx, made) => {
        await saveFrozen(tx, codename, undefined)
        await within(tx, { n: made, frozen: false })
      })
      return { ...publication, frozen: false, left_out: [] }
    }
    if (base === undefined || live === undefined || head === undefined) {
      return fail('generation_not_kept', {
        codename,
        generation: n,
        kept: kept.length > 0 ? kept.join(', ') : frozen === undefined ? 'none' : LOST,
      })
    }
    const files = await maker.filesOf(distribution, base.pieces)
    const unserved = await pathsNotPublished(db, codename, files)
    const withheld = await pathsWithheld(
      db,
      codename,
      files.filter(file => unserved.has(file.path)),
    )
    const unlisted = new Set(live.graves.map(grave => grave.path))
    // packages that were only deleted come back if their bytes still exist
    const out = new Set([...unserved].filter(path => withheld.has(path) || !unlisted.has(path)))
    const seq = Math.max(0, ...(await readDirty(db, codename)).map(mark => mark.seq))
    const publication = await republish(distribution, {
      base,
      live,
      out,
      from: n,
      record: async (tx, made) => {
        await saveFrozen(tx, codename, { to: n, head, seq })
        await within(tx, { n: made, frozen: true })
      },
    })
    return {
      ...publication,
      frozen: true,
      left_out: [
        ...new Set(files.filter(file => out.has(file.path)).map(file => `${file.name} ${file.version} ${file.arch}`)),
      ],
    }
  }

  return {
    stay,
    to: rollback,
    async list(codename) {
      const [live, frozen] = [await liveGeneration(layout, codename), await readFrozen(db, codename)]
      const generations = (await readStates(layout, codename))
        .filter(state => state.n <= (live ?? 0))
        .map(({ n, at, entries, files, from }): GenerationCard => ({
          n,
          at,
          packages: entries,
          bytes: files.reduce((sum, file) => sum + file.size, 0),
          live: n === live,
          ...(from === undefined ? {} : { from }),
        }))
      return { generations, frozen: frozen === undefined ? undefined : { to: frozen.to, head: frozen.head } }
    },
  }
}
