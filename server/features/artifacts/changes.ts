import { findPrevious } from '../../catalog/queries/previous.ts'
import type { IndexedManifest } from '../../catalog/queries/search.ts'
import { findLatest, type NameFilter } from '../../catalog/queries/names.ts'
import { factView, installView, type InstallView } from '../../catalog/view.ts'
import { changesBetween, sayChanges, type CameAndWent, type InstallChanges } from '../../contents/changes.ts'
import type { ContentsOf } from '../../contents/contents.ts'
import { named, type Named } from '../../core/identity.ts'
import { byKind } from '../../core/install-facts.ts'
import { isKept } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { refuseMissing } from './artifacts.ts'

/** What installing a version does, and what of that the version before did not. */
export interface Changes extends Named {
  /** The version that clients have before it; null where there is none. */
  readonly since: Named | null
  /** One sentence. */
  readonly said: string
  readonly install: InstallView | null
  readonly changes:
    (Omit<InstallChanges, 'facts'> & { readonly facts: CameAndWent<ReturnType<typeof factView>> }) | null
}

interface ChangesDeps {
  readonly db: Queryable
  readonly contents: Pick<ContentsOf, 'of' | 'known'>
}

/**
 * Compares a version with the newest served one below it. Reads both where nobody has, and they are in the pool.
 * @throws package_not_found, version_not_found
 */
export async function readChanges(
  { db, contents }: ChangesDeps,
  viewer: Viewer,
  { filter, signal }: { readonly filter: NameFilter; readonly signal: AbortSignal },
): Promise<Changes> {
  const manifest = (await findLatest(db, viewer, filter)) ?? (await refuseMissing(db, viewer, filter))
  const before = manifest.kind === 'source' ? undefined : await findPrevious(db, viewer, manifest.ref)
  const read = (one: IndexedManifest) => (isKept(one.state) ? contents.of(one, signal) : contents.known(one))
  const [now, old] = [await read(manifest), before && (await read(before))]
  const record = now?.install ?? manifest.reports.find(({ step }) => step === 'scripts')?.install
  const about = {
    ...named(manifest.ref),
    since: before === undefined ? null : named(before.ref),
    install: record === undefined ? null : installView(record),
  }
  if (before === undefined || old === undefined)
    return { ...about, said: 'No earlier version is here to compare with.', changes: null }
  if (now === undefined)
    return { ...about, said: 'Its file is not in the pool, and nothing is kept of what was read in it.', changes: null }
  const changes = changesBetween(old, now)
  const { added, removed } = changes.facts
  return {
    ...about,
    said: sayChanges(changes),
    changes: {
      ...changes,
      facts: { added: added.toSorted(byKind).map(factView), removed: removed.toSorted(byKind).map(factView) },
    },
  }
}
