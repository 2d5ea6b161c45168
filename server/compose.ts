import { execFile } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createCatalog, type Catalog } from './catalog/catalog.ts'
import { createRebuild } from './catalog/rebuild.ts'
import type { BoundRoute } from './core/contract.ts'
import { sha256, type Codename, type PackageRef } from './core/identity.ts'
import { createDb, type Db } from './db/db.ts'
import { startEmbedded, type Embedded } from './db/embedded.ts'
import { migrate, schemaVersion } from './db/migrate.ts'
import { createOutbox, type Outbox } from './db/outbox.ts'
import type { Env } from './env.ts'
import { createFirstAdmin } from './features/setup/first-admin.ts'
import { createHealth } from './features/health/health.ts'
import { registerGauges } from './features/health/gauges.ts'
import { createRepreproProbe } from './features/health/reprepro.ts'
import { hashPassword } from './features/auth/passwords.ts'
import { createLayout, type Layout } from './files/layout.ts'
import { createManifests, type Manifests } from './files/manifests.ts'
import { createPool } from './files/pool.ts'
import { keepSecret } from './files/secrets.ts'
import { createSpool } from './files/spool.ts'
import { activeFormats, getFormat } from './formats/index.ts'
import { createApp } from './http/app.ts'
import { createRateLimits } from './http/rate-limit.ts'
import { createScheduler } from './jobs/scheduler.ts'
import { systemClock } from './lib/clock.ts'
import { createDigestThreads } from './lib/digest.ts'
import { createLog, type Log } from './lib/log.ts'
import { createSecretBox } from './lib/secret-box.ts'
import { createGate } from './pipeline/gate.ts'
import { createSteps } from './pipeline/steps.ts'
import { createPublisher, type Publisher } from './publish/publisher.ts'
import { createAudit, type Audit } from './record/audit.ts'
import { createEvents } from './record/events.ts'
import { createMetrics } from './record/metrics.ts'
import { bindRoutes } from './routes.ts'
import { createScanners } from './scanners/index.ts'
import { createSettings } from './settings/store.ts'
import { createKeyring } from './signing/keyring.ts'

/** The running service. */
export interface Service {
  /** Repairs, listens, and answers when requests can be served. */
  start(): Promise<{ readonly url: string; readonly needsSetup: boolean }>
  /** Refuses new requests, finishes uploads and publications, closes everything. */
  stop(): Promise<void>
}

const DRAIN_MS = 20_000

async function openDatabase(env: Env, layout: Layout): Promise<{ readonly db: Db; readonly embedded: Embedded | undefined }> {
  const embedded = env.databaseUrl === undefined ? await startEmbedded({ folder: layout.database }) : undefined
  const db = createDb(embedded ?? { url: env.databaseUrl ?? '' })
  await migrate(db)
  return { db, embedded }
}

/** Runs a tool without a shell and gives what it printed on both streams. */
async function runTool(file: string, args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(file, [...args], { timeout: 5_000 })
  return stdout + stderr
}

/** What is owed to the files, by kind. */
function handleDebts({ outbox, catalog, manifests, publisher, audit }: { readonly outbox: Outbox; readonly catalog: Catalog; readonly manifests: Manifests; readonly publisher: Publisher; readonly audit: Audit }): void {
  outbox.handle('manifest', async rests => {
    await Promise.all(rests.map(async rest => {
      const ref = JSON.parse(rest) as PackageRef
      const manifest = await catalog.find(ref)
      await (manifest === undefined ? manifests.remove(ref) : manifests.write(manifest))
    }))
  }, { parallel: 2, batch: 32 })
  outbox.handle('blob', async rests => { for (const rest of rests) await catalog.settleBlob(sha256(rest)) })
  outbox.handle('publish', async ([codename]) => { await publisher.publish(codename as Codename) }, { parallel: 2 })
  outbox.handle('contents', async ([codename]) => { await publisher.publishContents(codename as Codename) })
  outbox.handle('audit', () => audit.deliver())
}

