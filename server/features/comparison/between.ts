import { countFindings, type CveCounts } from '../../catalog/version-facts.ts'
import { factView } from '../../catalog/view.ts'
import { changesBetween, sayChanges, type CameAndWent, type InstallChanges } from '../../contents/changes.ts'
import type { Component, Contents } from '../../contents/component.ts'
import type { Finding, Severity } from '../../core/findings.ts'
import { named, type Named } from '../../core/identity.ts'
import { byKind } from '../../core/install-facts.ts'
import type { State } from '../../core/manifest.ts'
import type { IndexedManifest } from '../../catalog/queries/search.ts'
import { printAlternatives } from '../../core/relation.ts'
import { wasScanned } from '../../core/review.ts'
import { gapOf, hasNoData, unknownOf, type Known } from './unknown.ts'

/** One of the two versions. */
export interface Side extends Named {
  readonly status: State
  readonly size: number
  readonly installed_size: number | null
  readonly sha256: string
  readonly created_at: string
  readonly license: string | null
  readonly maintainer: string | null
  /** Whether a vulnerability engine answered for all of it: without that, no finding does not mean none. */
  readonly scanned: boolean
  /** The vulnerability data say nothing of it: no finding does not mean none. */
  readonly no_data: boolean
  readonly counts: CveCounts
}

interface FindingRow {
  readonly id: string
  readonly package: string
  readonly severity: Severity
  readonly fixed_version: string | null
}

/** What only one of the two has, and how much both have. */
interface Lists<T> extends CameAndWent<T> {
  readonly kept: number
}

/** A component that both have, in other versions. */
interface OtherVersion {
  readonly purl: string
  readonly before: readonly string[]
  readonly after: readonly string[]
}

export interface Components extends Lists<string> {
  readonly changed: readonly OtherVersion[]
  /** Why not all components of one are known; absent where both were read to the end, and all files opened. */
  readonly cut?: string
}

type FactRow = ReturnType<typeof factView>

/** Two versions side by side. `added` is what only `after` has. */
export interface Comparison {
  readonly before: Side
  readonly after: Side
  readonly findings: Lists<FindingRow>
  readonly dependencies: Lists<string> & { readonly both: readonly string[] }
  readonly provides: Lists<string>
  readonly conflicts: Lists<string>
  /** Null where one of them was never read. */
  readonly components: Components | null
  readonly install:
    | (Omit<InstallChanges, 'facts' | 'components'> & { readonly said: string; readonly facts: CameAndWent<FactRow> })
    | null
  /** What is missing above, and why; a sentence each. */
  readonly unknown: readonly string[]
}

function lists<T>(before: readonly T[], after: readonly T[], keyOf: (one: T) => string): Lists<T> {
  const [old, now] = [new Set(before.map(keyOf)), new Set(after.map(keyOf))]
  return {
    added: after.filter(one => !old.has(keyOf(one))),
    removed: before.filter(one => !now.has(keyOf(one))),
    kept: [...now].filter(key => old.has(key)).length,
  }
}
const texts = (before: readonly string[], after: readonly string[]): Lists<string> =>
  lists([...new Set(before)], [...new Set(after)], text => text)

function sideOf(manifest: IndexedManifest): Side {
  const { ref, files, about, state, at, findings } = manifest
  const [{ blob }] = files
  return {
    ...named(ref),
    status: state,
    size: blob.size,
    installed_size: about.installed_size ?? null,
    sha256: blob.sha256,
    created_at: at,
    license: about.license ?? null,
    maintainer: about.maintainer ?? null,
    scanned: wasScanned(manifest),
    no_data: hasNoData(manifest),
    counts: countFindings(findings),
  }
}

const needsOf = ({ about }: IndexedManifest, key: 'depends' | 'conflicts'): string[] => [
  ...new Set(about[key].map(printAlternatives)),
]
/** That each provides itself in its version is no difference. */
const offersOf = ({ about, ref }: IndexedManifest): string[] =>
  about.provides
    .filter(({ name }) => name !== ref.name)
    .map(({ name, version }) => (version === undefined ? name : `${name} (= ${version})`))

const rowOf = ({ id, package: name, severity, fixed_in }: Finding): FindingRow => ({
  id,
  package: name,
  severity,
  fixed_version: fixed_in ?? null,
})

/** Versions of each component that is shipped, by its package URL without a version. */
function shipped(components: readonly Component[]): Map<string, readonly string[]> {
  const found = Map.groupBy(
    components.filter(({ presence }) => presence === 'shipped'),
    ({ purl }) => purl.replace(/@[^@/]*$/, ''),
  )
  return new Map([...found].map(([purl, all]) => [purl, [...new Set(all.map(one => one.version ?? ''))].sort()]))
}

function componentsBetween(before: Contents, after: Contents): Components {
  const [old, now] = [shipped(before.components), shipped(after.components)]
  const both = [...now].flatMap(([purl, versions]) => {
    const earlier = old.get(purl)
    return earlier === undefined ? [] : [{ purl, before: earlier, after: versions }]
  })
  const changed = both.filter(one => one.before.join('\n') !== one.after.join('\n'))
  const gaps = [gapOf(after), gapOf(before)].filter(gap => gap !== undefined)
  const only = (these: typeof now, others: typeof now): string[] =>
    [...these]
      .filter(([purl]) => !others.has(purl))
      .flatMap(([purl, versions]) => versions.map(version => (version === '' ? purl : `${purl}@${version}`)))
      .sort()
  return {
    added: only(now, old),
    removed: only(old, now),
    kept: both.length - changed.length,
    changed,
    ...(gaps.length === 0 ? {} : { cut: [...new Set(gaps)].join(' ') }),
  }
}

function installBetween(before: Contents, after: Contents): Comparison['install'] {
  const changes = changesBetween(before, after)
  const { facts, scripts, hosts, listens, cut } = changes
  return {
    said: sayChanges(changes),
    facts: {
      added: facts.added.toSorted(byKind).map(factView),
      removed: facts.removed.toSorted(byKind).map(factView),
    },
    scripts,
    hosts,
    listens,
    ...(cut === undefined ? {} : { cut }),
  }
}

/** What is recorded of two versions, side by side: nothing is read for it. */
export function compareRecords(
  before: IndexedManifest,
  after: IndexedManifest,
): Pick<Comparison, 'before' | 'after' | 'findings' | 'dependencies' | 'provides' | 'conflicts'> {
  const [depended, depends] = [needsOf(before, 'depends'), needsOf(after, 'depends')]
  return {
    before: sideOf(before),
    after: sideOf(after),
    findings: lists(before.findings.map(rowOf), after.findings.map(rowOf), ({ id, package: of }) => `${id}\n${of}`),
    dependencies: { ...texts(depended, depends), both: depends.filter(need => depended.includes(need)) },
    provides: texts(offersOf(before), offersOf(after)),
    conflicts: texts(needsOf(before, 'conflicts'), needsOf(after, 'conflicts')),
  }
}

/** Compares what is known of two versions. */
export function compare(before: Known, after: Known): Comparison {
  const isRead = before.contents !== undefined && after.contents !== undefined
  return {
    ...compareRecords(before.manifest, after.manifest),
    components: isRead ? componentsBetween(before.contents, after.contents) : null,
    install: isRead ? installBetween(before.contents, after.contents) : null,
    unknown: [...unknownOf(before), ...unknownOf(after)],
  }
}
