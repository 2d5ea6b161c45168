import type { Finding, Severity } from './findings.ts'
import type { Alternatives, Provided } from './relation.ts'
import type { Blob, Iso, PackageRef, Sha256 } from './identity.ts'
import type { Report } from './report.ts'
import { fail } from './errors.ts'
import type { VexDocument } from './vex.ts'

/** The one vocabulary inside; `catalog/view.ts` renders the specification's two. */
export const STATES = ['published', 'pending_review', 'quarantined', 'rejected'] as const
export type State = (typeof STATES)[number]

const SERVED: Readonly<Record<State, string>> = {
  published: 'Published. Clients see it as soon as the index names it.',
  pending_review: 'It waits for review. Clients do not see it until somebody decides.',
  quarantined: 'It is in quarantine. Clients do not see it.',
  rejected: 'It is rejected. Clients do not see it.',
}

/** What a state means for clients: the only place that says it. Whether an index names it is another matter. */
export const whatClientsSee = (state: State): string => SERVED[state]

/** Of a published package that is in no index yet. */
export const NOT_YET_INDEXED =
  'The index does not name it yet. It follows, or when a distribution that is rolled back goes forward again.'

/** What can happen to a package that is already known. Admission is not an event: a new manifest carries its state. */
export type Event = 'approve' | 'reject' | 'quarantine' | 'hold'

/**
 * State × event → state. An absent cell is refused with `not_possible`.
 * Source: the specification, "States and transitions"; `quarantined` is left by approval or deletion (README,
 * decisions).
 */
export const TRANSITIONS: Record<State, Partial<Record<Event, State>>> = {
  // approving what is served accepts the findings it has
  published: { approve: 'published', quarantine: 'quarantined', hold: 'pending_review' },
  pending_review: { approve: 'published', reject: 'rejected', quarantine: 'quarantined', hold: 'pending_review' },
  quarantined: { approve: 'published', reject: 'rejected' },
  rejected: { approve: 'published' },
}

/** @throws not_possible, naming the state and what a person may do in it: `hold` is what mechanisms do */
export function transition(from: State, event: Event): State {
  return (
    TRANSITIONS[from][event] ??
    fail('not_possible', {
      event,
      state: from,
      possible: Object.keys(TRANSITIONS[from])
        .filter(one => one !== 'hold')
        .join(', '),
    })
  )
}

/** Only published packages are named by an index. */
export function isServed(state: State): boolean {
  return state === 'published'
}

/** Whose bytes lie in the pool; those of the others are out of every tree's reach. */
export function isKept(state: State): boolean {
  return state === 'published' || state === 'pending_review'
}

/** A person's decision on a package or its findings. */
export interface Decision {
  readonly decision: string
  readonly action: 'approve' | 'reject'
  readonly justification: string
  readonly by: string
  readonly at: Iso
  readonly expires_at?: Iso
  /** When it must be decided by the policy's SLA. */
  readonly due_at?: Iso
  /** The vulnerability it is about; absent when it is about the package. */
  readonly cve?: string
  /** What the package had then: an approval covers these findings and none that come later. */
  readonly covers?: readonly string[]
}

/** What the review keeps of a package; `core/review.ts` reads it. */
export interface Review {
  /** Since when it waits for a decision; absent while it does not. */
  readonly held_at?: Iso
  /** Why it waits or is in quarantine, in one sentence, where no step of the gate says it. */
  readonly held_for?: string
  readonly assigned_to?: string
  /** Every decision, oldest first. */
  readonly history?: readonly Decision[]
  /** Ids that an earlier scan found and the newest did not: should they come back, they are not new. */
  readonly gone?: readonly string[]
  /** Acceptances that ended before this have been acted on. */
  readonly lapsed_at?: Iso
  /** What suppliers say of its vulnerabilities, in the order in which their documents came. */
  readonly vex?: readonly VexDocument[]
}

