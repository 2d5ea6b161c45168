import type { Handlers } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { Audit } from '../../record/audit.ts'
import { SETTINGS } from '../../settings/schema.ts'
import type { Settings } from '../../settings/store.ts'
import { MASK } from '../../settings/tree.ts'
import type { Keyring } from '../../signing/signer.ts'
import type { settings } from './contract.ts'

export interface SettingsRouteDeps {
  readonly settings: Settings
  /** False for a text that is no licence key of the vendor. */
  readonly isLicense: (key: string) => boolean
  readonly keyring: Pick<Keyring, 'keys' | 'rsaKeys' | 'generate' | 'publicKey'>
  readonly audit: Pick<Audit, 'record'>
}

/** A wrong key in force would lock what the right one opened. @throws bad_license */
function checkLicense(change: Readonly<Record<string, unknown>>, isLicense: SettingsRouteDeps['isLicense']): void {
  const { license } = change as { readonly license?: { readonly key?: unknown } | null }
  const key = license?.key
  if (typeof key === 'string' && key !== '' && key !== MASK && !isLicense(key)) fail('bad_license', {})
}

export const settingsHandlers: Handlers<typeof settings, SettingsRouteDeps> = {
  'GET /settings/': deps => deps.settings.masked(),
  'PATCH /settings/': async (deps, { body, who, raw }) => {
    checkLicense(body, deps.isLicense)
    const { changed } = await deps.settings.patch(body)
    await deps.audit.record({
      action: 'SETTINGS_CHANGE',
      result: 'SUCCESS',
      user: who.name,
      facts: { kind: 'settings.changed', keys: changed },
      ip: raw.clientIp,
    })
    return deps.settings.masked()
  },
  'GET /settings/schema': () => JSON.parse(JSON.stringify(SETTINGS)) as Record<string, unknown>,
  'GET /settings/gpg': async ({ keyring }) => {
    const keys = [...(await keyring.keys())]
    return {
      configured: keys.length > 0,
      fingerprint: keys.find(key => key.role === 'current')?.fingerprint ?? null,
      keys,
      public_key_url: '/repos/gpg.key',
      apk_keys: (await keyring.rsaKeys()).map(key => ({ ...key, public_key_url: `/apk/${key.key_name}` })),
    }
  },
  'POST /settings/gpg/generate': async ({ settings: current, keyring, audit }, { body, who, raw }) => {
    const { key_type, key_name, key_email, overlap_days } = current.now().signing
    const card = await keyring.generate({
      type: body.type ?? key_type,
      name: body.name ?? key_name,
      email: body.email ?? key_email,
      overlapDays: body.overlap_days ?? overlap_days,
    })
    await audit.record({
      action: 'GPG_GENERATE',
      result: 'SUCCESS',
      user: who.name,
      facts: { kind: 'key.made', algorithm: card.algorithm, fingerprint: card.fingerprint },
      ip: raw.clientIp,
    })
    return card
  },
  'GET /settings/gpg/export': async ({ keyring }, { query }) => {
    const form = query.form ?? 'armored'
    const body = await keyring.publicKey(form)
    return {
      body,
      type: 'application/pgp-keys',
      name: form === 'armored' ? 'gatehouse.asc' : 'gatehouse.gpg',
      size: body.length,
    }
  },
}
