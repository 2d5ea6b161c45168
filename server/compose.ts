import { composeCatalog } from './catalog/compose.ts'
import { countSigned } from './catalog/queries/signed-by.ts'
import { createClientFacts } from './compose/client-facts.ts'
import { composeDirectory } from './compose/directory.ts'
import { layFoundation, named, ofTrees, type Foundation } from './compose/foundation.ts'
import { createService } from './compose/lifecycle.ts'
import { openLogs } from './compose/logs.ts'
import type { ComposeOptions, Service } from './compose/service.ts'
import type { Feature, Part } from './core/feature.ts'
import type { FormatId } from './core/identity.ts'
import { ALL_SEEING } from './core/viewer.ts'
import type { Env } from './env.ts'
import { composeAccess } from './features/access/compose.ts'
import { composeAdopt } from './features/adopt/compose.ts'
import { composeArtifacts } from './features/artifacts/compose.ts'
import { composeAudit } from './features/audit/compose.ts'
import { composeAuth } from './features/auth/compose.ts'
import { hashPassword } from './features/auth/accounts/passwords.ts'
import { composeBackups } from './features/backups/compose.ts'
import { composeBundles } from './features/bundles/compose.ts'
import { readFacts } from './features/backups/store.ts'
import { composeCatalogue } from './features/catalogue/compose.ts'
import { composeComparison } from './features/comparison/compose.ts'
import { composeContentsRoutes } from './features/contents/compose.ts'
import { composeDashboard } from './features/dashboard/compose.ts'
import { composeDistributions } from './features/distributions/compose.ts'
import { composeDocuments } from './features/documents/compose.ts'
import { composeEngines } from './features/engines/compose.ts'
import { probeFolder } from './features/health/probes.ts'
import { composeHealth } from './features/health/compose.ts'
import { composeDisk } from './features/disk/compose.ts'
import { composeJobs, jobCleaning } from './features/jobs/compose.ts'
import type { Health } from './features/health/health.ts'
import { composeLogs, logCleaning } from './features/logs/compose.ts'
import { composeConsoleReleases } from './features/console-releases/compose.ts'
import { composeSupport } from './features/support/compose.ts'
import { composeDownloads } from './features/downloads/compose.ts'
import { composeImageKeys } from './features/image-keys/compose.ts'
import { composeImports } from './features/imports/compose.ts'
import { composeImportSources } from './features/import-sources/compose.ts'
import { composeInventory } from './features/inventory/compose.ts'
import { composeLicense } from './features/license/compose.ts'
import { composeMachine } from './features/machine/compose.ts'
import { composeMirror } from './features/mirror/compose.ts'
import { composeSecurityUpdates } from './features/security-updates/compose.ts'
import { composeNotifications } from './features/notifications/compose.ts'
import { composeRegistryRoutes } from './features/registries/compose.ts'
import { composeRelease } from './features/release/compose.ts'
import { composeRetention } from './features/retention/compose.ts'
import { composeSavedFilters } from './features/saved-filters/compose.ts'
import { composeSbomRoutes } from './features/sbom/compose.ts'
import { composeOwnDistributions } from './features/own-distributions/compose.ts'
import { composePolicy } from './features/policy/compose.ts'
import { composeAntivirus } from './features/antivirus/compose.ts'
import { composeReviewRoutes } from './features/review/compose.ts'
import { composeVulnerabilities } from './features/vulnerabilities/compose.ts'
import { composeReport } from './features/report/compose.ts'
import { composeSettings } from './features/settings/compose.ts'
import { composeSetup } from './features/setup/compose.ts'
import { composeSso } from './features/sso/compose.ts'
import { composeSupplierVex } from './features/supplier-vex/compose.ts'
import { composeTenants } from './features/tenants/compose.ts'
import { composeUploaderKeys } from './features/uploader-keys/compose.ts'
import { composeUploads } from './features/uploads/compose.ts'
import { composeWebhooks } from './features/webhooks/compose.ts'
import { activeFormats, FORMATS, getFormat, hasTree } from './formats/index.ts'
import { composeHttp } from './http/compose.ts'
import { problemOf } from './http/problem.ts'
import { needAddress } from './http/listener.ts'
import { createKeyedLock } from './lib/keyed-lock.ts'
import { createScheduler, type Scheduler } from './work/scheduler.ts'
import { composeUpstreams } from './imports/compose.ts'
import { composeOutbound } from './outbound/compose.ts'
import { composeContents } from './contents/compose.ts'
import { composeGate } from './pipeline/compose.ts'
import type { Enrich } from './pipeline/vulnerabilities.ts'
import { composePublish } from './publish/compose.ts'
import { createAdvisoryFollower } from './publish/follow-advisories.ts'
import { createKeyFollower } from './publish/follow-keys.ts'
import { createRenewal } from './publish/renew.ts'
import { composeRegistries } from './registries/compose.ts'
import { composeReview } from './review/compose.ts'
import { composeSbom } from './sbom/compose.ts'
import { composeScanners } from './scanners/compose.ts'
import { enrich as enrichFindings, missingOf } from './scanners/enrich.ts'
import type { EngineStatus } from './scanners/scanner.ts'
import type { Scanners } from './scanners/index.ts'
import { createOutlived } from './signing/signed-by-retired-keys.ts'
import { composeVulnDb } from './vulndb/compose.ts'

