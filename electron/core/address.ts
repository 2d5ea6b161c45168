import { isIP } from 'node:net'
import { parseFingerprint, type Fingerprint } from './fingerprint.ts'
import { Refusal } from './refusal.ts'

/** Where an appliance is, and what its own screen said of it. */
export interface Address {
  readonly host: string
  readonly port: number
  /** `https://host`, with the port where it is not 443. */
  readonly origin: string
  /** From `gatehouse://host?fp=…`. */
  readonly fingerprint: Fingerprint | undefined
}

const BAD = 'bad_address'
// labels of letters, digits and hyphens: RFC 1123, section 2.1; underscores occur in plants
const HOST_NAME =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$/i

function hostOf(hostname: string): string {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(bare) !== 0) return bare
  if (HOST_NAME.test(bare)) return bare.toLowerCase()
  throw new Refusal(
    BAD,
    `${hostname} is no host name and no IP address. Type what the appliance's screen shows after https://.`,
  )
}

/**
 * Reads an address as a person types or pastes it: `10.20.0.31`, `gatehouse-01:8443`, `https://…`, or the `gatehouse://`
 * text of a QR code. A setup token in it is dropped here and kept nowhere.
 * @throws Refusal `bad_address`
 */
export function parseAddress(text: string): Address {
  const typed = text.trim()
  if (typed === '')
    throw new Refusal(BAD, 'The address is empty. Type the name or IP address that the appliance shows on its screen.')
  if (/^http:\/\//i.test(typed))
    throw new Refusal(
      BAD,
      'That is an address without TLS. The console speaks https only: give the address that begins with https.',
    )
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(typed)?.[1]?.toLowerCase()
  if (scheme !== undefined && scheme !== 'https' && scheme !== 'gatehouse')
    throw new Refusal(BAD, `An address begins with https:// or gatehouse://, and not with ${scheme}://.`)
  const rest = scheme === undefined ? (isIP(typed) === 6 ? `[${typed}]` : typed) : typed.slice(scheme.length + 3)
  // a browser would read https:///etc as the host etc
  if (/^[/\\]/.test(rest) || !URL.canParse(`https://${rest}`))
    throw new Refusal(BAD, `${typed.slice(0, 100)} is no address. Type a host name or an IP address.`)
  const url = new URL(`https://${rest}`)
  if (url.username !== '' || url.password !== '')
    throw new Refusal(BAD, 'An address carries no name and no password. Leave out what stands before the @.')
  const host = hostOf(url.hostname)
  const port = url.port === '' ? 443 : Number(url.port)
  const given = url.searchParams.get('fp')
  const fingerprint = given === null ? undefined : parseFingerprint(given)
  if (given !== null && fingerprint === undefined)
    throw new Refusal(
      BAD,
      'The fingerprint in this address is not whole: it has 64 digits. Copy the address once more, or leave the part after the ? out and compare by hand.',
    )
  return { host, port, origin: url.origin, fingerprint }
}
