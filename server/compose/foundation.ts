import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { DEFAULT_DISTRIBUTIONS } from '../core/default-distributions.ts'
import { createRepositories } from '../core/repository.ts'
import { readOutcome } from '../backup/restore-plan.ts'
import { createAppAddress } from '../http/app-address.ts'
import { createBlobHolds } from '../db/blob-holds.ts'
import { createDb, type DatabaseAddress, type Db } from '../db/db.ts'
import { startEmbedded, type Embedded } from '../db/embedded.ts'
import { migrate } from '../db/migrate.ts'
import { createOutbox, FILES_LONGEST_MS } from '../db/outbox.ts'
import { databaseUnusable } from '../db/explain-failure.ts'
import { api } from '../api.ts'
import type { Row } from '../core/contract.ts'
import type { Env } from '../env.ts'
import { createLicensing } from '../settings/licensing.ts'
import { createLayout, type Layout } from '../files/layout.ts'
import { createDefinitions } from '../files/definitions.ts'
import { createManifests } from '../files/manifests.ts'
import { createPool } from '../files/pool.ts'
import { createRoom } from '../files/room.ts'
import { openRoot } from '../files/root.ts'
import { joinRoot } from '../files/joined-root.ts'
import { lockRoot } from '../files/root-lock.ts'
import { keepSecret } from '../files/secrets.ts'
import { createSpool } from '../files/spool.ts'
import { FORMATS } from '../formats/index.ts'
import { treeFolders } from '../formats/tree-folders.ts'
import { createArrivals } from '../lib/arrivals.ts'
import { systemClock } from '../lib/clock.ts'
import { createDigestThreads } from '../lib/digest.ts'
import type { RootLog } from '../lib/log.ts'
import { ALONE, type Shared } from '../lib/replica-memory.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { createAudit } from '../record/audit.ts'
import { createEvents } from '../record/events.ts'
import { createMetrics } from '../record/metrics.ts'
import { createStarting } from '../record/starting.ts'
import { SETTINGS } from '../settings/schema.ts'
import { createSettings } from '../settings/store.ts'
import { createKeyring } from '../signing/keyring.ts'
import { createWorker } from '../work/worker.ts'
import { endRestore } from './end-restore.ts'
import { composeReplication, installationOf, openRelay } from './replication.ts'
import { createImageKeys } from '../signing/image-keys.ts'
import { createUploaderKeys } from '../signing/uploader-keys.ts'

async function openDatabase(
  env: Env,
  layout: Layout,
  log: RootLog,
): Promise<{ readonly db: Db; readonly embedded: Embedded | undefined; readonly address: DatabaseAddress }> {
  const embedded =
    env.databaseUrl === undefined
      ? await startEmbedded({
          folder: layout.database,
          onTrouble: trouble => log.error({ trouble }, 'the embedded database'),
        })
      : undefined
  const address = embedded ?? { url: env.databaseUrl ?? '' }
  const db = createDb(address)
  try {
    await endRestore(layout.root, address, { alone: embedded !== undefined, log })
    await migrate(db)
  } catch (error) {
    await db.close()
    await embedded?.stop()
    throw env.databaseUrl === undefined ? error : databaseUnusable(env.databaseUrl, error)
  }
  return { db, embedded, address }
}

/** Signs nothing that was signed before the last restore: what ended since the backup must not begin again. */
async function sinceRestore(root: string, secret: string): Promise<string> {
  const outcome = await readOutcome(root)
  return outcome === undefined ? secret : createHmac('sha256', secret).update(outcome.done_at).digest('base64url')
}

async function secretsOf(env: Env, layout: Layout): Promise<{ readonly jwt: string; readonly settings: string }> {
  return {
    jwt: await sinceRestore(layout.root, env.jwtSecret ?? (await keepSecret(layout, 'jwt'))),
    settings: env.settingsKey ?? (await keepSecret(layout, 'settings')),
  }
}

/** The memory that replicas share. */
async function openShared({ redisUrl }: Pick<Env, 'redisUrl'>, log: RootLog): Promise<Shared> {
  if (redisUrl === undefined) return ALONE
  return (await import('../lib/redis.ts')).createShared({
    url: redisUrl,
    onTrouble: trouble => {
      if (trouble === undefined) log.info('Redis answers')
      else
        log.warn({ trouble }, 'limits and events go by way of the database until Redis answers again, which is slower')
    },
  })
}