/** What is done with packages, whoever asks: from outgoing messages to review. */
async function composeVerbs(env: Env, base: Foundation, engines: Partial<Scanners>) {
  const { db, outbox, repositories } = base
  const { version, webhookSecret, clamd, searchPath, aptPublisher } = env
  const outbound = await composeOutbound({ ...named(base, 'outbound'), version, webhookSecret })
  const upstreams = composeUpstreams({ ...named(base, 'imports'), version, importRoots: env.importRoots })
  const { fetch, notices } = outbound
  const vulndb = composeVulnDb({
    ...ofTrees(named(base, 'vulndb')),
    fetch,
    compareVersions: (format, a, b) => getFormat(format).compareVersions(a, b),
  })
  const scanning = composeScanners({ ...base, clamd, searchPath, vulndb, engines })
  const enrich: Enrich = findings => enrichFindings(findings, vulndb.intel)
  const packages = composeCatalog({ ...named(base, 'catalog'), notices, hasTree })
  const { catalog } = packages
  const trees = composePublish({ ...ofTrees(named(base, 'publish')), fixes: vulndb.fixes, aptPublisher })
  const renewal = createRenewal({ ...ofTrees(named(base, 'publish')), publisher: trees.publisher })
  const keys = createKeyFollower(base)
  const advisories = createAdvisoryFollower({ db, outbox, repositories: repositories.trees, database: vulndb.database })
  const outlived = createOutlived({ ...base, signed: () => countSigned(db, ALL_SEEING) })
  const contents = composeContents({ ...base, version, javaNames: vulndb.javaNames })
  const gate = composeGate({
    ...base,
    scanners: scanning.scanners,
    matcher: scanning.matcher,
    enrich,
    catalog,
    contents,
  })
  const registries = composeRegistries({ ...named(base, 'registries'), ...scanning, ...upstreams, ...gate, catalog })
  const sbom = composeSbom({ ...base, contents, version })
  const review = composeReview({
    ...named(base, 'review'),
    catalog,
    notices,
    steps: gate.steps,
    enrich,
    contents,
  })
  const publishing = { packages, trees, renewal, keys, advisories, outlived }
  return { outbound, upstreams, vulndb, scanning, ...publishing, contents, gate, registries, sbom, review }
}
export type Verbs = Awaited<ReturnType<typeof composeVerbs>>

/** The scheduler over the jobs of all parts. */
const composeClock = (base: Foundation, parts: readonly Part[]): Scheduler =>
  createScheduler(
    [...parts, jobCleaning(base)].flatMap(part => part.jobs ?? []),
    {
      ...base,
      zone: () => base.settings.now().clock.timezone || undefined,
      jitterMs: () => base.settings.now().clock.jitter_minutes * 60_000,
      onError: (id, error) => base.log.error({ err: error, job: id }, 'a job failed'),
    },
  )

/** Logs, and the bundle for whoever helps. */
function composeObserving(
  env: Env,
  base: Foundation,
  {
    health,
    engines,
  }: { readonly health: Pick<Health, 'report'>; readonly engines: () => Promise<readonly EngineStatus[]> },
): readonly Feature[] {
  const { version, shown, logFolder } = env
  return [
    composeLogs({
      folder: logFolder,
      accessLog: () => base.settings.now().downloads.access_log || undefined,
    }),
    composeConsoleReleases(base),
    composeSupport({
      ...base,
      version,
      variables: shown,
      health: () => health.report({ ...ALL_SEEING, seesMachine: true }),
      engines,
      logFolder,
    }),
  ]
}

