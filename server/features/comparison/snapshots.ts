import type { IndexedManifest } from '../../catalog/queries/search.ts'
import { snapshotOf, type Snapshot } from '../../catalog/snapshot.ts'
import type { CameAndWent } from '../../contents/changes.ts'
import { compareRecords } from './between.ts'

interface Change {
  readonly field: string
  readonly v1: unknown
  readonly v2: unknown
}

/** Two versions side by side, in the words of existing clients. */
export interface ComparedSnapshots {
  readonly package: string
  readonly arch: string
  readonly v1: string
  readonly v2: string
  readonly v1_manifest: Snapshot
  readonly v2_manifest: Snapshot
  readonly diff: {
    readonly changed: readonly Change[]
    readonly dependencies: CameAndWent<string>
    readonly cves: CameAndWent<string>
  }
}

const COMPARED = [
  'arch',
  'distribution',
  'section',
  'maintainer',
  'status',
  'size_bytes',
  'installed_size_kb',
  'sha256',
] as const

/** Compares two versions for existing clients: by the same rules as `compare`. */
export function compareSnapshots(before: IndexedManifest, after: IndexedManifest): ComparedSnapshots {
  const [one, two] = [snapshotOf(before), snapshotOf(after)]
  const { dependencies, findings } = compareRecords(before, after)
  const idsOf = (rows: readonly { readonly id: string }[]): string[] => [...new Set(rows.map(({ id }) => id))]
  return {
    package: after.ref.name,
    arch: two.arch,
    v1: one.version,
    v2: two.version,
    v1_manifest: one,
    v2_manifest: two,
    diff: {
      changed: COMPARED.flatMap(field =>
        one[field] === two[field] ? [] : [{ field, v1: one[field], v2: two[field] }],
      ),
      dependencies: { added: dependencies.added, removed: dependencies.removed },
      cves: { added: idsOf(findings.added), removed: idsOf(findings.removed) },
    },
  }
}
