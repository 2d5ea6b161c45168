import { createHmac, timingSafeEqual } from 'node:crypto'

/** The content of a licence key. Dates are ISO 8601. */
export interface License {
  readonly id: string
  readonly issued_to: string
  readonly issued_at: string
  /** Absent: it does not end. */
  readonly expires_at?: string
}

/** The first part of a key: its version. */
const FORM = 'GH1'
const macOf = (secret: string, text: string): Buffer => createHmac('sha256', secret).update(text).digest()

/** `GH1.<payload>.<HMAC-SHA256>`, both parts base64url: what a vendor hands out. */
export function issueLicense(license: License, vendorSecret: string): string {
  const text = `${FORM}.${Buffer.from(JSON.stringify(license)).toString('base64url')}`
  return `${text}.${macOf(vendorSecret, text).toString('base64url')}`
}

function isLicense(value: unknown): value is License {
  if (typeof value !== 'object' || value === null) return false
  const { id, issued_to, issued_at, expires_at } = value as Record<string, unknown>
  const isDate = (date: unknown): boolean => typeof date === 'string' && !Number.isNaN(Date.parse(date))
  return (
    typeof id === 'string' &&
    typeof issued_to === 'string' &&
    isDate(issued_at) &&
    (expires_at === undefined || isDate(expires_at))
  )
}

/** Reads a key. @returns undefined for a key that this vendor did not issue; compared in constant time */
export function readLicense(key: string, vendorSecret: string): License | undefined {
  const [form, payload = '', mac = '', ...more] = key.trim().split('.')
  if (form !== FORM || more.length > 0) return undefined
  const given = Buffer.from(mac, 'base64url')
  const right = macOf(vendorSecret, `${form}.${payload}`)
  if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
  try {
    const license: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    return isLicense(license) ? license : undefined
  } catch {
    return undefined
  }
}

const WARN_DAYS = 30
export const GRACE_DAYS = 14
const DAY_MS = 86_400_000

/** What a deployment may do. `grace`: the licence has ended; enterprise functions read but change nothing. */
export type Standing = 'unlicensed' | 'valid' | 'expiring' | 'grace' | 'expired' | 'invalid'

/** The state of a licence at a moment. `unlicensed` is no fault: EDITION decides then. */
export function standingOf(license: License | undefined, now: Date): Exclude<Standing, 'invalid'> {
  if (license === undefined) return 'unlicensed'
  if (license.expires_at === undefined) return 'valid'
  const left = Date.parse(license.expires_at) - now.getTime()
  if (left > WARN_DAYS * DAY_MS) return 'valid'
  if (left > 0) return 'expiring'
  return left > -GRACE_DAYS * DAY_MS ? 'grace' : 'expired'
}
