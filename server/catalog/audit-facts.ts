import type { PackageName, PackageRef } from '../core/identity.ts'
import { receivedSha256, type Manifest, type PackageFile, type State } from '../core/manifest.ts'
import type { AuditFact } from '../record/audit.ts'
import type { FactsOf } from '../record/audit-facts.ts'
import type { Actor, Admit, Copy, Delete, Judgement } from './change.ts'

const RESULT_OF_STATE: Record<State, AuditFact['result']> = {
  published: 'SUCCESS',
  pending_review: 'WARNING',
  quarantined: 'FAILURE',
  rejected: 'FAILURE',
}

function aboutWhom(
  ref: Pick<PackageRef, 'name' | 'version' | 'codename'>,
  actor: Actor,
): Pick<AuditFact, 'user' | 'package' | 'version' | 'distribution' | 'ip'> {
  return {
    user: actor.name,
    package: ref.name,
    version: ref.version,
    distribution: ref.codename,
    ...(actor.ip === undefined ? {} : { ip: actor.ip }),
  }
}

const signedOf = ({ signed, blob }: PackageFile): Pick<FactsOf['package.admitted'], 'signed'> =>
  signed === undefined ? {} : { signed: { key: signed.key, sha256: blob.sha256 } }

/** The audit line of a version that came in. */
export function admitted({ manifest, because = [] }: Admit, actor: Actor): AuditFact {
  const [first, ...others] = manifest.files
  return {
    ...aboutWhom(manifest.ref, actor),
    action: manifest.from === 'upload' ? 'UPLOAD' : 'IMPORT',
    result: RESULT_OF_STATE[manifest.state],
    facts: {
      kind: 'package.admitted',
      file: first.path,
      sha256: receivedSha256(first),
      ...signedOf(first),
      ...(others.length === 0 ? {} : { with_files: others.map(({ path }) => path) }),
      state: manifest.state,
      ...(because.length === 0 ? {} : { because }),
    },
  }
}

/** The audit line of a version that was promoted. */
export function copied({ from }: Copy, { ref, files }: Manifest, actor: Actor): AuditFact {
  return {
    ...aboutWhom(ref, actor),
    action: 'PROMOTE',
    result: 'SUCCESS',
    facts: {
      kind: 'package.copied',
      arch: ref.arch,
      from_distribution: from.codename,
      sha256: files[0].blob.sha256,
    },
  }
}

/** The audit line of a review; undefined where it has none. */
export function judged({ fact }: Judgement, { ref }: Manifest, actor: Actor): AuditFact | undefined {
  return fact && { ...aboutWhom(ref, actor), ...fact }
}

/** The audit line of a version that was deleted. */
export function deleted({ why }: Delete, { ref, state }: Manifest, actor: Actor): AuditFact {
  return {
    ...aboutWhom(ref, actor),
    action: 'DELETE',
    result: 'SUCCESS',
    facts: { kind: 'package.deleted', arch: ref.arch, from_state: state, reason: why },
  }
}

/** A tag, what it named and what it names; undefined is nothing. */
export interface TagMove {
  readonly of: PackageName
  readonly tag: string
  readonly before: string | undefined
  readonly after: string | undefined
  /** The reason, for changes that the service makes by itself. */
  readonly why?: string
}

/** The audit line of a tag. Its version is the one that the tag names, or named last. */
export function tagged({ of, tag, before, after, why }: TagMove, actor: Actor): AuditFact {
  return {
    ...aboutWhom({ ...of, version: after ?? before ?? '' }, actor),
    action: 'TAG',
    result: 'SUCCESS',
    facts: {
      kind: 'package.tagged',
      tag,
      ...(before === undefined ? {} : { from_version: before }),
      ...(after === undefined ? {} : { to_version: after }),
      ...(why === undefined ? {} : { reason: why }),
    },
  }
}
