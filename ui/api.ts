import { spoken } from './server-texts.ts'
import { seen } from './unseen.ts'
import type { Reply, Wire } from './wire.ts'

/** The input of a call: path parameters, query and body, each only where the route has it. */
type Ask<Key extends keyof Wire> = Wire[Key]['ask'] & {
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
  /** It is sent to its end even when the page is left meanwhile; for small bodies. */
  readonly keepalive?: boolean
}

/** One field that the server refused, from the list of a 422. `path` is dotted, from the top of the body. */
export interface FieldProblem {
  readonly field: string
  readonly path: string
  readonly message: string
}

/** A refusal of the server, or no answer at all (`status` 0). `message` is the sentence to show. */
export class ApiProblem extends Error {
  readonly status: number
  readonly code: string
  readonly facts: Readonly<Record<string, unknown>>
  readonly fields: readonly FieldProblem[]
  readonly requestId: string | undefined
  /** Seconds, from a 429. */
  readonly retryAfter: number | undefined

  constructor(said: {
    status: number
    code: string
    message: string
    facts?: Readonly<Record<string, unknown>>
    fields?: readonly FieldProblem[]
    requestId?: string | undefined
    retryAfter?: number | undefined
  }) {
    super(said.message)
    this.name = 'ApiProblem'
    this.status = said.status
    this.code = said.code
    this.facts = said.facts ?? {}
    this.fields = said.fields ?? []
    this.requestId = said.requestId
    this.retryAfter = said.retryAfter
  }
}

/** Gives calls the session's credential, and tells the session when the server refuses it. */
interface Lender {
  readonly token: () => string | undefined
  readonly refused: (token: string) => void
}
let lender: Lender = { token: () => undefined, refused: () => {} }

export function lendCredential(to: Lender): void {
  lender = to
}

const SILENT = 'The server does not answer. Check that it runs and that this computer reaches it.'

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads an error body of any of the contract's shapes. */
export function problemFrom(
  status: number,
  body: unknown,
  headers: { readonly get: (name: string) => string | null },
): ApiProblem {
  const top = isRecord(body) ? body : {}
  const detail = top.detail
  const inner = isRecord(detail) ? detail : {}
  const fields = Array.isArray(detail)
    ? detail.filter(isRecord).map(one => {
        const loc = Array.isArray(one.loc) ? one.loc.map(String) : []
        return { field: loc.at(-1) ?? '', path: loc.slice(1).join('.'), message: String(one.msg ?? '') }
      })
    : []
  const isShape = top.code === undefined || top.code === 'bad_shape' // every other 422 is a whole sentence already
  const message =
    typeof detail === 'string'
      ? detail
      : typeof inner.message === 'string'
        ? inner.message
        : fields.length > 0
          ? fields.map(({ field, message: said }) => (isShape && field !== '' ? `${field}: ${said}` : said)).join('. ')
          : `The server answered ${status}.`
  const wait = Number(headers.get('retry-after') ?? inner.retry_after ?? NaN)
  return new ApiProblem({
    status,
    message,
    fields,
    code: String(top.code ?? inner.error ?? status),
    facts: { ...inner, ...(isRecord(top.facts) ? top.facts : {}) },
    requestId:
      (typeof top.request_id === 'string' ? top.request_id : undefined) ?? headers.get('x-request-id') ?? undefined,
    retryAfter: Number.isFinite(wait) ? Math.max(1, wait) : undefined,
  })
}

/** The address of a route key with its parameters and query filled in. */
export function addressOf(
  key: string,
  params: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, unknown>> = {},
): string {
  const path = key
    .slice(key.indexOf(' ') + 1)
    .replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams(
    Object.entries(query)
      .filter(([, value]) => value !== undefined && value !== '')
      .map(([name, value]) => [name, String(value)]),
  )
  const root = /^\/(health|metrics)/.test(path) ? '' : '/api/v1'
  return `${root}${path}${search.size > 0 ? `?${search}` : ''}`
}

interface Plain {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly keepalive?: boolean
}

/** Headers every request carries. Public so that uploads, which need progress, can send the same. */
export function credentialHeaders(): Record<string, string> {
  const token = lender.token()
  return token === undefined ? {} : { authorization: `Bearer ${token}` }
}

/** Tells the session of a 401 to a request that carried its token; the token may have changed meanwhile. */
export function tellRefused(headers: Readonly<Record<string, string>>): void {
  if (headers.authorization !== undefined) lender.refused(headers.authorization.slice('Bearer '.length))
}

/** The one request that is tied to the browser by a cookie; all others carry a token and nothing else. */
const WITH_COOKIE = new Set(['POST /auth/oidc/exchange'])

async function send(key: string, ask: Plain): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json', ...credentialHeaders(), ...ask.headers }
  if (ask.body !== undefined) headers['content-type'] = 'application/json'
  let response: Response
  try {
    response = await fetch(addressOf(key, ask.params, ask.query), {
      method: key.slice(0, key.indexOf(' ')),
      headers,
      cache: 'no-store',
      credentials: WITH_COOKIE.has(key) ? 'same-origin' : 'omit',
      ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
      ...(ask.signal === undefined ? {} : { signal: ask.signal }),
      ...(ask.keepalive === undefined ? {} : { keepalive: ask.keepalive }),
    })
  } catch (error) {
    if (ask.signal?.aborted) throw error
    throw new ApiProblem({ status: 0, code: 'no_answer', message: SILENT })
  }
  if (response.ok) return response
  if (response.status === 401) tellRefused(headers)
  const text = await response.text()
  let body: unknown
  try {
    body = spoken(JSON.parse(seen(text)))
  } catch {
    body = undefined
  } // a proxy's page is no answer of ours
  // the health report of a sick server is an answer, not a refusal
  if (response.status === 503 && key === 'GET /health' && isRecord(body) && 'checks' in body)
    return new Response(text, { status: 200 })
  throw problemFrom(response.status, body, response.headers)
}

/** Calls a route of the contract. @throws ApiProblem */
export async function call<Key extends keyof Wire>(
  key: Key,
  ...[ask]: Record<never, never> extends Ask<Key> ? [Ask<Key>?] : [Ask<Key>]
): Promise<Reply<Key>> {
  // the type of the row is for callers; only the shape matters from here on
  const response = await send(key, (ask ?? {}) as Plain)
  if (response.status === 204) return undefined as Reply<Key>
  const text = await response.text()
  // what is set goes back as it came
  return key === 'GET /settings/' ? (JSON.parse(text) as Reply<Key>) : spoken(JSON.parse(seen(text)) as Reply<Key>)
}

/** Opens an event stream. @throws ApiProblem */
export async function open(
  key: 'GET /dashboard/events' | 'GET /logs/stream' | 'GET /jobs/{id}/events' | 'POST /import/batch',
  ask: Plain,
): Promise<ReadableStream<Uint8Array>> {
  const { body } = await send(key, { ...ask, headers: { accept: 'text/event-stream', ...ask.headers } })
  if (body === null) throw new ApiProblem({ status: 0, code: 'no_answer', message: SILENT })
  return body
}

const OWN = 'The console met an error of its own. Reload the page; if it comes back, tell an admin.'

/** Anything that was thrown, as a problem to show. */
export function toProblem(error: unknown): ApiProblem {
  return error instanceof ApiProblem ? error : new ApiProblem({ status: 0, code: 'console', message: OWN })
}

/** The sentence for anything that was thrown. */
export function sentence(error: unknown): string {
  return toProblem(error).message
}