/** What is known of packages, and decided about them. */
function composeJudging(env: Env, base: Foundation, verbs: Verbs, signatures: Feature): readonly Feature[] {
  const { vulndb, scanning, packages, sbom, review } = verbs
  const { catalog } = packages
  return [
    composePolicy(base),
    signatures,
    composeReviewRoutes({ ...base, ...review, catalog }),
    composeSupplierVex({ ...base, ...review, catalog }),
    composeVulnerabilities({ ...base, catalog }),
    composeReport({ ...base, engines: scanning.statuses }),
    composeEngines({ ...base, vulndb, ...scanning, mediaFolder: env.mediaFolder }),
    composeSbomRoutes({ ...base, bills: sbom.bills }),
  ]
}

/** What is chosen: by admins for everybody, and by people for themselves. */
function composeChoices(
  base: Foundation,
  scheduler: Scheduler,
  outbound: Awaited<ReturnType<typeof composeOutbound>>,
): readonly Feature[] {
  return [
    composeSettings({ ...base, scheduler, isLicense: key => base.licensing.read(key) !== undefined }),
    composeNotifications(outbound),
    composeSavedFilters(base),
  ]
}

/** How the service is. */
function composeCondition(
  env: Env,
  base: Foundation,
  verbs: Verbs,
  {
    scheduler,
    disk,
    auth,
    access,
  }: {
    readonly scheduler: Scheduler
    readonly disk: ReturnType<typeof composeDisk>
    readonly auth: Pick<ReturnType<typeof composeAuth>, 'authenticate'>
    readonly access: ReturnType<typeof composeAccess>
  },
) {
  const { scanning, vulndb, outlived, renewal } = verbs
  const { scanners, antivirus, dataAt } = scanning
  const machine = composeMachine({ ...env, ...named(base, 'machine') })
  const health = composeHealth({
    ...env,
    ...named(base, 'health'),
    antivirus,
    vulnerability: scanners.vulnerability,
    scheduler,
    backups: () => readFacts(base),
    diskWatch: disk.facts,
    machine: machine.seen,
    missingCatalogues: () => missingOf(vulndb.intel),
    dataAt,
    warnings: viewer => [
      ...env.warnings,
      ...base.address.warnings(),
      ...outlived.warnings(viewer),
      ...renewal.warnings(viewer),
    ],
    authenticate: auth.authenticate,
    hiddenFrom: access.rules.hiddenFrom,
  })
  return { health, features: [machine, health] }
}

/** What comes from other repositories. */
function composeImporting(
  env: Env,
  base: Foundation,
  verbs: Verbs,
  {
    active,
    nextRun,
    signatures,
  }: {
    readonly active: ReadonlySet<FormatId>
    readonly nextRun: (id: string) => string | null
    readonly signatures: ReturnType<typeof composeAntivirus>
  },
) {
  const { upstreams, packages, gate, vulndb, scanning, outbound } = verbs
  const { matcher } = scanning
  const { repositories } = base
  const { intake } = verbs.registries
  const needs = {
    ...ofTrees(named(base, 'imports')),
    ...upstreams,
    catalog: packages.catalog,
    gate: gate.gate,
    matcher,
  }
  const catalogue = composeCatalogue({ ...needs, nextRun, sources: upstreams.listSources, formats: FORMATS })
  const imports = composeImports(needs)
  const features: readonly Feature[] = [
    catalogue,
    imports,
    composeImportSources(needs),
    composeMirror({ ...needs, planner: imports.planner, notices: outbound.notices, nextRun }),
    composeSecurityUpdates({ ...needs, planner: imports.planner, notices: outbound.notices, nextRun }),
    composeAdopt({ ...env, ...needs, activeFormats: active }),
    composeBundles({ ...env, ...base, ...needs, ...signatures, vulndb, activeFormats: active, repositories, intake }),
  ]
  return { imports, features }
}

