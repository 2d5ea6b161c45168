import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import { Refused } from './ports.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g
const KEY = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[^]+?-----END \1PRIVATE KEY-----/
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
// what browsers and TLS libraries take
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1']
const LEAST_RSA_BITS = 2048

/** All certificates of a PEM text, in its order. @throws Error when one of them cannot be read */
export const certificatesIn = (text: string): X509Certificate[] =>
  (text.match(CERTIFICATE) ?? []).map(pem => new X509Certificate(pem))

const commonName = (name: string): string => /^CN=(.*)$/m.exec(name)?.[1] ?? name.replaceAll('\n', ', ')
export const subjectOf = ({ subject }: X509Certificate): string => commonName(subject ?? '')
export const issuerOf = ({ issuer }: X509Certificate): string => commonName(issuer)
/** The names and addresses that a certificate is for. */
export const namesOf = ({ subjectAltName }: X509Certificate): string[] =>
  (subjectAltName ?? '').split(', ').flatMap(one => /^(?:DNS|IP Address):(.+)$/.exec(one)?.[1] ?? [])

/** Whether clients that use this name take the certificate. */
const isFor = (certificate: X509Certificate, name: string): boolean =>
  (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined

/** Those of its names that are this machine's, also as `HOST.anything` of its short name. */
export function sharedNames(certificate: X509Certificate, machine: readonly string[]): string[] {
  const [short] = machine
  const own = namesOf(certificate).filter(name => short !== undefined && name.startsWith(`${short}.`))
  return [...new Set([...machine.filter(name => isFor(certificate, name)), ...own])]
}

function readKey(text: string): KeyObject {
  const pem = KEY.exec(text)?.[0]
  if (pem === undefined) throw new Refused('no_key', 'There is no private key in it: it begins with BEGIN PRIVATE KEY.')
  if (/ENCRYPTED/.test(pem))
    throw new Refused(
      'key_encrypted',
      'The key has a passphrase, which nobody types when the machine starts. Take it off: openssl pkey -in FILE -out FILE2.',
    )
  try {
    return createPrivateKey(pem)
  } catch {
    throw new Refused('bad_key', 'The private key cannot be read. It has to be PEM, whole, as openssl pkey writes it.')
  }
}

/** The server's certificate, then each one's issuer, in whatever order they came. */
function inOrder(found: readonly X509Certificate[], key: KeyObject): X509Certificate[] {
  const leaf = found.find(one => one.checkPrivateKey(key))
  if (leaf === undefined)
    throw new Refused('key_of_another', 'The key belongs to none of these certificates. Take the one it was made for.')
  const chain = [leaf]
  const rest = found.filter(one => one.fingerprint256 !== leaf.fingerprint256)
  for (let top = leaf; ;) {
    const at = rest.findIndex(one => top.checkIssued(one) && top.verify(one.publicKey))
    if (at === -1) break
    const [issuer] = rest.splice(at, 1)
    if (issuer === undefined) break
    chain.push((top = issuer))
  }
  const [stranger] = rest
  if (stranger !== undefined)
    throw new Refused(
      'not_in_chain',
      `${subjectOf(stranger)} signed none of the certificates below it. Leave it out, or add the one between: ${issuerOf(chain.at(-1) ?? leaf)}.`,
    )
  return chain
}

function checkStrength(certificate: X509Certificate): void {
  const { asymmetricKeyType: type, asymmetricKeyDetails: about = {} } = certificate.publicKey
  const is = subjectOf(certificate)
  if (type === 'rsa' && (about.modulusLength ?? 0) < LEAST_RSA_BITS)
    throw new Refused('weak_key', `The RSA key of ${is} has ${about.modulusLength} bits; clients want 2048 or more.`)
  if (type === 'ec' && !CURVES.includes(about.namedCurve ?? ''))
    throw new Refused('weak_key', `The curve ${about.namedCurve} of ${is} is not taken by clients. Use P-256 or P-384.`)
  if (type !== 'rsa' && type !== 'ec')
    throw new Refused('weak_key', `A key of the kind ${type} (${is}) is not taken by browsers. Use RSA or P-256.`)
}

function checkDates(certificate: X509Certificate, now: Date): void {
  const [from, to] = [new Date(certificate.validFrom), new Date(certificate.validTo)]
  const is = subjectOf(certificate)
  if (to <= now) throw new Refused('ended', `${is} ended on ${to.toISOString().slice(0, 10)}. Have it renewed.`)
  if (from > now)
    throw new Refused(
      'not_begun',
      `${is} begins on ${from.toISOString().slice(0, 16)}, and this machine's clock says ${now.toISOString().slice(0, 16)} UTC. Look at the clock first.`,
    )
}

export interface Pair {
  readonly chain: readonly X509Certificate[]
  /** PEM, as nginx reads it. */
  readonly certificate: string
  readonly key: string
}

/**
 * A company's certificate and its key, put in order.
 * @param machine  the names and addresses of this machine, its host name first
 * @throws Refused for what clients would not take, or nginx not load
 */
export function checkPair(
  given: { readonly certificate: string; readonly key: string },
  { now, machine }: { readonly now: Date; readonly machine: readonly string[] },
): Pair {
  let found: X509Certificate[]
  try {
    found = certificatesIn(given.certificate)
  } catch {
    throw new Refused('bad_certificate', 'One of the certificates cannot be read. They have to be PEM, each one whole.')
  }
  if (found.length === 0)
    throw new Refused('bad_certificate', 'There is no certificate in it: it begins with BEGIN CERTIFICATE.')
  const key = readKey(given.key)
  const chain = inOrder(found, key)
  for (const one of chain) {
    checkDates(one, now)
    checkStrength(one)
  }
  const [leaf, ...above] = chain
  if (leaf === undefined) throw new Error('a chain has a first certificate')
  const wrong = above.find(one => !one.ca)
  if (wrong !== undefined) throw new Refused('no_authority', `${subjectOf(wrong)} may not sign others.`)
  if (leaf.keyUsage !== undefined && leaf.keyUsage !== null && !leaf.keyUsage.includes(SERVER_AUTH))
    throw new Refused('not_for_servers', 'The certificate is not for servers (TLS web server authentication).')
  if (sharedNames(leaf, machine).length === 0)
    throw new Refused(
      'wrong_names',
      `It is for ${namesOf(leaf).join(', ') || 'no name at all'}, and this machine is ${machine.slice(0, 6).join(', ')}. Give the machine its name first (Network), or take another certificate.`,
    )
  return {
    chain,
    certificate: chain.map(one => one.toString()).join(''),
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
