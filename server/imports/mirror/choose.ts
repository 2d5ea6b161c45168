import type { Resolution } from '../run/plan.ts'
import type { Wanted } from './wanted.ts'

/** How much more a run may bring. */
export interface Room {
  readonly packages: number
  readonly bytes: number
  /** Nothing was brought in this run: then a closure that is larger than the room for packages comes all the same. */
  readonly isFirst: boolean
}

/** The part of the wanted packages that comes next, with what they need. */
export interface Choice {
  /** So many of them, from the first on. */
  readonly taken: number
  readonly packages: number
  readonly bytes: number
  /** What the next one did not fit into; undefined where all came. */
  readonly full?: 'packages' | 'disk'
  /** Sentences of what nothing meets, for those that are taken. */
  readonly missing: readonly string[]
}

/**
 * Takes packages, each with everything that it needs, for as long as there is room.
 * @param wanted  in the order of the roots of the resolution
 */
export function choose(
  wanted: readonly Wanted[],
  { closure, packages, needs }: Pick<Resolution, 'closure' | 'packages' | 'needs'>,
  room: Room,
): Choice {
  const places = new Map(packages.map((one, at) => [one.id, at]))
  const coming = new Set<number>()
  let bytes = 0
  let taken = 0
  let full: Choice['full']
  while (taken < wanted.length) {
    const unit = unitAt(wanted, taken)
    const own = new Set<number>()
    for (const { package: root } of closure.roots.slice(taken, taken + unit))
      for (const at of root === undefined ? [] : below(places.get(root.id), needs, coming)) own.add(at)
    const size = [...own].reduce((sum, at) => sum + (packages[at]?.size ?? 0), 0)
    const isFirst = room.isFirst && coming.size === 0
    // a file lies twice while it goes through the gate
    if (own.size > 0 && 2 * (bytes + size) > room.bytes) full = 'disk'
    else if (coming.size + own.size > room.packages && own.size > 0 && !isFirst) full = 'packages'
    if (full !== undefined) break
    for (const at of own) coming.add(at)
    bytes += size
    taken += unit
  }
  const labels = new Set([...coming].map(at => `${packages[at]?.name} ${packages[at]?.version}`))
  return {
    taken,
    packages: coming.size,
    bytes,
    ...(full === undefined ? {} : { full }),
    missing: closure.unresolved
      .filter(one => labels.has(one.needed_by))
      .map(({ needed_by: by, group, reason }) => `${by} needs ${group}: ${reason}`),
  }
}

/** How many from there on come together. */
function unitAt(wanted: readonly Wanted[], at: number): number {
  const unit = wanted[at]?.unit
  let end = at + 1
  while (unit !== undefined && wanted[end]?.unit === unit) end++
  return end - at
}

/** A place with all that it needs, as far as they are not among `without`. */
export function below(
  root: number | undefined,
  needs: readonly (readonly number[])[],
  without: ReadonlySet<number>,
): Set<number> {
  const own = new Set<number>()
  const front = root === undefined ? [] : [root]
  for (let at = front.pop(); at !== undefined; at = front.pop()) {
    if (own.has(at) || without.has(at)) continue
    own.add(at)
    front.push(...(needs[at] ?? []))
  }
  return own
}
