import { findEarlierFile } from '../../catalog/queries/earlier-files.ts'
import { batches } from './batch-contract.ts'
import { batchHandlers, type BatchDeps } from './batch.ts'
import { bind } from '../../core/contract.ts'
import type { Feature, Job } from '../../core/feature.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Settings } from '../../settings/store.ts'
import type { Leadership } from '../../db/leadership.ts'
import type { Db } from '../../db/db.ts'
import { readOutcome } from '../../backup/restore-plan.ts'
import type { Layout } from '../../files/layout.ts'
import { readPooled, type Pool } from '../../files/pool.ts'
import { switchesFor } from '../../formats/index.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import type { Log } from '../../lib/log.ts'
import type { Audit } from '../../record/audit.ts'
import type { UploaderKeys } from '../../signing/uploader-keys.ts'
import { createCollection } from './collection.ts'
import { uploads } from './contract.ts'
import { developerUploads } from './developer-contract.ts'
import { developerHandlers } from './developer-handlers.ts'
import { createDeveloperUploads } from './developer-upload.ts'
import { record, uploadHandlers } from './handlers.ts'
import { samples } from './sample-contract.ts'
import { sampleHandlers } from './sample.ts'
import { createWatchedFolder } from './watched-folder.ts'

export interface UploadNeeds extends Omit<BatchDeps, 'switchesFor'> {
  readonly db: Db
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly audit: Pick<Audit, 'owe'>
  readonly pool: Pick<Pool, 'locate'>
  readonly uploaderKeys: Pick<UploaderKeys, 'check'>
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly layout: Pick<Layout, 'root'>
  readonly settings: Pick<Settings, 'now' | 'subscribe'>
  readonly leadership: Pick<Leadership, 'leads'>
}

/** Uploads: single packages, and those that a developer announces together. */
export function composeUploads(needs: UploadNeeds): Feature {
  const { db, audit, pool, repositories, uploaderKeys, spool, settings, gate, leadership, clock, log } = needs
  const formats = needs.formats.filter(({ id }) => needs.activeFormats.has(id))
  const deps: BatchDeps = { ...needs, switchesFor: id => switchesFor(id, needs.formats) }
  const collection = createCollection(clock)
  const together = createDeveloperUploads({
    gate,
    keys: uploaderKeys,
    formats,
    repositories,
    async findPart({ format, codename }, name, { name: path, sha256 }) {
      const found = await findEarlierFile(db, { format, codename, name, arch: 'source', path, sha256 })
      return found === undefined ? undefined : readPooled(pool, [found])
    },
    db,
    audit,
    record: changed => record(needs, changed),
  })
  const watched = createWatchedFolder({ spool, settings, uploads: together, leads: leadership.leads, clock, log })
  const sweep: Job = {
    id: 'incoming',
    name: 'Remove files that no .changes named',
    when: () => '*/10 * * * *',
    run: () => collection.sweep(),
  }
  return {
    routes: [
      ...bind(uploads, uploadHandlers, deps),
      ...bind(samples, sampleHandlers, {
        ...deps,
        isRestored: async () => (await readOutcome(needs.layout.root))?.plan.do === 'restore',
      }),
      ...bind(batches, batchHandlers, deps),
      ...bind(developerUploads, developerHandlers, {
        spool,
        settings,
        formats,
        repositories,
        collection,
        uploads: together,
        lock: createKeyedLock(),
      }),
    ],
    jobs: [sweep, ...(watched.jobs ?? [])],
    lead: () => watched.lead?.(),
    stop: () => watched.stop?.(),
  }
}
