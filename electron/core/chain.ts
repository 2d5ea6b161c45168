import { X509Certificate } from 'node:crypto'
import { connect, type DetailedPeerCertificate } from 'node:tls'
import { fingerprintOf, type Fingerprint } from './fingerprint.ts'

/** Whom a server says to be. `pin` is what a person compares and what is kept. */
export interface Chain {
  /** From the server's own certificate upwards, PEM. */
  readonly certificates: readonly string[]
  readonly pin: Pin
}
export interface Pin {
  /**
   * `authority`: the CA above the server's certificate, so that a renewed one needs no new trust. `own_certificate`: it
   * signed itself. `leaf_only`: the server did not send who signed it.
   */
  readonly kind: 'authority' | 'own_certificate' | 'leaf_only'
  readonly pem: string
  readonly fingerprint: Fingerprint
  /** ISO 8601. */
  readonly issuedAt: string
  readonly validUntil: string
  readonly subject: string
  /** Of the server's own certificate. */
  readonly hostNames: readonly string[]
  /** Of the server's own certificate; some screens show that one. */
  readonly leafFingerprint: Fingerprint
}

const TIMEOUT_MS = 10_000
const LONGEST = 10
/** Anybody may write anything into a certificate that nobody trusts yet. */
const MOST_NAMES = 50
const shown = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').slice(0, 253)

/** The server's certificates as it sent them, from its own upwards, without repetition. */
function listCertificates(peer: DetailedPeerCertificate): X509Certificate[] {
  const found: X509Certificate[] = []
  let at: DetailedPeerCertificate | undefined = peer
  while (at?.raw !== undefined && found.length < LONGEST) {
    const certificate = new X509Certificate(at.raw)
    if (found.some(one => one.fingerprint256 === certificate.fingerprint256)) break
    found.push(certificate)
    at = at.issuerCertificate
  }
  return found
}

const isoOf = (text: string): string => new Date(text).toISOString()
const commonName = (subject: string): string =>
  /^(?:.*\n)?CN=([^\n]*)/m.exec(subject)?.[1] ?? subject.replace(/\n/g, ', ')

/** What would be pinned. @throws Error for a chain whose links do not hold */
export function pinOf(certificates: readonly X509Certificate[]): Pin {
  const [leaf] = certificates
  if (leaf === undefined) throw new Error('the server sent no certificate')
  let top = leaf
  // the name of an issuer is a claim; only its signature counts
  for (const next of certificates.slice(1)) {
    if (!next.ca || !top.checkIssued(next) || !top.verify(next.publicKey)) break
    top = next
  }
  const ownSigned = leaf.checkIssued(leaf) && leaf.verify(leaf.publicKey)
  return {
    kind: top !== leaf ? 'authority' : ownSigned ? 'own_certificate' : 'leaf_only',
    pem: top.toString(),
    fingerprint: fingerprintOf(top.raw),
    issuedAt: isoOf(top.validFrom),
    validUntil: isoOf(top.validTo),
    subject: shown(commonName(top.subject)),
    hostNames: (leaf.subjectAltName ?? '')
      .split(', ')
      .slice(0, MOST_NAMES)
      .map(name => shown(name.replace(/^(DNS|IP Address):/, '')))
      .filter(name => name !== ''),
    leafFingerprint: fingerprintOf(leaf.raw),
  }
}

/**
 * Reads which certificates a server shows, before anybody trusts it. Nothing is verified, and therefore nothing is
 * sent: the connection ends with the handshake.
 * @throws Error when the server does not answer, or not with TLS
 */
export function fetchChain(host: string, port: number): Promise<Chain> {
  return new Promise((resolve, reject) => {
    const name = /^[\d.]+$|:/.test(host) ? {} : { servername: host }
    const socket = connect({ host, port, ...name, rejectUnauthorized: false }, () => {
      try {
        const certificates = listCertificates(socket.getPeerCertificate(true))
        resolve({ certificates: certificates.map(String), pin: pinOf(certificates) })
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)))
      } finally {
        socket.destroy()
      }
    })
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer in ten seconds')))
    socket.once('error', reject)
  })
}