/** The API by topic, in the order of its documentation, and the scheduled jobs. */
function composeFeatures(env: Env, base: Foundation, verbs: Verbs) {
  const { outbound, vulndb, scanning, packages, trees, renewal, keys } = verbs
  const { advisories, outlived, contents, gate, review } = verbs
  const { scanners, antivirus } = scanning
  const { catalog, rebuild } = packages
  const { version, jwtMinutes, setupToken } = env
  const lock = createKeyedLock() // of definitions: distributions and registries share names and the file
  const access = composeAccess(base)
  const clientFacts = createClientFacts({ ...base, privateTrees: access.rules.privateTrees })
  const directory = composeDirectory(named(base, 'directory'))
  const active = new Set(activeFormats(env.repoFormat).map(({ id }) => id))
  const auth = composeAuth({ ...named(base, 'auth'), jwtMinutes, mail: outbound.mail, directory })
  const setup = composeSetup({
    ...{ ...base, fetch: outbound.fetch },
    setupToken,
    hashPassword,
    antivirus,
    vulnerability: scanners.vulnerability,
    secrets: base.layout.secrets,
    disk: () => probeFolder(base.layout.root),
  })
  const nextRun = (id: string): string | null => scheduler.jobs().find(job => job.id === id)?.next_run ?? null
  const signatures = composeAntivirus({ ...env, ...base, antivirus })
  const importing = composeImporting(env, base, verbs, { active, nextRun, signatures })
  const uploads = composeUploads({
    ...{ ...named(base, 'uploads'), ...importing.imports, gate: gate.gate, problemOf },
    activeFormats: active,
  })
  const retention = composeRetention({ ...base, catalog })
  const downloads = composeDownloads({ ...named(base, 'downloads'), logFolder: env.logFolder })
  const backups = composeBackups({ ...env, ...named(base, 'backups') })
  const disk = composeDisk({ ...named(base, 'disk'), notices: outbound.notices })
  const inventory = composeInventory({ ...ofTrees(named(base, 'inventory')), vulndb, matcher: scanning.matcher })
  const nightly = [backups, disk, downloads, inventory, uploads, retention, logCleaning({ ...env, ...base })]
  const byClock = [verbs.registries, trees, renewal, packages, keys, vulndb, advisories, outlived, review]
  const scheduler = composeClock(base, [...nightly, ...importing.features, ...byClock])
  const condition = composeCondition(env, base, verbs, { scheduler, disk, auth, access })
  const features: readonly Feature[] = [
    setup,
    auth,
    uploads,
    ...importing.features,
    composeArtifacts({ ...base, ...importing.imports, catalog, contents, rebuild, clientFacts }),
    composeContentsRoutes({ ...base, contents }),
    composeComparison({ ...base, contents }),
    composeAudit(base),
    composeDistributions({ ...base, ...review, ...trees, catalog, clientFacts, activeFormats: active }),
    composeOwnDistributions({ ...base, lock, alone: trees.publisher.alone, database: vulndb.database }),
    composeRegistryRoutes({ ...base, lock, catalog, clientFacts, activeFormats: active }),
    composeUploaderKeys(ofTrees(base)),
    composeImageKeys({ ...base, formats: getFormat }),
    access,
    backups,
    disk,
    composeJobs({ ...base, scheduler }),
    ...composeObserving(env, base, { ...condition, engines: scanning.statuses }),
    downloads,
    inventory,
    composeLicense(base),
    composeDocuments(ofTrees(named(base, 'documents'))),
    composeRelease({ ...ofTrees(base), publisher: trees.publisher }),
    retention,
    composeDashboard({ ...base, antivirus }),
    ...composeJudging(env, base, verbs, signatures),
    ...composeChoices(base, scheduler, outbound),
    composeSso({
      ...{ ...env, ...named(base, 'sso') },
      fetch: outbound.fetch,
      directory,
      isAllowed: () => base.licensing.allowed() !== 'nothing',
      vouchedFor: auth.vouchedFor,
    }),
    composeWebhooks({
      ...base,
      secret: outbound.webhookSecret,
      reactions: { onGithub: vulndb.refreshFeeds, onKev: vulndb.refreshKev },
    }),
    composeTenants({ ...base, version, internalToken: env.internalToken }),
    ...condition.features,
  ]
  return { features, setup, auth, access, uploads, disk, downloads, health: condition.health, scheduler }
}

/** Builds everything by hand, in the order of the layers; this list is the architecture. */
export async function compose(
  env: Env,
  { uiFolder, lasting, onRestore = () => undefined, engines = {} }: ComposeOptions,
): Promise<Service> {
  if (lasting === undefined) await needAddress(env)
  const logs = lasting?.logs ?? openLogs(env)
  const { log } = logs
  const base = await layFoundation(env, log)
  const verbs = await composeVerbs(env, base, engines)
  const composed = composeFeatures(env, base, verbs)
  const { features, auth, access } = composed
  const http = composeHttp({
    ...env,
    listener: lasting?.listener,
    ...named(base, 'http'),
    aside: logs.aside,
    leads: base.leadership.decided,
    // a web server that serves the trees has its own list, also of what it asks this service for
    treeLines: { write: line => base.settings.now().downloads.access_log === '' && logs.trees.write(line) },
    ...access.rules,
    registries: { ...base, ...access.rules, ...verbs.registries },
    routes: features.flatMap(({ routes }) => routes),
    authenticate: auth.authenticate,
    enterprise: base.licensing.allowed,
    uiFolder,
  })

  return createService({ env, base, verbs, http, logs, onRestore, ...composed })
}
