import { createCatalog, type Catalog } from './catalog/catalog.ts'
import { createRebuild } from './catalog/rebuild.ts'
import { composeAdvisories } from './compose/advisories.ts'
import { composeAuth } from './compose/auth.ts'
import { handleDebts, oweEveryTree } from './compose/debts.ts'
import { layFoundation, type Foundation } from './compose/foundation.ts'
import { composeHealth } from './compose/health.ts'
import { createListener, needAddress } from './compose/listener.ts'
import { composeOutbound } from './compose/outbound.ts'
import { composeEnrichment } from './compose/enrichment.ts'
import { composePrograms } from './compose/programs.ts'
import { composeReprepro } from './compose/reprepro.ts'
import { bindRoutes } from './compose/routes.ts'
import { composeSso } from './compose/sso.ts'
import { composeSbom } from './compose/sbom.ts'
import { composeSecurity } from './compose/security.ts'
import { createLdapDirectory } from './directory/ldap.ts'
import { composeVulnDb } from './compose/vulndb.ts'
import type { Env } from './env.ts'
import { createAccessRules } from './features/access/rules.ts'
import { hashPassword } from './features/auth/passwords.ts'
import { cleanAll } from './features/retention/retention.ts'
import { createFirstAdmin } from './features/setup/first-admin.ts'
import { activeFormats, getFormat } from './formats/index.ts'
import { createApp } from './http/app.ts'
import { createRateLimits } from './http/rate-limit.ts'
import { createScheduler, type Job, type Scheduler } from './jobs/scheduler.ts'
import { createLog, type Log } from './lib/log.ts'
import { createGate } from './pipeline/gate.ts'
import { createPackageSigning } from './pipeline/package-signing.ts'
import { createSteps } from './pipeline/steps.ts'
import { createPublisher, type Publication, type Publisher } from './publish/publisher.ts'
import { createOutlived, type Outlived } from './signing/outlived.ts'
import { newestSignatures } from './scanners/clamav-signatures.ts'
import type { AntivirusScanner } from './scanners/scanner.ts'
import { createScanners, type Scanners } from './scanners/index.ts'

/** The running service. */
export interface Service {
  /** Repairs, listens, and answers when requests can be served. */
  start(): Promise<{ readonly url: string; readonly needsSetup: boolean }>
  /** Refuses new requests, finishes uploads and publications, closes everything. */
  stop(): Promise<void>
}

const SWEEP_MS = 60_000

function tellPublished({ clock, events }: Foundation, log: Log): (publication: Publication) => void {
  return ({ codename, n, packages, ms, missing, shardsWritten }) => {
    log.info({ codename, n, packages, ms, pieces: shardsWritten }, 'published')
    if (missing.length > 0)
      log.error(
        { codename, missing: missing.slice(0, 20) },
        'packages without their bytes were left out; run npm run verify',
      )
    events.emit({ type: 'publication', at: clock.now().toISOString(), data: { codename, n, packages } })
  }
}

/**
 * Where the set of keys has changed since it was published, also while this was not running, everything is signed
 * again.
 */
async function followKeys({ db, outbox, keyring }: Foundation): Promise<void> {
  if (await keyring.publish()) await oweEveryTree(db, outbox)
}

const outlivedJob = (outlived: Outlived): Job => ({
  id: 'package-keys',
  name: 'Look for packages that outlive the key they are signed with',
  when: () => '35 * * * *',
  run: () => outlived.look(),
})

/** What is done by the clock. */
function composeJobs(
  base: Foundation,
  {
    publisher,
    catalog,
    jobs,
  }: { readonly publisher: Publisher; readonly catalog: Catalog; readonly jobs: readonly Job[] },
  log: Log,
): Scheduler {
  const { db, pool } = base
  const isNeeded = async (digest: string): Promise<boolean> =>
    (await db.first('select 1 from package_file where sha256 = $1 limit 1', [digest])) !== undefined
  return createScheduler(
    [
      {
        id: 'tidy',
        name: 'Remove old generations and index pieces',
        when: () => '*/10 * * * *',
        run: () => publisher.tidy(),
      },
      {
        id: 'sweep',
        name: 'Remove package files that nothing needs',
        when: () => '20 3 * * *',
        run: async () => {
          await pool.sweep(isNeeded)
        },
      },
      {
        id: 'version-retention',
        name: 'Remove versions that the retention rules leave behind',
        when: () => '0 2 * * *',
        run: () => cleanAll({ db, catalog }),
      },
      {
        id: 'keys',
        name: 'Retire signing keys whose overlap is over',
        when: () => '*/5 * * * *',
        run: () => followKeys(base),
      },
      ...jobs,
    ],
    (id, error) => log.error({ err: error, job: id }, 'a job failed'),
  )
}

function firstOf(scanners: readonly AntivirusScanner[]): AntivirusScanner {
  const [first] = scanners
  if (first === undefined) throw new Error('there is no antivirus scanner in this build')
  return first
}

export interface ComposeOptions {
  readonly uiFolder: string
  readonly log?: Log
  /** Engines instead of the built-in ones: what lies outside is what tests stand in for. */
  readonly engines?: Partial<Scanners>
}

