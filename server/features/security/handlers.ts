import type { Handlers } from '../../core/contract.ts'
import type { Audit } from '../../record/audit.ts'
import type { AntivirusScanner } from '../../scanners/scanner.ts'
import type { Settings } from '../../settings/store.ts'
import type { security } from './contract.ts'

export interface SecurityDeps {
  readonly settings: Pick<Settings, 'now' | 'patch'>
  readonly audit: Pick<Audit, 'record'>
  readonly antivirus: Pick<AntivirusScanner, 'id' | 'status'>
}

function policyOf(settings: Pick<Settings, 'now'>) {
  const { critical, high, medium, low, negligible } = settings.now().cve_policy
  return { critical, high, medium, low, negligible }
}

export const securityHandlers: Handlers<typeof security, SecurityDeps> = {
  'GET /security/policy': ({ settings }) => policyOf(settings),
  'PATCH /security/policy': async ({ settings, audit }, { body, who, raw }) => {
    const { changed } = await settings.patch({ cve_policy: body })
    const detail = changed.length === 0 ? 'Nothing changed.' : `${changed.map(key => `${key} = ${String(body[key.slice('cve_policy.'.length) as keyof typeof body])}`).join(', ')}.`
    await audit.record({ action: 'SETTINGS_CHANGE', result: 'SUCCESS', user: who.name, detail, ip: raw.clientIp })
    return policyOf(settings)
  },
  'GET /security/clamav/status': async ({ antivirus, settings }) => {
    const { ok, version, signatures_version, signatures_at, error } = await antivirus.status()
    return {
      ok, enabled: settings.now().validation.clamav_scan, engine: antivirus.id, version: version ?? null,
      signatures_version: signatures_version ?? null, signatures_at: signatures_at ?? null, ...(error === undefined ? {} : { error }),
    }
  },
}
