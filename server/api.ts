import { access } from './features/access/contract.ts'
import { adoption } from './features/adopt/contract.ts'
import { artifacts } from './features/artifacts/contract.ts'
import { artifactVersions } from './features/artifacts/versions-contract.ts'
import { audit } from './features/audit/contract.ts'
import { accounts } from './features/auth/accounts/contract.ts'
import { login } from './features/auth/login/contract.ts'
import { mfa } from './features/auth/mfa/contract.ts'
import { sessions } from './features/auth/sessions/contract.ts'
import { apiTokens } from './features/auth/tokens/contract.ts'
import { backups } from './features/backups/contract.ts'
import { bundles } from './features/bundles/contract.ts'
import { catalogue } from './features/catalogue/contract.ts'
import { comparison } from './features/comparison/contract.ts'
import { consoleReleases } from './features/console-releases/contract.ts'
import { contents } from './features/contents/contract.ts'
import { dashboard } from './features/dashboard/contract.ts'
import { distributions } from './features/distributions/contract.ts'
import { promotionTargets } from './features/distributions/targets-contract.ts'
import { ownDistributions } from './features/own-distributions/contract.ts'
import { engines } from './features/engines/contract.ts'
import { disk } from './features/disk/contract.ts'
import { health } from './features/health/contract.ts'
import { machine } from './features/machine/contract.ts'
import { machines } from './features/health/machines.ts'
import { jobs } from './features/jobs/contract.ts'
import { logs } from './features/logs/contract.ts'
import { downloads } from './features/downloads/contract.ts'
import { support } from './features/support/contract.ts'
import { clients } from './features/inventory/client-contract.ts'
import { inventory } from './features/inventory/contract.ts'
import { imports } from './features/imports/contract.ts'
import { importSources } from './features/import-sources/contract.ts'
import { mirror } from './features/mirror/contract.ts'
import { securityUpdates } from './features/security-updates/contract.ts'
import { license } from './features/license/contract.ts'
import { documents } from './features/documents/contract.ts'
import { registries } from './features/registries/contract.ts'
import { images } from './features/registries/image-contract.ts'
import { proxies } from './features/registries/proxy-contract.ts'
import { release } from './features/release/contract.ts'
import { retention } from './features/retention/contract.ts'
import { notifications } from './features/notifications/contract.ts'
import { sbom } from './features/sbom/contract.ts'
import { policy } from './features/policy/contract.ts'
import { antivirus } from './features/antivirus/contract.ts'
import { review } from './features/review/contract.ts'
import { vulnerabilities } from './features/vulnerabilities/contract.ts'
import { report } from './features/report/contract.ts'
import { savedFilters } from './features/saved-filters/contract.ts'
import { settings } from './features/settings/contract.ts'
import { setup } from './features/setup/contract.ts'
import { supplierVex } from './features/supplier-vex/contract.ts'
import { sso } from './features/sso/contract.ts'
import { tenants } from './features/tenants/contract.ts'
import { imageKeys } from './features/image-keys/contract.ts'
import { uploaderKeys } from './features/uploader-keys/contract.ts'
import { developerUploads } from './features/uploads/developer-contract.ts'
import { batches } from './features/uploads/batch-contract.ts'
import { uploads } from './features/uploads/contract.ts'
import { samples } from './features/uploads/sample-contract.ts'
import { webhooks } from './features/webhooks/contract.ts'

/** Every route of the service, as rows. The console's calls are typed by this. */
export const api = {
  ...setup,
  ...login,
  ...accounts,
  ...apiTokens,
  ...mfa,
  ...sessions,
  ...sso,
  ...access,
  ...jobs,
  ...adoption,
  ...backups,
  ...bundles,
  ...disk,
  ...machine,
  ...logs,
  ...support,
  ...consoleReleases,
  ...downloads,
  ...clients,
  ...inventory,
  ...license,
  ...uploaderKeys,
  ...imageKeys,
  ...catalogue,
  ...imports,
  ...importSources,
  ...mirror,
  ...securityUpdates,
  ...uploads,
  ...samples,
  ...batches,
  ...developerUploads,
  ...artifacts,
  ...artifactVersions,
  ...contents,
  ...comparison,
  ...distributions,
  ...promotionTargets,
  ...documents,
  ...ownDistributions,
  ...registries,
  ...proxies,
  ...images,
  ...release,
  ...retention,
  ...policy,
  ...antivirus,
  ...review,
  ...supplierVex,
  ...vulnerabilities,
  ...report,
  ...engines,
  ...sbom,
  ...notifications,
  ...webhooks,
  ...tenants,
  ...dashboard,
  ...audit,
  ...savedFilters,
  ...settings,
  ...health,
  ...machines,
}
export type Api = typeof api
