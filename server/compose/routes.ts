import type { Catalog } from '../catalog/catalog.ts'
import type { Rebuilt } from '../catalog/rebuild.ts'
import { bind, type BoundRoute, type RawRequest } from '../core/contract.ts'
import type { ClientFacts } from '../core/client-setup.ts'
import type { Distribution } from '../core/distributions.ts'
import type { Db } from '../db/db.ts'
import { createSeenDb } from '../db/seen.ts'
import type { Outbox } from '../db/outbox.ts'
import type { Env } from '../env.ts'
import { access } from '../features/access/contract.ts'
import { accessHandlers } from '../features/access/handlers.ts'
import type { AccessRules } from '../features/access/rules.ts'
import { artifacts } from '../features/artifacts/contract.ts'
import { artifactHandlers } from '../features/artifacts/handlers.ts'
import { audit as auditRows } from '../features/audit/contract.ts'
import { auditHandlers } from '../features/audit/handlers.ts'
import type { Auth } from '../features/auth/auth.ts'
import { dashboard } from '../features/dashboard/contract.ts'
import { createDashboard } from '../features/dashboard/dashboard.ts'
import { dashboardHandlers } from '../features/dashboard/handlers.ts'
import { distributions } from '../features/distributions/contract.ts'
import { createInit } from '../features/distributions/init.ts'
import { distributionHandlers } from '../features/distributions/handlers.ts'
import { engines } from '../features/engines/contract.ts'
import { engineHandlers, type EngineDeps } from '../features/engines/handlers.ts'
import { health as healthRows } from '../features/health/contract.ts'
import { healthHandlers } from '../features/health/handlers.ts'
import type { Health } from '../features/health/health.ts'
import { license } from '../features/license/contract.ts'
import { licenseHandlers } from '../features/license/handlers.ts'
import type { Licensing } from '../features/license/license.ts'
import { retention } from '../features/retention/contract.ts'
import { retentionHandlers } from '../features/retention/handlers.ts'
import { notifications } from '../features/notifications/contract.ts'
import { notificationHandlers } from '../features/notifications/handlers.ts'
import { sbom } from '../features/sbom/contract.ts'
import { sbomHandlers } from '../features/sbom/handlers.ts'
import { security } from '../features/security/contract.ts'
import { securityHandlers } from '../features/security/handlers.ts'
import { settings as settingsRows } from '../features/settings/contract.ts'
import { settingsHandlers } from '../features/settings/handlers.ts'
import { setup } from '../features/setup/contract.ts'
import type { FirstAdmin } from '../features/setup/first-admin.ts'
import { setupHandlers } from '../features/setup/handlers.ts'
import { uploaderKeys } from '../features/uploader-keys/contract.ts'
import { uploaderKeyHandlers } from '../features/uploader-keys/handlers.ts'
import { uploads } from '../features/uploads/contract.ts'
import { uploadHandlers } from '../features/uploads/handlers.ts'
import { webhooks } from '../features/webhooks/contract.ts'
import { webhookHandlers } from '../features/webhooks/handlers.ts'
import type { Inbound } from '../features/webhooks/inbound.ts'
import type { Layout } from '../files/layout.ts'
import type { Spool } from '../files/spool.ts'
import type { Format } from '../formats/format.ts'
import { FORMATS, getFormat, switchesFor } from '../formats/index.ts'
import { repoUrl } from '../http/repo-url.ts'
import type { Authenticate } from '../http/routes.ts'
import type { Clock } from '../lib/clock.ts'
import type { Gate } from '../pipeline/gate.ts'
import type { Publisher } from '../publish/publisher.ts'
import type { Audit } from '../record/audit.ts'
import type { Events } from '../record/events.ts'
import type { Metrics } from '../record/metrics.ts'
import type { Bills } from '../sbom/bills.ts'
import type { Settings } from '../settings/store.ts'
import type { Keyring } from '../signing/signer.ts'
import { createUploaderKeys } from '../signing/uploader-keys.ts'
import type { Outbound } from './outbound.ts'
import type { Security } from './security.ts'

