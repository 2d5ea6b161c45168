import { listHeld, type Held } from '../../catalog/queries/distributions.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'

/** How a version compares with those of the same name and architecture in the other distribution. */
export type Standing = 'new' | 'newer' | 'same' | 'older' | 'conflict'

/** One package of the source beside the target. `target` is the newest version there. */
export interface Difference {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly target: string | null
  readonly standing: Standing
}

/**
 * The result of a copy into the target: `new` names, `newer` and `older` versions, the `same` bytes, and a `conflict`
 * where the target has the version with other bytes.
 * @param target every package of the target with these names, in the order of `listHeld`, whatever its state
 */
export function compare(source: readonly Held[], target: readonly Held[]): Difference[] {
  const there = Map.groupBy(target, one => `${one.name}\u0000${one.arch}`)
  return source.map(({ name, version, arch, sort_key, sha256 }) => {
    const others = there.get(`${name}\u0000${arch}`) ?? []
    const same = others.find(other => other.version === version)
    const newest = others.find(other => other.state === 'published')
    const standing =
      same !== undefined
        ? same.sha256 === sha256
          ? 'same'
          : 'conflict'
        : newest === undefined
          ? 'new'
          : newest.sort_key < sort_key
            ? 'newer'
            : 'older'
    return { name, version, arch, target: newest?.version ?? null, standing }
  })
}

export type Summary = Readonly<Record<Standing, number>>

/** Counts packages by their comparison. */
export function summarise(differences: readonly Difference[]): Summary {
  const counts: Record<Standing, number> = { new: 0, newer: 0, same: 0, older: 0, conflict: 0 }
  for (const { standing } of differences) counts[standing]++
  return counts
}

const ANY = ['published', 'pending_review', 'quarantined', 'rejected'] as const

/** Compares published packages of one distribution with another. @param source undefined means all of `from` */
export async function compareDistributions(
  db: Queryable,
  viewer: Viewer,
  { from, to, source }: { readonly from: string; readonly to: string; readonly source?: readonly Held[] },
): Promise<Difference[]> {
  const packages = source ?? (await listHeld(db, viewer, { codename: from, states: ['published'] }))
  const names = [...new Set(packages.map(one => one.name))]
  return compare(packages, await listHeld(db, viewer, { codename: to, names, states: ANY }))
}
