import { isIP } from 'node:net'
import { fail } from '../core/errors.ts'

const MOST = 2_000

/**
 * The host as it was written: between the slashes behind the scheme (any number, either way, as browsers read them) and
 * what follows.
 */
const WRITTEN_HOST = /^[a-z][a-z\d+.-]*:[/\\]*([^/\\?#]*)/i

/**
 * Reads the address of a foreign server.
 * @throws outbound_refused for other schemes, credentials in the URL, and odd spellings of addresses (octal, hex, one
 * number, IPv4 in other characters): what readers read differently is not fetched
 */
export function parseTarget(text: string): URL {
  // eslint-disable-next-line no-control-regex -- these are what URL parsers drop in silence
  if (text.length > MOST || /[\u0000-\u0020\u007f]/.test(text) || !URL.canParse(text))
    return fail('outbound_refused', { host: 'The address', why: 'it is no URL' })
  const url = new URL(text)
  const host = url.host === '' ? 'The address' : url.host
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    fail('outbound_refused', { host, why: `only http and https are possible, not ${url.protocol.slice(0, 20)}` })
  if (url.username !== '' || url.password !== '')
    fail('outbound_refused', { host, why: 'there is a user name or password in its URL' })
  if (text.includes('\\') || !/^https?:\/\/[^/]/i.test(text))
    fail('outbound_refused', { host, why: 'its URL is written in an odd way' })
  const written = (WRITTEN_HOST.exec(text)?.[1] ?? '').replace(/:\d*$/, '').toLowerCase()
  if (written.includes('@')) fail('outbound_refused', { host, why: 'there is a user name or password in its URL' })
  // a name may change when it is read (international names), an address may not
  if (isIP(url.hostname) === 4 && written !== url.hostname)
    fail('outbound_refused', { host, why: 'its address is written in an odd way' })
  return url
}
