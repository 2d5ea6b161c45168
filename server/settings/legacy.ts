import { fail, isRefusal, type AppError } from '../core/errors.ts'

type Patch = Record<string, unknown>

function text(key: string, value: unknown): string {
  return typeof value === 'string' ? value : fail('bad_setting', { key, why: 'it must be text' })
}

function ldapUrl(value: unknown): Patch {
  const given = text('ldap_url', value)
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || !['ldap:', 'ldaps:'].includes(url.protocol) || url.hostname === '') {
    return fail('bad_setting', { key: 'ldap_url', why: 'it must be a URL such as ldaps://directory.example:636' })
  }
  const secure = url.protocol === 'ldaps:'
  return {
    ldap: { host: url.hostname, port: url.port === '' ? (secure ? 636 : 389) : Number(url.port), use_ssl: secure },
  }
}

/** The flat keys that older clients send, and today's keys for them. */
const LEGACY: Record<string, (value: unknown) => Patch> = {
  ldap_url: ldapUrl,
  ldap_bind_dn: value => ({ ldap: { bind_dn: text('ldap_bind_dn', value) } }),
  ldap_bind_password: value => ({ ldap: { bind_password: text('ldap_bind_password', value) } }),
  ldap_base_dn: value => ({ ldap: { base_dn: text('ldap_base_dn', value) } }),
  retention_days: value => ({ retention: { audit_days: value } }),
}

/**
 * Splits a patch into today's shape and the translated flat keys. These come first, so that a section wins over them.
 * What cannot be translated goes to `faults`.
 */
export function translateLegacy(change: Patch, faults: AppError[]): readonly Patch[] {
  const isLegacy = ([key]: [string, unknown]): boolean => Object.hasOwn(LEGACY, key)
  const entries = Object.entries(change)
  const translated = entries.filter(isLegacy).flatMap(([key, value]) => {
    try {
      return [LEGACY[key]?.(value) ?? {}]
    } catch (error) {
      if (!isRefusal(error)) throw error
      faults.push(error)
      return []
    }
  })
  return [...translated, Object.fromEntries(entries.filter(entry => !isLegacy(entry)))]
}
