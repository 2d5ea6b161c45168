import { createHash, timingSafeEqual } from 'node:crypto'

/** SHA-256 of a certificate's DER form: 64 upper-case hex digits. */
export type Fingerprint = string

export function fingerprintOf(der: Buffer): Fingerprint {
  return createHash('sha256').update(der).digest('hex').toUpperCase()
}

/** Sixteen groups of four, as the screen of the appliance shows them in rows of four. */
export function groupsOf(fingerprint: Fingerprint): string[] {
  return fingerprint.match(/.{4}/g) ?? []
}

/**
 * Reads a fingerprint as people and programs write it: with spaces, colons or neither, in any case, after `SHA256:`.
 * @returns undefined for anything that is not 64 hex digits
 */
export function parseFingerprint(text: string): Fingerprint | undefined {
  const digits = text.replace(/^\s*sha-?256\s*[:=]?/i, '').replace(/[\s:-]/g, '')
  return /^[0-9a-f]{64}$/i.test(digits) ? digits.toUpperCase() : undefined
}

export function isSame(one: Fingerprint, other: Fingerprint): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Whether a person typed the last eight digits of it; spaces between them do not count. */
export function endsWithTyped(fingerprint: Fingerprint, typed: string): boolean {
  const digits = typed.replace(/\s/g, '').toUpperCase()
  return /^[0-9A-F]{8}$/.test(digits) && isSame(fingerprint.slice(-8), digits)
}
