import { ALL_SEEING } from '../core/viewer.ts'
import { printRef, sha256, type PackageName, type PackageRef } from '../core/identity.ts'
import type { Debts, Part } from '../core/feature.ts'
import { forgetHolds } from '../db/blob-holds.ts'
import type { Db } from '../db/db.ts'
import { FILES_LONGEST_MS } from '../db/outbox.ts'
import { createHold } from '../db/distribution-lock.ts'
import type { Repositories } from '../core/repository.ts'
import type { Manifests } from '../files/manifests.ts'
import type { Pool } from '../files/pool.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import type { Log } from '../lib/log.ts'
import { createCatalog, type Catalog, type CatalogDeps } from './catalog.ts'
import { createRebuild, type Rebuild, type RebuildDeps } from './rebuild.ts'
import { MANIFESTS } from './effects.ts'
import { isBlobNeeded, listRefsBetween } from './queries/store.ts'

export interface CatalogNeeds extends Omit<CatalogDeps, 'hold'> {
  readonly repositories: Pick<Repositories, 'find'>
  readonly log: Pick<Log, 'error' | 'info'>
  readonly layout: RebuildDeps['layout']
  readonly pool: Pool
  readonly manifests: Manifests
}

/** The packages, and what is owed to their files. */
export interface CatalogPart extends Part {
  readonly catalog: Catalog
  /** Rebuilds the index from the manifests on disk. */
  readonly rebuild: Rebuild
}

/** Manifests of many rows are read and made durable in groups of this size. */
const WRITTEN_TOGETHER = 64
/** How often a rebuild says in the log how far it is. */
const PROGRESS_MS = 2_000

/** What a change owes to manifest files and to the pool. */
export function catalogDebts({
  catalog,
  db,
  manifests,
}: {
  readonly catalog: Pick<Catalog, 'findAll' | 'tags' | 'settleBlob'>
  readonly db: Db
  readonly manifests: Manifests
}): Debts {
  // two deliveries may be about one version: the later must read it after the earlier has written
  const lock = createKeyedLock()
  const follow = (refs: readonly PackageRef[]): Promise<void> =>
    lock.runAll(refs.map(printRef), async () => {
      const found = await catalog.findAll(refs)
      await Promise.all(
        refs.map(ref => {
          const manifest = found.get(printRef(ref))
          return manifest === undefined ? manifests.remove(ref) : manifests.write(manifest)
        }),
      )
    })
  return {
    manifest: {
      parallel: 2,
      batch: 32,
      longestMs: FILES_LONGEST_MS,
      deliver: rests => follow(rests.map(rest => JSON.parse(rest) as PackageRef)),
    },
    [MANIFESTS]: {
      longestMs: FILES_LONGEST_MS,
      deliver: async rests => {
        for (const rest of rests) {
          const [first = 0, last = 0] = rest.split('-').map(Number)
          for (let from = first; ;) {
            const rows = await listRefsBetween(db, { from, to: last, limit: WRITTEN_TOGETHER })
            await follow(rows.map(({ id: _, ...ref }) => ref))
            if (rows.length < WRITTEN_TOGETHER) break
            from = (rows.at(-1)?.id ?? last) + 1
          }
        }
      },
    },
    tags: {
      longestMs: FILES_LONGEST_MS,
      deliver: async rests => {
        for (const rest of rests) {
          const of = JSON.parse(rest) as PackageName
          const tags = await catalog.tags(ALL_SEEING, of)
          await (tags.length === 0 ? manifests.removeTags(of) : manifests.writeTags({ schema: 1, of, tags }))
        }
      },
    },
    blob: {
      longestMs: FILES_LONGEST_MS,
      deliver: async rests => {
        for (const rest of rests) await catalog.settleBlob(sha256(rest))
      },
    },
  }
}

/** Composes the catalogue, its debts and the sweep of the pool. */
export function composeCatalog(needs: CatalogNeeds): CatalogPart {
  const { db, pool, manifests, repositories, log } = needs
  const rebuild = createRebuild(needs)
  const catalog = createCatalog({ ...needs, hold: createHold(repositories) })
  return {
    catalog,
    rebuild: async (viewer, told) => {
      let saidAt = performance.now()
      const done = await rebuild(viewer, (read, of) => {
        told?.(read, of)
        if (performance.now() - saidAt < PROGRESS_MS) return
        saidAt = performance.now()
        log.info({ manifests: read, of }, 'rebuilding the database from the manifests')
      })
      for (const { path, broken } of done.broken)
        log.error(
          { path: `manifests/${path}`, why: broken },
          'a manifest was left out; mend the file, then run sync-index',
        )
      return done
    },
    debts: catalogDebts({ catalog, db, manifests }),
    jobs: [
      {
        id: 'sweep',
        name: 'Remove package files that nothing needs',
        when: () => '20 3 * * *',
        daily: true,
        run: async () => {
          await pool.sweep(digest => isBlobNeeded(db, digest), needs.holds?.alone)
          if (needs.holds !== undefined) await forgetHolds(db)
        },
      },
    ],
  }
}