/** Facts every format gives about a package; the rest is the format's own `facts`. */
export interface Description {
  readonly summary: string
  readonly description: string
  readonly source: string
  readonly source_version: string
  /** Other sources whose code was built into it, in the versions that were used. */
  readonly built_using?: readonly { readonly name: string; readonly version: string }[]
  readonly homepage?: string
  readonly maintainer?: string
  readonly section?: string
  readonly license?: string
  /** Bytes on disk once installed. */
  readonly installed_size?: number
  readonly depends: readonly Alternatives[]
  readonly provides: readonly Provided[]
  readonly conflicts: readonly Alternatives[]
}

/**
 * This repository's own signature inside a package. `received` is the file as it arrived, before the signature was put
 * in.
 */
export interface PackageSignature {
  readonly key: string
  readonly at: Iso
  readonly received: Blob
}

/** What a package is for, where it is not to be installed and run: the source of others, or symbols for a debugger. */
export const PACKAGE_KINDS = ['binary', 'source', 'debug'] as const
export type PackageKind = (typeof PACKAGE_KINDS)[number]

/** How a version came that nobody uploaded. */
export interface Imported {
  /** `directory`: from a source that is a directory of this machine; `adopted`: the whole tree of another tool. */
  readonly method: 'internet' | 'directory' | 'adopted'
  /** What came together has the same one. */
  readonly group: string
}

/** One file of a version. */
export interface PackageFile {
  /** The name it came with, different from those of the version's other files; shown, never a path on this disk. */
  readonly path: string
  readonly blob: Blob
  /** Absent where `blob` is the file as it arrived. */
  readonly signed?: PackageSignature
}

/**
 * One version of a package: where it is and how it got there. State, findings and decisions are about all its files.
 * One per reference; the JSON on disk is exactly this.
 */
export interface Manifest {
  readonly schema: 2
  readonly ref: PackageRef
  /** The component of the repository it is in; absent: the first one. No part of what identifies it. */
  readonly component?: string
  /** Absent: `binary`. */
  readonly kind?: PackageKind
  /** First the one that was inspected; others where a version has several, as the tarballs of a source package. */
  readonly files: readonly [PackageFile, ...PackageFile[]]
  readonly about: Description
  readonly state: State
  readonly reports: readonly Report[]
  readonly findings: readonly Finding[]
  readonly worst?: Severity
  /** The format's own index facts, opaque to everyone else. JSON. */
  readonly facts: unknown
  /** Paths a client would install, for Contents and filelists. */
  readonly paths: readonly string[]
  /** The standing decision about the package as a whole. */
  readonly decision?: Decision
  readonly review?: Review
  readonly by: string
  readonly from: 'upload' | `source:${string}`
  /** Absent for what was uploaded. */
  readonly imported?: Imported
  readonly at: Iso
  readonly changed_at: Iso
}

/** The digest of a file as somebody sent it; what is in the pool may carry this repository's signature beside. */
export function receivedSha256({ blob, signed }: PackageFile): Sha256 {
  return (signed?.received ?? blob).sha256
}

/**
 * The first file in which two versions of one identity differ, as it was received; undefined where they are the same.
 * A file that was sent without this repository's signature is the same as with it. Names of first files do not matter.
 */
export function differentFile(
  known: Manifest['files'],
  incoming: Manifest['files'],
): { readonly known: Sha256 | undefined; readonly incoming: Sha256 | undefined } | undefined {
  const [first, ...others] = known
  const [newFirst, ...newOthers] = incoming
  const pairs: readonly (readonly [PackageFile | undefined, PackageFile | undefined])[] = [
    [first, newFirst],
    ...others.map(file => [file, newOthers.find(({ path }) => path === file.path)] as const),
    ...newOthers.filter(({ path }) => !others.some(file => file.path === path)).map(file => [undefined, file] as const),
  ]
  const isSame = (a: PackageFile | undefined, b: PackageFile | undefined): boolean =>
    a !== undefined &&
    b !== undefined &&
    // sent again as it was sent before, or as clients get it
    [a.blob.sha256, receivedSha256(a)].some(digest => digest === b.blob.sha256 || digest === receivedSha256(b))
  const pair = pairs.find(([a, b]) => !isSame(a, b))
  return pair && { known: pair[0] && receivedSha256(pair[0]), incoming: pair[1] && receivedSha256(pair[1]) }
}
