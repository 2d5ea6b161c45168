import * as tls from 'node:tls'
import type { Pin } from './chain.ts'

/** Why an appliance is believed to be the one that it says it is. */
export type Trust = { readonly by: 'pin'; readonly pin: Pin } | { readonly by: 'system' }

/** The certificates that this computer trusts: those of the system's store, and those that Node brings. */
export function systemCertificates(): string[] {
  const read = (kind: 'system' | 'bundled' | 'extra'): string[] => {
    try {
      return tls.getCACertificates(kind)
    } catch {
      return [] // no store of the system, or one that cannot be read
    }
  }
  return [...new Set([...read('system'), ...read('extra'), ...read('bundled')])]
}

/** What TLS verifies a server against. Expiry and host name are always checked. */
export function tlsOptions(trust: Trust, system: () => string[]): tls.SecureContextOptions {
  if (trust.by === 'system') return { ca: system() }
  // a pinned leaf whose issuer is unknown has no root to end at
  return { ca: [trust.pin.pem], allowPartialTrustChain: trust.pin.kind === 'leaf_only' }
}

/** What a failed connection says about who answered. */
export type Mistrust = 'changed' | 'expired' | 'wrong_name'

const OTHER_IDENTITY = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'CERT_CHAIN_TOO_LONG',
])
const EXPIRED = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'])

/** Tells a certificate that is not the trusted one from a server that does not answer; undefined for the latter. */
export function mistrustIn(error: unknown): Mistrust | undefined {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? ''
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'wrong_name'
  if (EXPIRED.has(code)) return 'expired'
  return OTHER_IDENTITY.has(code) ? 'changed' : undefined
}
