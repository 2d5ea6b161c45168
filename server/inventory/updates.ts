import { SEVERITIES, type Finding } from '../core/findings.ts'
import type { HighestRow } from '../catalog/queries/highest.ts'
import { noFindings, type SeverityCounts } from './client-row.ts'
import type { Installed } from './package-lists.ts'

export type UpdateState = 'here' | 'in_review' | 'not_here'

/** Something newer than what a machine has. */
export interface Update {
  readonly name: string
  readonly arch: string
  readonly installed: string
  readonly available: string
  readonly state: UpdateState
  readonly closes: SeverityCounts
}

/** A version here that is higher than the installed one. */
export interface Candidate {
  readonly installed: Installed
  readonly state: 'here' | 'in_review'
  readonly available: Installed
}

export interface CompareDeps {
  readonly compare: (a: string, b: string) => number
  /** Architectures that fit every machine: `all`, `noarch`. */
  readonly neutral: readonly string[]
  /** The machine's own. */
  readonly arch: string | undefined
}

/** Of several installed versions of a name, as kernels have them, the highest. */
export function highestOf(packages: readonly Installed[], compare: CompareDeps['compare']): readonly Installed[] {
  const byPlace = new Map<string, Installed>()
  for (const one of packages) {
    const known = byPlace.get(`${one.name}\t${one.arch}`)
    if (known === undefined || compare(one.version, known.version) > 0) byPlace.set(`${one.name}\t${one.arch}`, one)
  }
  return [...byPlace.values()]
}

/** What is newer here: what is served before what is held. Pure. */
export function findNewer(
  packages: readonly Installed[],
  newest: readonly HighestRow[],
  { compare, neutral, arch }: CompareDeps,
): readonly Candidate[] {
  const byName = new Map<string, HighestRow[]>()
  for (const row of newest) byName.set(row.name, [...(byName.get(row.name) ?? []), row])
  return highestOf(packages, compare).flatMap((installed): Candidate[] => {
    const fits = (row: HighestRow): boolean =>
      row.arch === installed.arch ||
      neutral.includes(row.arch) ||
      (neutral.includes(installed.arch) && row.arch === arch)
    const higher = (byName.get(installed.name) ?? []).filter(
      row => fits(row) && compare(row.version, installed.version) > 0,
    )
    const best = (state: HighestRow['state']): HighestRow | undefined =>
      higher.filter(row => row.state === state).sort((a, b) => compare(b.version, a.version))[0]
    const served = best('published')
    const row = served ?? best('pending_review')
    if (row === undefined) return []
    return [
      {
        installed,
        state: served === undefined ? 'in_review' : 'here',
        available: {
          name: row.name,
          version: row.version,
          arch: row.arch,
          source: row.source ?? '',
          sourceVersion: row.source_version ?? '',
        },
      },
    ]
  })
}

/** How many there are of each severity. */
export function countSeverities(findings: readonly Pick<Finding, 'severity'>[]): SeverityCounts {
  const counts = noFindings()
  for (const { severity } of findings) counts[severity]++
  return counts
}

/** The sums over several. */
export function addCounts(all: readonly SeverityCounts[]): SeverityCounts {
  const counts = noFindings()
  for (const one of all) for (const severity of SEVERITIES) counts[severity] += one[severity]
  return counts
}

/** A package with what is wrong with it on one machine. */
export interface Afflicted {
  readonly installed: Installed
  readonly findings: readonly Finding[]
}

const closedBy = (installed: readonly Finding[], available: readonly Finding[]): readonly Finding[] =>
  installed.filter(one => !available.some(other => other.id === one.id))

/**
 * The updates of a machine, and which of its findings each one closes: those that the newer version does not have.
 * Where nothing newer is here but advisories name a fixed version, that is one that is not here. Pure.
 * @param available  the findings of each candidate's newer version, in their order
 */
export function weighUpdates(
  candidates: readonly Candidate[],
  available: readonly (readonly Finding[])[],
  { afflicted, compare }: { readonly afflicted: readonly Afflicted[]; readonly compare: CompareDeps['compare'] },
): {
  readonly updates: readonly Update[]
  readonly stateOf: (installed: Installed, id: string) => UpdateState | undefined
} {
  const closing = new Map<string, { readonly state: UpdateState; readonly ids: ReadonlySet<string> }>()
  const placeOf = ({ name, version, arch }: Installed): string => `${name}\t${version}\t${arch}`
  const findingsOf = new Map(afflicted.map(one => [placeOf(one.installed), one.findings]))
  const here = candidates.map(({ installed, state, available: newer }, at): Update => {
    const closed = closedBy(findingsOf.get(placeOf(installed)) ?? [], available[at] ?? [])
    closing.set(placeOf(installed), { state, ids: new Set(closed.map(({ id }) => id)) })
    return {
      name: installed.name,
      arch: installed.arch,
      installed: installed.version,
      available: newer.version,
      state,
      closes: countSeverities(closed),
    }
  })
  const elsewhere = highestOf(
    afflicted.map(({ installed }) => installed),
    compare,
  ).flatMap((installed): Update[] => {
    if (closing.has(placeOf(installed))) return []
    const fixed = (findingsOf.get(placeOf(installed)) ?? []).filter(one => one.fixed_in !== undefined)
    const highest = fixed.flatMap(one => one.fixed_in ?? []).sort((a, b) => compare(b, a))[0]
    if (highest === undefined) return []
    const { name, arch, version } = installed
    return [{ name, arch, installed: version, available: highest, state: 'not_here', closes: countSeverities(fixed) }]
  })
  return {
    updates: [...here, ...elsewhere],
    stateOf: (installed, id) => {
      const known = closing.get(placeOf(installed))
      if (known?.ids.has(id) === true) return known.state
      const finding = findingsOf.get(placeOf(installed))?.find(one => one.id === id)
      return finding?.fixed_in === undefined ? undefined : 'not_here'
    },
  }
}
