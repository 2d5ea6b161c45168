import type { IncomingMessage } from 'node:http'

/** What is known of a request once its answer has ended. */
export interface Answered {
  readonly status: number
  readonly bytes: number
  readonly ip: string
  readonly user: string | undefined
  readonly requestId: string
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (n: number): string => String(n).padStart(2, '0')

/** `23/Nov/2026:15:04:05 +0000` */
function stamp(ms: number): string {
  const at = new Date(ms)
  const day = `${two(at.getUTCDate())}/${MONTHS[at.getUTCMonth()]}/${at.getUTCFullYear()}`
  return `${day}:${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())} +0000`
}

// what would end a field or a line, or is no ASCII; nginx writes these in the same way
const ODD = /[^\x20\x21\x23-\x5b\x5d-\x7e]/g
const escaped = (text: string): string =>
  text.replace(ODD, char =>
    [...Buffer.from(char)].map(byte => `\\x${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  )

/** A header as a quoted field. Nobody needs more than its beginning. */
const field = (text: string | undefined): string =>
  text === undefined || text === '' ? '"-"' : `"${escaped(text.slice(0, 300))}"`

/**
 * Prints requests, without their query, in nginx's combined format, and behind it the header Range and the request's
 * id. Source: nginx.org/en/docs/http/ngx_http_log_module.html#log_format
 * @param now  in ms since 1970
 */
export function createAccessLines(now: () => number): (request: IncomingMessage, answered: Answered) => string {
  let second = -1
  let printed = ''
  return (request, { status, bytes, ip, user, requestId }) => {
    const ms = now()
    if (Math.floor(ms / 1000) !== second) {
      second = Math.floor(ms / 1000)
      printed = stamp(ms)
    }
    const { method = '', url = '', httpVersion, headers } = request
    const who = user === undefined ? '-' : escaped(user).replaceAll(' ', '\\x20')
    const asked = `"${method} ${escaped((url.split('?', 1)[0] ?? '').slice(0, 2_000))} HTTP/${httpVersion}"`
    const sent = `${field(headers['user-agent'])} ${field(headers.range)}`
    return `${ip} - ${who} [${printed}] ${asked} ${status} ${bytes} "-" ${sent} ${requestId}\n`
  }
}
