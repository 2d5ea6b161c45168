import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Audit } from '../../record/audit.ts'
import type { Settings } from '../../settings/store.ts'
import type { license } from './contract.ts'
import type { Licensing } from '../../settings/licensing.ts'

export interface LicenseDeps {
  readonly licensing: Licensing
  readonly settings: Pick<Settings, 'patch'>
  readonly audit: Pick<Audit, 'record'>
}

export const licenseHandlers: Handlers<typeof license, LicenseDeps> = {
  'GET /license': ({ licensing }) => licensing.card(),
  'PUT /license': async ({ licensing, settings, audit }, { body, who, raw }) => {
    const key = body.key.trim()
    const read = key === '' ? undefined : (licensing.read(key) ?? fail('bad_license', {}))
    await settings.patch({ license: { key } })
    await audit.record({
      action: 'SETTINGS_CHANGE',
      result: 'SUCCESS',
      user: who.name,
      ip: raw.clientIp,
      facts:
        read === undefined
          ? { kind: 'licence.removed' }
          : { kind: 'licence.changed', issued_to: read.issued_to, expires_at: read.expires_at ?? null },
    })
    return licensing.card()
  },
}
