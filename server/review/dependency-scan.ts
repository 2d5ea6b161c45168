import { lastId, listNew } from '../catalog/queries/rescans.ts'
import type { IndexedManifest } from '../catalog/queries/search.ts'
import { isRefusal } from '../core/errors.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Queryable } from '../db/db.ts'
import type { Log } from '../lib/log.ts'

/** The result of one run. `unavailable`: no engine could answer; the nightly run asks again. */
export interface DependencyCounts {
  readonly looked: number
  readonly held: number
  readonly unavailable: number
}

export interface DependencyScanDeps {
  readonly db: Queryable
  /** A regular expression of PostgreSQL over the list of a package's paths: which packages may carry libraries. */
  readonly candidates: string
  /** Scans a package again, with the libraries inside it. May only hold it for review. */
  readonly look: (
    known: IndexedManifest & { readonly facts: unknown },
  ) => Promise<'same' | 'changed' | 'held' | 'unavailable'>
  readonly log: Pick<Log, 'error'>
}

const BATCH = 20

/**
 * The dependency scan (npm, PyPI, Maven, Go, crates): matches the libraries inside admitted packages. It
 * comes after the publication, so it can only hold for review (the specification, "States and transitions").
 */
export function createDependencyScan({ db, candidates, look, log }: DependencyScanDeps): {
  run(): Promise<DependencyCounts>
} {
  // after a start all packages that were never rescanned; then only new ones
  let last = 0

  return {
    async run() {
      const counts = { looked: 0, held: 0, unavailable: 0 }
      const upTo = await lastId(db)
      for (;;) {
        const rows = await listNew(db, ALL_SEEING, { candidates, after: last, upTo, limit: BATCH })
        if (rows.length === 0) {
          last = upTo
          return counts
        }
        for (const { id, manifest, facts } of rows) {
          last = id
          counts.looked++
          try {
            const matched = await look({ ...manifest, facts })
            if (matched === 'held') counts.held++
            if (matched === 'unavailable') counts.unavailable++
          } catch (error) {
            if (isRefusal(error, 'version_not_found')) continue // deleted meanwhile
            log.error(
              { err: error, package: manifest.ref.name, version: manifest.ref.version },
              'the libraries inside a package could not be looked up',
            )
          }
        }
      }
    },
  }
}
