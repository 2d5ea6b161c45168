import type { Handlers } from '../../core/contract.ts'
import { refuseContradiction } from '../../core/contradictions.ts'
import { fail } from '../../core/errors.ts'
import type { Audit } from '../../record/audit.ts'
import { recordChange } from '../../settings/recorded.ts'
import { SETTINGS } from '../../settings/schema.ts'
import type { Settings } from '../../settings/store.ts'
import { MASK } from '../../settings/tree.ts'
import type { KeyCard, Keyring } from '../../signing/signer.ts'
import type { settings } from './contract.ts'
import type { Scheduler } from '../../work/scheduler.ts'
import type { Layout } from '../../files/layout.ts'
import type { AppAddress } from '../../core/app-address.ts'

export interface SettingsRouteDeps {
  readonly settings: Settings
  /** False for a text that is no licence key of the vendor. */
  readonly isLicense: (key: string) => boolean
  readonly keyring: Pick<Keyring, 'keys' | 'rsaKeys' | 'generate' | 'take' | 'publicKey'> & {
    publish(): Promise<boolean>
  }
  readonly layout: Pick<Layout, 'publicKey'>
  readonly address: Pick<AppAddress, 'repository'>
  readonly scheduler: Pick<Scheduler, 'jobs'>
  readonly audit: Pick<Audit, 'record'>
}

/** A wrong key in force would lock what the right one opened. @throws bad_license */
function checkLicense(change: Readonly<Record<string, unknown>>, isLicense: SettingsRouteDeps['isLicense']): void {
  const { license } = change as { readonly license?: { readonly key?: unknown } | null }
  const key = license?.key
  if (typeof key === 'string' && key !== '' && key !== MASK && !isLicense(key)) fail('bad_license', {})
}

const KEY_URL = '/repos/gpg.key'
/** The job that synchronises import sources; see catalogue/compose.ts. */
const SYNC_JOB = 'sync'

/** With the names that existing clients read. */
const listed = (card: KeyCard) => ({
  ...card,
  type: 'pub',
  algo: card.algorithm,
  key_id: card.fingerprint.slice(-16),
  created: card.created_at,
  expires: card.expires_at ?? null,
  uids: [card.user_id],
})

const KEY_ACTIONS = { 'key.made': 'GPG_GENERATE', 'key.taken': 'GPG_IMPORT' } as const

/** @returns the card, once the log has it */
async function recordKey(
  audit: SettingsRouteDeps['audit'],
  card: KeyCard,
  { kind, user, ip }: { readonly kind: keyof typeof KEY_ACTIONS; readonly user: string; readonly ip: string },
): Promise<KeyCard> {
  const facts = { kind, algorithm: card.algorithm, fingerprint: card.fingerprint }
  await audit.record({ action: KEY_ACTIONS[kind], result: 'SUCCESS', user, facts, ip })
  return card
}

export const settingsHandlers: Handlers<typeof settings, SettingsRouteDeps> = {
  'GET /settings/': deps => deps.settings.masked(),
  'PATCH /settings/': async (deps, { body, query, who, raw }) => {
    checkLicense(body, deps.isLicense)
    const patched = await deps.settings.patch(
      body,
      query.confirm === false ? (next, before) => refuseContradiction(next.cve_policy, before.cve_policy) : undefined,
    )
    await recordChange(deps.audit, patched, { user: who.name, ip: raw.clientIp })
    return deps.settings.masked()
  },
  'GET /settings/schema': () => JSON.parse(JSON.stringify(SETTINGS)) as Record<string, unknown>,
  'GET /settings/gpg': async ({ keyring }) => {
    const keys = [...(await keyring.keys())]
    return {
      configured: keys.length > 0,
      fingerprint: keys.find(key => key.role === 'current')?.fingerprint ?? null,
      keys: keys.map(listed),
      public_key_url: KEY_URL,
      public_key_armored: keys.length === 0 ? null : (await keyring.publicKey('armored')).toString('utf8'),
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
      first: body.first ?? false,
    })
    return recordKey(audit, card, { kind: 'key.made', user: who.name, ip: raw.clientIp })
  },
  'POST /settings/gpg/import': async ({ settings: current, keyring, audit }, { body, who, raw }) => {
    const card = await keyring.take({
      armored: body.private_key,
      passphrase: body.passphrase ?? '',
      overlapDays: body.overlap_days ?? current.now().signing.overlap_days,
      first: body.first ?? false,
    })
    return recordKey(audit, card, { kind: 'key.taken', user: who.name, ip: raw.clientIp })
  },
  'POST /settings/gpg/export': async ({ keyring, layout, address }, { raw }) => {
    if ((await keyring.keys()).length === 0) fail('no_signing_key', {})
    const isNew = await keyring.publish()
    const url = `${address.repository(raw)}${KEY_URL}`
    return {
      status: isNew ? 'exported' : 'unchanged',
      path: layout.publicKey,
      url_path: KEY_URL,
      url,
      message: `The public signing keys are at ${url}.`,
    }
  },
  'GET /settings/next-sync': ({ scheduler }) => {
    const next = scheduler.jobs().find(({ id }) => id === SYNC_JOB)?.next_run ?? null
    return {
      next_run: next,
      status: next === null ? 'paused' : 'scheduled',
      job: SYNC_JOB,
      message:
        next === null
          ? 'The clock synchronises nothing: sync.enabled is off.'
          : `Import sources are synchronised next at ${next}.`,
    }
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