/** The functions that the community edition refuses, by the names in those refusals. */
function enterpriseFunctions(): readonly string[] {
  const sections = Object.values(SETTINGS.properties as Record<string, { readonly edition?: string }>)
  const rows: readonly Row[] = Object.values(api)
  const named = [...rows, ...sections].map(({ edition }) => edition)
  return [...new Set(named)].filter(name => name !== undefined).sort()
}

/** The layers below the domain: files, database, records, settings and keys. */
export async function layFoundation(env: Env, log: RootLog) {
  const clock = systemClock
  const repositories = createRepositories(DEFAULT_DISTRIBUTIONS)
  const instance = randomUUID()
  const folders = treeFolders({ repositories, formats: FORMATS })
  const layout = createLayout(env.reposRoot, folders)
  await openRoot(layout.root)
  const alone = env.databaseUrl === undefined ? await lockRoot(layout.root) : undefined
  await openRoot(env.logFolder, 'LOG_FOLDER')
  const { db, embedded, address: databaseAddress } = await openDatabase(env, layout, log)
  const secrets = await secretsOf(env, layout)
  const replication = composeReplication({ ...env, instance, db, log })
  const unlock = alone ?? (await joinRoot(layout.root, { ...replication, installation: await installationOf(db) }))
  await mkdir(layout.incoming, { recursive: true })
  const { leadership, changes, replicas } = replication
  const definitions = createDefinitions(db, layout)
  repositories.replace(await definitions.load())
  const outbox = createOutbox({
    db,
    onError: (key, error) => log.error({ err: error, key }, 'a debt failed, it will be tried again'),
    leads: leadership.leads,
  })
  const threads = createDigestThreads({ threads: 1 })
  const box = createSecretBox(secrets.settings)
  const shared = await openShared(env, log)
  const relay = await openRelay(replication, { db, shared, log })
  const vendorSecret = env.licenseSecret ?? (await keepSecret(layout, 'license'))
  const settings = await createSettings({
    layout,
    box,
    production: env.production,
    isEnterprise: () => licensing.allowed() === 'all',
  })
  const address = createAppAddress({ ...env, settings, machine: hostname() })
  const licensing = createLicensing({
    edition: env.edition,
    vendorSecret,
    settings,
    clock,
    enterprise: enterpriseFunctions,
  })
  const audit = createAudit({ db, layout, clock, outbox })
  const keyring = createKeyring({ layout, box, clock })
  changes.on('settings', () => settings.reload())
  changes.on('keys', async () => keyring.reload())
  changes.on('distributions', async () => repositories.replace(await definitions.load()))
  return {
    ...replication,
    databaseAddress,
    log,
    clock,
    arrivals: createArrivals(),
    layout,
    repositories,
    definitions,
    formats: FORMATS,
    db,
    outbox,
    worker: createWorker({ db, log }),
    box,
    jwtSecret: secrets.jwt,
    threads,
    spool: createSpool({
      layout,
      random: randomBytes,
      threads,
      room: createRoom(layout, () => settings.now().disk),
      ...(replicas === undefined ? {} : { instance }),
    }),
    pool: createPool({ layout, clock }),
    holds: replicas && createBlobHolds(db, instance),
    manifests: createManifests(layout),
    audit,
    events: createEvents({ clock, shared: relay }),
    metrics: createMetrics(),
    starting: createStarting(),
    settings,
    address,
    licensing,
    shared,
    keyring,
    uploaderKeys: createUploaderKeys({ db, clock }),
    imageKeys: createImageKeys({ db, clock }),
    debts: { audit: { deliver: () => audit.deliver(), longestMs: FILES_LONGEST_MS } },
    async stop() {
      await leadership.stop()
      await changes.stop()
      await replicas?.stop()
      await shared.close()
      await threads.close()
      await db.close()
      await embedded?.stop()
      await unlock()
    },
  }
}

export type Foundation = Awaited<ReturnType<typeof layFoundation>>

/** The foundation with a log of its own: its lines carry the name of the part. */
export const named = (base: Foundation, component: string): Foundation => ({ ...base, log: base.log.of(component) })

/** What a part needs that is about signed trees: no registry is there for it. */
export const ofTrees = (base: Foundation): Foundation => ({ ...base, repositories: base.repositories.trees })