export interface RouteParts {
  readonly env: Env
  readonly db: Db
  readonly clock: Clock
  readonly audit: Audit
  readonly outbox: Outbox
  readonly catalog: Catalog
  readonly publisher: Publisher
  readonly licensing: Licensing
  readonly rules: AccessRules
  readonly layout: Layout
  readonly rebuild: () => Promise<Rebuilt>
  readonly settings: Settings
  readonly keyring: Keyring
  readonly spool: Spool
  readonly gate: Gate
  readonly events: Events
  readonly metrics: Metrics
  readonly health: Health
  readonly bills: Bills
  readonly security: Security
  readonly engines: Pick<EngineDeps, 'scanners' | 'database' | 'importer' | 'feeds' | 'security'>
  readonly firstAdmin: FirstAdmin
  readonly outbound: Outbound
  readonly inbound: Inbound
  readonly sso: readonly BoundRoute[]
  readonly auth: Auth
  readonly activeFormats: readonly Format[]
}

/** Gives every row its handler and every handler its parts. */
export function bindRoutes(parts: RouteParts): {
  readonly routes: readonly BoundRoute[]
  readonly authenticate: Authenticate
} {
  const { env, db, clock, audit, outbox, catalog, rebuild, settings, keyring, events, metrics } = parts
  // what features read, their callers may see
  const seen = createSeenDb(db)
  const active = new Set(parts.activeFormats.map(format => format.id))
  const isActive = (distribution: Distribution): boolean =>
    active.has(distribution.format) || !FORMATS.some(format => format.id === distribution.format)
  const isPublishable = (distribution: Distribution): boolean =>
    FORMATS.some(format => format.id === distribution.format && format.tree !== undefined)
  const newKey = (): Parameters<Keyring['generate']>[0] => {
    const { key_type: type, key_name: name, key_email: email, overlap_days: overlapDays } = settings.now().signing
    return { type, name, email, overlapDays }
  }
  const clientFacts = async (raw: RawRequest): Promise<ClientFacts> => ({
    url: repoUrl(raw, settings.now().app_url),
    signedPackages: settings.now().signing.rpm_packages,
    apkKeys: (await keyring.rsaKeys()).map(key => key.key_name),
  })
  const init = createInit({
    db,
    outbox,
    audit,
    keyring,
    newKey,
    isActive,
    isPublishable,
    formatSetting: distribution => switchesFor(distribution.format),
  })
  const routes: readonly BoundRoute[] = [
    ...bind(setup, setupHandlers, { firstAdmin: parts.firstAdmin }),
    ...parts.auth.routes,
    ...bind(uploads, uploadHandlers, {
      spool: parts.spool,
      gate: parts.gate,
      formats: FORMATS,
      activeFormats: active,
      switchesFor,
      settings,
      events,
      metrics,
      clock,
    }),
    ...bind(artifacts, artifactHandlers, { db: seen, catalog, audit, formats: getFormat, rebuild, clientFacts }),
    ...bind(auditRows, auditHandlers, { audit }),
    ...bind(distributions, distributionHandlers, {
      db: seen,
      catalog,
      audit,
      keyring,
      isActive,
      isPublishable,
      init,
      publisher: parts.publisher,
      clientFacts,
    }),
    ...bind(uploaderKeys, uploaderKeyHandlers, { db, audit, keys: createUploaderKeys({ db, clock }) }),
    ...bind(access, accessHandlers, { db, audit, rules: parts.rules }),
    ...bind(license, licenseHandlers, { licensing: parts.licensing, settings, audit }),
    ...bind(retention, retentionHandlers, { db: seen, catalog, audit, clock }),
    ...bind(dashboard, dashboardHandlers, { dashboard: createDashboard({ db: seen, audit, clock }), events, clock }),
    ...bind(security, securityHandlers, parts.security.deps),
    ...bind(engines, engineHandlers, { ...parts.engines, spool: parts.spool, settings, audit, clock }),
    ...bind(sbom, sbomHandlers, { db: seen, bills: parts.bills }),
    ...bind(settingsRows, settingsHandlers, {
      settings,
      keyring,
      audit,
      isLicense: key => parts.licensing.read(key) !== undefined,
    }),
    ...bind(notifications, notificationHandlers, parts.outbound),
    ...parts.sso,
    ...bind(webhooks, webhookHandlers, { inbound: parts.inbound }),
    ...bind(healthRows, healthHandlers, { health: parts.health, metrics, clock, metricsToken: env.metricsToken }),
  ]
  return { routes, authenticate: parts.auth.authenticate }
}