function listen(server: Server, { host, port }: Pick<Env, 'host' | 'port'>): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      const { address, family, port: bound } = server.address() as AddressInfo
      const shown = address === '0.0.0.0' || address === '::' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
      resolve(`http://${shown}:${bound}`)
    })
  })
}

/** Distributions that exist because an admin set them up or a package came for them. */
async function knownDistributions(db: Db): Promise<Codename[]> {
  return (await db.query<{ codename: Codename }>('select codename from distribution union select codename from generation')).map(row => row.codename)
}

async function secretsOf(env: Env, layout: Layout): Promise<{ readonly jwt: string; readonly settings: string }> {
  return { jwt: env.jwtSecret ?? await keepSecret(layout, 'jwt'), settings: env.settingsKey ?? await keepSecret(layout, 'settings') }
}

/** Builds everything by hand, in the order of the layers; this list is the architecture. */
export async function compose(env: Env, { uiFolder, log = createLog(env.logLevel) }: { readonly uiFolder: string; readonly log?: Log }): Promise<Service> {
  const clock = systemClock
  const layout = createLayout(env.reposRoot)
  await mkdir(layout.incoming, { recursive: true })
  const secrets = await secretsOf(env, layout)
  const { db, embedded } = await openDatabase(env, layout)

  const outbox = createOutbox({ db, onError: (key, error) => log.error({ err: error, key }, 'owed work failed, it will be tried again') })
  const threads = createDigestThreads({ threads: 1 })
  const spool = createSpool({ layout, random: randomBytes, threads })
  const pool = createPool({ layout, clock })
  const manifests = createManifests(layout)
  const audit = createAudit({ db, layout, clock, outbox })
  const events = createEvents({ clock })
  const metrics = createMetrics()

  const box = createSecretBox(secrets.settings)
  const settings = await createSettings({ layout, box, production: env.production, edition: env.edition })
  const keyring = createKeyring({ layout, box, clock })
  const scanners = createScanners({ clamd: { address: env.clamd, clock } })
  const antivirus = scanners.antivirus[0]
  if (antivirus === undefined) throw new Error('there is no antivirus scanner in this build')

  const catalog = createCatalog({ db, outbox, pool, audit, events, clock })
  const rebuild = createRebuild({ db, outbox, manifests })
  const publisher = createPublisher({
    db, layout, keyring, clock, formats: getFormat,
    onPublished: ({ codename, n, packages, ms, missing, shardsWritten }) => {
      log.info({ codename, n, packages, ms, pieces: shardsWritten }, 'published')
      if (missing.length > 0) log.error({ codename, missing: missing.slice(0, 20) }, 'packages without their bytes were left out; run npm run verify')
      events.emit({ type: 'publication', at: clock.now().toISOString(), data: { codename, n, packages } })
    },
  })
  handleDebts({ outbox, catalog, manifests, publisher, audit })
  const gate = createGate({ steps: createSteps({ scanners, keyring, db }), catalog, settings, clock })

  const limits = createRateLimits(() => clock.now().getTime())
  const scheduler = createScheduler([
    { id: 'tidy', name: 'Remove old generations and index pieces', when: () => '*/10 * * * *', run: () => publisher.tidy() },
    { id: 'sweep', name: 'Remove package files that nothing needs', when: () => '20 3 * * *', run: async () => { await pool.sweep(async digest => await db.first('select 1 from package where sha256 = $1 limit 1', [digest]) !== undefined) } },
  ], (id, error) => log.error({ err: error, job: id }, 'a job failed'))

  const firstAdmin = createFirstAdmin({ db, audit, outbox, setupToken: env.setupToken, hashPassword })
  const health = createHealth({
    clock, db, layout, version: env.version, production: env.production, keyring, outbox,
    dirs: { pool: layout.pool, manifests: layout.manifests, audit: layout.audit, grype_db: join(layout.security, 'grype'), clamav_db: '/var/lib/clamav' },
    schemaVersion: () => schemaVersion(db),
    antivirus: async signal => ({ ...await antivirus.status(signal), enabled: settings.now().validation.clamav_scan }),
    scheduler: () => ({ started: scheduler.started, leader: true, jobs: scheduler.jobs() }),
    reprepro: createRepreproProbe({ path: '/usr/local/bin:/usr/bin:/bin', isPublisher: env.aptPublisher === 'reprepro', run: runTool }),
    license: () => ({ edition: env.edition, active: env.edition === 'enterprise', issued_to: null }),
    instance: { id: randomUUID(), shared: 'local' },
    warnings: () => env.warnings,
  })
  registerGauges({
    metrics, db, clock, vulnerabilityDataAt: async () => undefined,
    signaturesAt: async () => { const { signatures_at } = await antivirus.status(); return signatures_at === undefined ? undefined : new Date(signatures_at) },
  })

  const { routes, authenticate }: { routes: readonly BoundRoute[]; authenticate: Parameters<typeof createApp>[0]['authenticate'] } = bindRoutes({
    env, db, clock, audit, outbox, catalog, rebuild, settings, keyring, spool, gate, events, metrics, health, antivirus, firstAdmin,
    jwtSecret: secrets.jwt, activeFormats: activeFormats(env.repoFormat),
  })
  const app = createApp({
    routes, authenticate, limits, edition: env.edition, production: env.production, version: env.version, trustedProxies: env.trustedProxies,
    corsOrigins: env.corsOrigins, layout, uiFolder, metrics, log,
    binaryKey: async () => await keyring.keys().then(keys => keys.length) === 0 ? undefined : keyring.publicKey('binary'),
  })
  const server = createServer(app.callback())
  server.requestTimeout = 0 // Node's five minutes would cut a large upload over a slow line
  server.headersTimeout = 30_000
  // live streams have no end of their own: they are cut at the stop, uploads are not
  const open = new Set<{ readonly req: IncomingMessage; readonly res: ServerResponse }>()
  server.on('request', (req, res) => {
    const pair = { req, res }
    open.add(pair)
    if (!server.listening) res.shouldKeepAlive = false // stopping: a client that stays connected must not keep us here
    res.once('close', () => open.delete(pair))
  })

  keyring.onChange(() => {
    // every published tree is signed again with the new set of keys
    void (async () => {
      for (const codename of await knownDistributions(db)) {
        await db.tx(async tx => {
          await tx.query(`insert into publish_dirty (codename, name) values ($1, '')`, [codename])
          await outbox.owe(tx, `publish:${codename}`)
        })
      }
      outbox.nudge()
    })().catch((error: unknown) => log.error({ err: error }, 'the trees could not be marked for signing'))
  })

  let sweeping: NodeJS.Timeout | undefined
  return {
    async start() {
      await spool.sweep()
      if (env.admin !== undefined) await firstAdmin.provision(env.admin)
      await keyring.publish()
      for (const codename of await publisher.repair()) await db.tx(async tx => { await outbox.owe(tx, `publish:${codename}`) })
      if (await db.first('select 1 from package limit 1') === undefined) {
        const { manifests: found } = await rebuild()
        if (found > 0) log.warn({ manifests: found }, 'the database was empty and has been rebuilt from the manifests')
      }
      await outbox.drain()
      outbox.start()
      scheduler.start()
      settings.subscribe(() => scheduler.reschedule())
      sweeping = setInterval(() => limits.sweep(), 60_000)
      sweeping.unref()
      const url = await listen(server, env)
      void health.start().catch((error: unknown) => log.error({ err: error }, 'the health probes did not start'))
      return { url, needsSetup: !await firstAdmin.exists() }
    },
    async stop() {
      clearInterval(sweeping)
      const closed = new Promise(resolve => server.close(resolve))
      const patience = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
      server.closeIdleConnections()
      for (const { req, res } of open) if (req.method === 'GET' && String(res.getHeader('content-type')).startsWith('text/event-stream')) req.socket.destroy()
      await closed
      clearTimeout(patience)
      await scheduler.stop()
      await health.stop()
      await outbox.stop()
      await publisher.close()
      await threads.close()
      await db.close()
      await embedded?.stop()
    },
  }
}