/** Builds everything by hand, in the order of the layers; this list is the architecture. */
export async function compose(
  env: Env,
  { uiFolder, log = createLog(env.logLevel), engines = {} }: ComposeOptions,
): Promise<Service> {
  await needAddress(env)
  const base = await layFoundation(env, log)
  const { clock, layout, db, outbox, spool, pool, manifests, audit, events, metrics, settings, keyring } = base
  const outbound = await composeOutbound(env, base, log)
  const vulndb = composeVulnDb(base, { fetch: outbound.fetch, log })
  const scanners: Scanners = {
    ...createScanners({
      osv: vulndb.scanner,
      clamd: { address: env.clamd, clock, signatures: () => newestSignatures(settings.now().clamav.database_folder) },
      programs: composePrograms(env, base),
    }),
    ...engines,
  }
  const antivirus = firstOf(scanners.antivirus)

  const catalog = createCatalog({ db, outbox, pool, audit, events, clock, notices: outbound.notices })
  const rebuild = createRebuild({ db, outbox, manifests })
  const foreign = composeReprepro(env, layout)
  const publisher = createPublisher({
    db,
    layout,
    keyring,
    clock,
    formats: getFormat,
    onPublished: tellPublished(base, log),
    fixes: vulndb.fixes,
    ...(foreign === undefined ? {} : { foreign }),
  })
  const outlived = createOutlived({ db, keyring })
  const advisories = composeAdvisories(base, vulndb.deps.database)
  handleDebts({ outbox, catalog, manifests, publisher, audit })
  const signing = createPackageSigning({ spool, keyring, settings, clock })
  const enrichment = composeEnrichment(vulndb.intel)
  const steps = createSteps({ scanners, keyring, db, enrich: enrichment.enrich })
  const gate = createGate({ steps, catalog, settings, signing, clock })
  const sbom = composeSbom(env, base)
  const security = composeSecurity(env, base, {
    catalog,
    scanners,
    steps,
    antivirus,
    sbom,
    notices: outbound.notices,
    log,
  })
  const scheduler = composeJobs(
    base,
    {
      publisher,
      catalog,
      jobs: [
        ...vulndb.jobs,
        advisories.job,
        outlivedJob(outlived),
        ...security.jobs,
        enrichment.job(base, { catalog, log }),
      ],
    },
    log,
  )

  const firstAdmin = createFirstAdmin({ db, audit, outbox, setupToken: env.setupToken, hashPassword })
  const health = composeHealth(env, base, {
    antivirus,
    vulnerability: scanners.vulnerability,
    scheduler,
    dataAt: vulndb.dataAt,
    warnings: outlived.warnings,
  })
  const inbound = outbound.inbound({ onGithub: vulndb.refreshFeeds, onKev: vulndb.refreshKev })
  const directory = createLdapDirectory({
    settings: () => settings.now().ldap,
    warn: (facts, message) => log.warn(facts, message),
  })
  const auth = composeAuth(env, base, { log, mailer: outbound.mailer, directory })
  const limits = createRateLimits(() => clock.now().getTime(), base.shared)
  const rules = createAccessRules({ db, clock })
  const { routes, authenticate } = bindRoutes({
    env,
    db,
    clock,
    audit,
    outbox,
    rules,
    catalog,
    publisher,
    layout,
    licensing: base.licensing,
    rebuild,
    settings,
    keyring,
    spool,
    gate,
    events,
    metrics,
    health,
    security,
    engines: { ...vulndb.deps, scanners },
    firstAdmin,
    outbound,
    inbound,
    bills: sbom.bills,
    auth,
    sso: composeSso(env, base, { auth, directory, fetch: outbound.fetch, log }),
    activeFormats: activeFormats(env.repoFormat),
  })
  const app = createApp({
    ...env,
    enterprise: base.licensing.allowed,
    hiddenFrom: rules.hiddenFrom,
    privateTrees: rules.privateTrees,
    routes,
    authenticate,
    limits,
    layout,
    uiFolder,
    metrics,
    log,
    binaryKey: async () => ((await keyring.keys()).length === 0 ? undefined : keyring.publicKey('binary')),
  })
  const listener = createListener(app.callback(), env)
  const sweeping = setInterval(() => limits.sweep(), SWEEP_MS)

  const followAdvisories = (): Promise<void> =>
    advisories
      .follow()
      .catch((error: unknown) => log.error({ err: error }, 'newly loaded data could not be told to the trees'))

  /** Brings files and database together again after whatever ended the last run. */
  async function repair(): Promise<void> {
    await spool.sweep()
    await followKeys(base)
    for (const codename of await publisher.repair())
      for (const kind of ['publish', 'contents']) await outbox.owe(db, `${kind}:${codename}`)
    await followAdvisories()
    await outlived.look()
    if ((await db.first('select 1 from package limit 1')) === undefined) {
      const { manifests: found } = await rebuild()
      if (found > 0) log.warn({ manifests: found }, 'the database was empty and has been rebuilt from the manifests')
    }
    await outbox.drain()
  }

  return {
    async start() {
      if (env.admin !== undefined) await firstAdmin.provision(env.admin)
      await repair()
      outbound.delivery.handle()
      inbound.handle()
      outbox.start()
      scheduler.start()
      settings.subscribe(() => scheduler.reschedule())
      vulndb.onChanged(() => {
        security.rematch.soon()
        void followAdvisories()
      })
      keyring.onChange(
        () =>
          void oweEveryTree(db, outbox)
            .then(() => outlived.look())
            .catch((error: unknown) => log.error({ err: error }, 'the trees could not be marked for signing')),
      )
      const url = await listener.open()
      void health.start().catch((error: unknown) => log.error({ err: error }, 'the health probes did not start'))
      return { url, needsSetup: !(await firstAdmin.exists()) }
    },
    async stop() {
      clearInterval(sweeping)
      await listener.close()
      await vulndb.stop()
      await security.rematch.stop()
      await scheduler.stop()
      await health.stop()
      outbound.delivery.stop()
      await outbox.stop()
      await publisher.close()
      await base.shared.close()
      await base.threads.close()
      await db.close()
      await base.embedded?.stop()
      await base.unlock()
    },
  }
}
