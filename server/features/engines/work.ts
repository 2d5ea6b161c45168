import { rm } from 'node:fs/promises'
import type { WorkKind } from '../../core/work.ts'
import type { Audit } from '../../record/audit.ts'
import { FEEDS, type Feeds, type FeedsRun } from '../../vulndb/feeds/feeds.ts'
import type { ImportResult } from '../../vulndb/store/import.ts'
import type { Importer } from '../../vulndb/store/importer.ts'

export const IMPORT = 'vulndb-import'

export interface ImportRequest {
  /** The file, which is removed at the end of the import. */
  readonly path: string
  readonly label: string
  readonly sha256: string
  readonly distribution?: string
  readonly force: boolean
  readonly ip: string
}

export interface FeedsRequest {
  /** One source only: `kev`. */
  readonly only?: string
  readonly ip?: string
}

export interface EngineWorkDeps {
  readonly importer: Pick<Importer, 'import'>
  readonly feeds: Pick<Feeds, 'run'>
  readonly audit: Pick<Audit, 'record'>
}

/** An import of data that somebody sent. It is not cut short: a file is imported whole, or not at all. */
export const importWork = ({ importer, audit }: EngineWorkDeps): WorkKind<ImportRequest, never, ImportResult> => ({
  kind: IMPORT,
  name: 'Import vulnerability data',
  see: 'maintainer+',
  cancel: 'admin',
  run: async (run, { path, label, sha256, distribution, force, ip }) => {
    const who = { user: run.by, ip }
    try {
      run.signal.throwIfAborted()
      const result = await importer.import([{ path, label, ...(distribution === undefined ? {} : { distribution }) }], {
        force,
      })
      await audit.record({
        action: 'VULNDB_IMPORT',
        result: 'SUCCESS',
        ...who,
        facts: {
          kind: 'data.imported',
          file: label,
          sha256,
          status: result.status,
          generation: result.generation,
          forced: force,
          sources: result.sources.map(({ name }) => name),
        },
      })
      await rm(path, { force: true })
      return result
    } catch (error) {
      if (run.signal.aborted) throw error // it goes on at the next start, from the same file
      const why = error instanceof Error ? error.message.slice(0, 500) : 'it broke'
      await audit.record({
        action: 'VULNDB_IMPORT',
        result: 'FAILURE',
        ...who,
        facts: { kind: 'data.refused', file: label, sha256, why },
      })
      await rm(path, { force: true })
      throw error
    }
  },
})

/** Fetching what the feeds have that is new. A run that goes on later is told of what it has fetched as unchanged. */
export const feedsWork = ({ feeds, audit }: EngineWorkDeps): WorkKind<FeedsRequest, never, FeedsRun> => ({
  kind: FEEDS,
  name: 'Fetch vulnerability data from the feeds',
  see: 'maintainer+',
  cancel: 'admin',
  run: async (run, { only, ip }) => {
    const result = await feeds.run({
      only: feed => only === undefined || feed.source === only,
      signal: run.signal,
      told: async (done, total, failed) =>
        run.step({
          done,
          total,
          ...(failed === undefined
            ? {}
            : { say: [{ level: 'warning', message: `${failed.source} could not be fetched: ${failed.why}` }] }),
        }),
    })
    const { asked, fetched, failed } = result
    if (ip !== undefined)
      await audit.record({
        action: 'VULNDB_IMPORT',
        result: failed.length === 0 ? 'SUCCESS' : 'FAILURE',
        user: run.by,
        ip,
        facts: { kind: 'feeds.asked', asked, fetched, failed: failed.length },
      })
    return result
  },
})
