import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { Untrusted, type Ask } from './pinned-client.ts'
import type { Appliances } from './appliances.ts'
import { Refusal } from './refusal.ts'

/** What of an appliance a page may reach. Everything else of its origin is the program's own. */
const FORWARDED = /^\/(?:api|health|repos)(?:\/|$|\?)/

/** Headers of a page's request that go on. Cookies, origin and referrer stay here. */
const SENT = [
  'accept',
  'accept-language',
  'authorization',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'last-event-id',
  'range',
  'x-checksum-sha256',
]
/** Headers of an answer that the page gets. */
const RETURNED = [
  'accept-ranges',
  'cache-control',
  'content-disposition',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'etag',
  'last-modified',
  'retry-after',
  'x-request-id',
]
/** Types that a browser would run or lay out: what comes from an appliance is data, and never a part of the program. */
const ACTIVE = /html|script|css|svg|xml|wasm/i

export const isForwarded = (path: string): boolean => FORWARDED.test(path)

function sentHeaders(headers: Headers): OutgoingHttpHeaders {
  const sent: OutgoingHttpHeaders = { 'accept-encoding': 'identity' }
  for (const name of SENT) {
    const value = headers.get(name)
    if (value !== null) sent[name] = value
  }
  return sent
}

function returnedHeaders(headers: IncomingHttpHeaders): Headers {
  const returned = new Headers({
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
  })
  for (const name of RETURNED) {
    const value = headers[name]
    if (value !== undefined) returned.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  if (ACTIVE.test(returned.get('content-type') ?? '')) returned.set('content-type', 'application/octet-stream')
  return returned
}

const refusal = (status: number, code: string, detail: string): Response => Response.json({ detail, code }, { status })

/** The page's own words for an appliance that was not reached, in the shape of the server's refusals. */
function refusalFor(error: unknown): Response {
  if (error instanceof Untrusted)
    return refusal(
      502,
      `identity_${error.why}`,
      error.why === 'changed'
        ? 'Another identity answers at this address. Nothing was sent; the list of appliances says more.'
        : 'The certificate of this appliance is not good for this address or this time. Nothing was sent; the list of appliances says more.',
    )
  if (error instanceof Refusal) return refusal(404, error.code, error.message)
  // as in a browser: fetch fails, and the console says that nothing answers
  return Response.error()
}

/** What an appliance never answers a page with. */
function wrongIn(status: number): string | undefined {
  if (status >= 300 && status < 400 && status !== 304)
    return 'The appliance sends this request on to another address. That is not followed: correct the address of the appliance, or ask whoever runs the proxy in front of it.'
  return status >= 200 && status <= 599
    ? undefined
    : `What answers at the address of the appliance is not Gatehouse: it said ${status}. Ask whoever runs it.`
}

/** Answers that carry no body: the standard lets a Response have none. */
const BODILESS = new Set([101, 103, 204, 205, 304])

/** Sends a request of an appliance's page to that appliance over its pinned client; the answer streams back. */
export async function forward(appliances: Appliances, id: string, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const ask: Ask = {
    method: request.method,
    path: pathname + search,
    headers: sentHeaders(request.headers),
    signal: request.signal,
    body: request.body === null ? undefined : Readable.fromWeb(request.body as WebStream<Uint8Array>),
    silenceMs: 0,
  }
  try {
    const answer = await appliances.request(id, ask)
    const status = answer.statusCode ?? 0
    const wrong = wrongIn(status)
    if (wrong !== undefined) {
      answer.destroy()
      return refusal(502, 'strange_answer', wrong)
    }
    const init = { status, headers: returnedHeaders(answer.headers) }
    if (BODILESS.has(status) || request.method === 'HEAD') {
      answer.resume()
      return new Response(null, init)
    }
    return new Response(Readable.toWeb(answer) as ReadableStream<Uint8Array>, init)
  } catch (error) {
    if (request.signal.aborted) throw error
    return refusalFor(error)
  }
}
