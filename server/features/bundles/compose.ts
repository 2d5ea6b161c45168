import { hostname } from 'node:os'
import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { FormatId } from '../../core/identity.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import { getFormat } from '../../formats/index.ts'
import type { Format } from '../../formats/format.ts'
import { makeWork } from '../../imports/bundle/make.ts'
import { takeWork, type TakeDeps } from '../../imports/bundle/take.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Gate } from '../../pipeline/gate.ts'
import type { CollectFeeds } from '../../vulndb/feeds/collect.ts'
import type { Feeds } from '../../vulndb/feeds/feeds.ts'
import type { Importer } from '../../vulndb/store/importer.ts'
import { bundles } from './contract.ts'
import { copyWork } from './copy-work.ts'
import type { BundleRouteDeps } from './deps.ts'
import { importHandlers } from './import-handlers.ts'
import { siteHandlers } from './site-handlers.ts'
import { createUploads } from './uploads.ts'

export interface BundleNeeds
  extends
    Pick<
      BundleRouteDeps,
      | 'importRoots'
      | 'mediaFolder'
      | 'layout'
      | 'audit'
      | 'clock'
      | 'version'
      | 'keyring'
      | 'repositories'
      | 'settings'
      | 'spool'
    >,
    Pick<TakeDeps, 'arrivals' | 'loadSignatures' | 'intake'> {
  readonly db: Db
  readonly outbox: Pick<Outbox, 'owe' | 'nudge'>
  readonly worker: BundleRouteDeps['jobs']
  readonly formats: readonly Format[]
  readonly activeFormats: ReadonlySet<FormatId>
  readonly gate: Gate
  readonly catalog: Pick<Catalog, 'findKnown' | 'change'>
  readonly vulndb: {
    readonly collect: CollectFeeds
    readonly feeds: Pick<Feeds, 'isConfigured'>
    readonly database: BundleRouteDeps['database']
    readonly importer: Pick<Importer, 'import'>
  }
}

/** This installation, as bundles name it. */
async function thisInstallation(db: Db): Promise<{ readonly id: string; readonly name: string }> {
  const row = await db.first<{ id: string }>('select id from installation')
  if (row === undefined) throw new Error('the database has no id of the installation')
  return { id: row.id, name: hostname() }
}

/** Bundles for sites without a network: made on one side, taken in on the other. */
export function composeBundles(needs: BundleNeeds): Feature {
  const { db, outbox, worker, settings, repositories, vulndb, formats, activeFormats, clock, layout } = needs
  const uploads = createUploads({ db, layout })
  const distributionOf: TakeDeps['distributionOf'] = codename => repositories.find(codename)
  const signatureFolder = (): string => settings.now().clamav.database_folder
  const deps: BundleRouteDeps = {
    ...needs,
    jobs: worker,
    distributionOf,
    formatOf: getFormat,
    collectFeeds: vulndb.collect,
    signatureFolder,
    sender: () => thisInstallation(db),
    database: vulndb.database,
    uploads,
    feedsConfigured: () => vulndb.feeds.isConfigured(),
  }
  const taking: TakeDeps = {
    ...needs,
    importer: vulndb.importer,
    signatureFolder,
    formats: formats.filter(({ id }) => activeFormats.has(id)),
    distributionOf,
    limitBytes: () => settings.now().validation.max_upload_size_mb * 1024 * 1024,
    publish: async codename => {
      await outbox.owe(db, `publish:${codename}`)
      outbox.nudge()
    },
    dropUpload: id => uploads.drop(id),
  }
  return {
    routes: bind(bundles, { ...siteHandlers, ...importHandlers }, deps),
    work: [makeWork(deps), takeWork(taking), copyWork(needs)] as unknown as WorkKind[],
    jobs: [
      {
        id: 'bundle-uploads',
        name: 'Remove uploads of bundles that nobody goes on with',
        when: () => '50 2 * * *',
        daily: true,
        run: () => uploads.sweep(clock.now()),
      },
    ],
  }
}
