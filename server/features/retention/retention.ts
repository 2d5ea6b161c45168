import type { Catalog } from '../../catalog/catalog.ts'
import { isKept, listSurplus, type Surplus } from '../../catalog/queries/retention.ts'
import { fail, isRefusal } from '../../core/errors.ts'
import type { SeenRepositories } from '../../core/repository.ts'
import { ALL_SEEING, type Viewer } from '../../core/viewer.ts'
import type { Db, Tx } from '../../db/db.ts'
import { listPins, readKeep } from './store.ts'

export interface RetentionDeps {
  readonly db: Db
  readonly catalog: Pick<Catalog, 'change'>
  readonly repositories: Pick<SeenRepositories, 'need'>
}

export interface Rule {
  readonly codename: string
  /** How many of the newest versions of each name and architecture stay; null: all. */
  readonly keep: number | null
  readonly pins: readonly {
    readonly name: string
    readonly version: string
    readonly reason: string
    readonly by: string
    readonly at: string
  }[]
}

export interface Cleaned {
  readonly codename: string
  readonly keep: number
  readonly dry_run: boolean
  readonly removed: readonly Omit<Surplus, 'pinned'>[]
  /** Would be removed, but are pinned. */
  readonly pinned: readonly Omit<Surplus, 'pinned'>[]
  readonly bytes: number
  readonly message: string
}

/** @throws distribution_not_found */
export async function readRule(
  { db, repositories }: Pick<RetentionDeps, 'db' | 'repositories'>,
  name: string,
): Promise<Rule> {
  const { codename } = repositories.need(name)
  const [keep, pins] = await Promise.all([readKeep(db, codename), listPins(db, codename)])
  return { codename, keep: keep ?? null, pins: pins.map(pin => ({ ...pin, at: pin.at.toISOString() })) }
}

/**
 * Removes the versions that a rule does not keep, or only lists them. Clients can fetch the files for as long as an
 * index that they may have names them.
 * @throws distribution_not_found, no_retention_rule
 */
export async function clean(
  { db, catalog, repositories }: RetentionDeps,
  name: string,
  wish: {
    readonly keep?: number | undefined
    readonly dryRun: boolean
    readonly by: string
    readonly ip?: string
    readonly viewer: Viewer
    readonly signal?: AbortSignal
    /** Called after each that was removed. */
    readonly removed?: (one: Omit<Surplus, 'pinned'>) => Promise<void>
  },
): Promise<Cleaned> {
  const { codename, format } = repositories.need(name)
  const keep = wish.keep ?? (await readKeep(db, codename)) ?? fail('no_retention_rule', { codename })
  const surplus = (await listSurplus(db, wish.viewer, { codename, keep })).map(({ pinned, ...one }) => ({
    pinned,
    one,
  }))
  const actor = { name: wish.by, ...(wish.ip === undefined ? {} : { ip: wish.ip }) }
  const removed: Omit<Surplus, 'pinned'>[] = []
  for (const { pinned, one } of surplus) {
    if (pinned) continue
    wish.signal?.throwIfAborted()
    const ref = { format, codename, name: one.name, version: one.version, arch: one.arch }
    try {
      // pinned since, or among the newest because a newer one was removed
      const unless = (tx: Tx): Promise<boolean> => isKept(tx, ALL_SEEING, { ...ref, keep })
      const done =
        wish.dryRun ||
        (
          await catalog.change(
            { kind: 'delete', ref, why: `Retention keeps ${keep === 1 ? '1 version' : `${keep} versions`}.`, unless },
            actor,
          )
        ).outcome === 'deleted'
      if (!done) continue
      removed.push(one)
      await wish.removed?.(one)
    } catch (error) {
      if (!isRefusal(error, 'version_not_found')) throw error // deleted by somebody meanwhile
    }
  }
  const many = removed.length === 1 ? '1 package' : `${removed.length} packages`
  const said = wish.dryRun ? 'would go' : removed.length === 1 ? 'was removed' : 'were removed'
  return {
    codename,
    keep,
    dry_run: wish.dryRun,
    removed,
    pinned: surplus.filter(({ pinned }) => pinned).map(({ one }) => one),
    bytes: removed.reduce((sum, { size }) => sum + size, 0),
    message: `${many} ${said}; each name keeps its newest ${keep}.`,
  }
}
