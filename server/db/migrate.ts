import type { Knex } from 'knex'
import type { Db } from './db.ts'
import type { Migration } from './migration.ts'
import { accounts } from './migrations/0001-accounts.ts'
import { packages } from './migrations/0002-packages.ts'
import { publication } from './migrations/0003-publication.ts'
import { sessions } from './migrations/0004-sessions.ts'
import { mfaSessions } from './migrations/0005-mfa-sessions.ts'
import { review } from './migrations/0006-review.ts'
import { notifications } from './migrations/0008-notifications.ts'
import { rollback } from './migrations/0009-rollback.ts'
import { directory } from './migrations/0010-directory.ts'
import { retention } from './migrations/0012-retention.ts'
import { access } from './migrations/0013-access.ts'
import { model } from './migrations/0014-model.ts'
import { distributions } from './migrations/0015-distributions.ts'
import { uploaderKeys } from './migrations/0016-uploader-keys.ts'
import { documents } from './migrations/0017-documents.ts'
import { packageKind } from './migrations/0018-package-kind.ts'
import { scanned } from './migrations/0019-scanned.ts'
import { served } from './migrations/0020-served.ts'
import { accountId } from './migrations/0022-account-id.ts'
import { loginWay } from './migrations/0023-login-way.ts'
import { tokenUploads } from './migrations/0021-token-uploads.ts'
import { source } from './migrations/0024-source.ts'
import { arrivalOrder } from './migrations/0025-arrival-order.ts'
import { jobs } from './migrations/0026-jobs.ts'
import { downloads } from './migrations/0027-downloads.ts'
import { backups } from './migrations/0029-backups.ts'
import { replicas } from './migrations/0030-replicas.ts'
import { inventory } from './migrations/0031-inventory.ts'
import { operations } from './migrations/0032-operations.ts'
import { backupTargets } from './migrations/0033-backup-targets.ts'
import { importSources } from './migrations/0034-import-sources.ts'
import { catalogue } from './migrations/0035-catalogue.ts'
import { importGroups } from './migrations/0036-import-groups.ts'
import { importSourceOwn } from './migrations/0037-import-source-own.ts'
import { mirror } from './migrations/0038-mirror.ts'
import { bundles } from './migrations/0039-bundles.ts'
import { reviewSelection } from './migrations/0040-review-selection.ts'
import { replicasTogether } from './migrations/0041-replicas-together.ts'
import { blobHolds } from './migrations/0042-blob-holds.ts'
import { savedFilters } from './migrations/0043-saved-filters.ts'
import { postureHistory } from './migrations/0044-posture-history.ts'
import { machineHistory } from './migrations/0045-machine-history.ts'
import { mavenDeploys } from './migrations/0048-maven-deploys.ts'
import { packagePages } from './migrations/0046-package-pages.ts'
import { registryBlobs } from './migrations/0047-registry-blobs.ts'
import { remoteRegistries } from './migrations/0049-remote-registries.ts'
import { ociRemote } from './migrations/0055-oci-remote.ts'
import { registryDownloads } from './migrations/0056-registry-downloads.ts'
import { bundleWords } from './migrations/0057-bundle-words.ts'
import { imageKeys } from './migrations/0058-image-keys.ts'
import { remoteLicences } from './migrations/0060-remote-licences.ts'
import { remoteUnanswered } from './migrations/0065-remote-unanswered.ts'
import { packageMark } from './migrations/0061-package-mark.ts'
import { ociAnew } from './migrations/0062-oci-anew.ts'

/** In order. A new migration goes to the end. */
const MIGRATIONS: readonly Migration[] = [
  accounts,
  packages,
  publication,
  sessions,
  mfaSessions,
  review,
  notifications,
  rollback,
  directory,
  retention,
  access,
  model,
  distributions,
  uploaderKeys,
  documents,
  packageKind,
  scanned,
  served,
  tokenUploads,
  accountId,
  loginWay,
  source,
  arrivalOrder,
  jobs,
  downloads,
  replicas,
  backups,
  inventory,
  operations,
  backupTargets,
  importSources,
  catalogue,
  importGroups,
  importSourceOwn,
  mirror,
  bundles,
  reviewSelection,
  replicasTogether,
  blobHolds,
  savedFilters,
  postureHistory,
  machineHistory,
  packagePages,
  registryBlobs,
  mavenDeploys,
  remoteRegistries,
  ociRemote,
  registryDownloads,
  bundleWords,
  imageKeys,
  remoteLicences,
  remoteUnanswered,
  packageMark,
  ociAnew,
]

const sourceOf = (migrations: readonly Migration[]): Knex.MigrationSource<Migration> => ({
  getMigrations: async () => [...migrations],
  getMigrationName: migration => migration.name,
  getMigration: async migration => ({
    up: async trx => {
      await trx.raw(migration.up)
    },
    down: async () => {
      throw new Error('Migrations go forward only. Restore a backup to go back.')
    },
  }),
})

async function refuseLaterSchema({ knex }: Pick<Db, 'knex'>): Promise<void> {
  if (!(await knex.schema.hasTable('schema_migration'))) return
  const ran = await knex<{ readonly name: string }>('schema_migration').orderBy('id')
  const later = ran.find(({ name }) => !MIGRATIONS.some(migration => migration.name === name))
  if (later !== undefined)
    throw new Error(
      `The database is of a later release: it has ${later.name}. Start that release, or restore a backup made before it.`,
    )
}

/**
 * Brings the schema up to date. Concurrent starts wait for one another on knex's lock row. @throws when a migration
 * fails, or the database is of a later release: nothing may be served then
 * @param last  the schema of an earlier release, for tests of a migration; the newest when absent
 */
export async function migrate(db: Db, last?: string): Promise<void> {
  await refuseLaterSchema(db)
  const end = last === undefined ? MIGRATIONS.length : MIGRATIONS.findIndex(({ name }) => name === last) + 1
  const migrationSource = sourceOf(MIGRATIONS.slice(0, end))
  await db.knex.migrate.latest({ migrationSource, tableName: 'schema_migration' })
}

/** The name of the last migration of this release. */
export const NEWEST_SCHEMA = MIGRATIONS.at(-1)?.name ?? ''

/** A migration as it is: its name and its statements. */
export type NamedMigration = Migration

/**
 * The migrations that a database had run, and those that follow. @throws Error where one of them is not of this release
 */
export function migrationsUpTo(ran: readonly string[]): {
  readonly first: readonly Migration[]
  readonly then: readonly Migration[]
} {
  const later = ran.find(name => !MIGRATIONS.some(migration => migration.name === name))
  if (later !== undefined)
    throw new Error(`It is of a later release: its database has ${later}. Restore it with that release or a newer one.`)
  return {
    first: MIGRATIONS.filter(({ name }) => ran.includes(name)),
    then: MIGRATIONS.filter(({ name }) => !ran.includes(name)),
  }
}

/** The newest migration that ran, for the health report. */
export async function schemaVersion(db: Db): Promise<string | undefined> {
  return (await db.first<{ name: string }>('select name from schema_migration order by id desc limit 1'))?.name
}
