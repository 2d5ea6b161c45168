import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { Access, Principal, Scoped } from './access.ts'
import type { ErrorCode } from './errors.ts'
import type { Viewer } from './viewer.ts'

/** Requests per minute. Routes with one bucket share one count per client address. */
export interface Limit {
  readonly bucket: string
  readonly perMinute: number
  /** Settings of this section say how many, and whether an address, a user or a token is counted. */
  readonly settings?: 'upload_limits'
}

/**
 * One route. From these rows come the router, the role check, limits, 402s, validation, OpenAPI, the console's types
 * and the grid tests. The key is `METHOD /path` with `{name}` parameters, relative to `/api/v1` unless `root` is set.
 */
export interface Row {
  /** One line: what the route does. */
  readonly summary: string
  /** What more a caller has to know; shown below the summary in the OpenAPI document. */
  readonly details?: string
  readonly access: Access
  readonly limit?: Limit
  /** Answered 402 in the community edition; the value names the feature. */
  readonly edition?: string
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
  /** The body is a file, or a form with one; of `packages` many. The handler streams it from `raw` itself. */
  readonly upload?: 'package' | 'packages' | 'data'
  /** The fields of that form beside its file; `data` without any takes no form at all. */
  readonly form?: TObject
  /** The body is a message of others in their own shape. The handler reads its bytes itself. */
  readonly foreign?: true
  /** A JSON schema, or another kind of answer. `events` is Server-Sent Events. */
  readonly reply: TSchema | 'events' | 'file' | 'text' | 'redirect' | 'none'
  /** The same answer as events, for callers whose `Accept` names `text/event-stream`: the handler then gives those. */
  readonly alsoEvents?: true
  /** What a stream of events ends with as an event without a name, also after a failure: `done|DONE`. */
  readonly lastLine?: string
  /** The media types that a `file` may have; octets by default. */
  readonly types?: readonly [string, ...string[]]
  /** The status of success; 200 by default. */
  readonly status?: 200 | 201 | 202 | 204
  /** Other statuses with the same reply: 503 of a health report, for example. */
  readonly otherwise?: readonly (200 | 503)[]
  readonly fails?: readonly ErrorCode[]
  /** Served at the root: `/health`, `/metrics`, webhooks. */
  readonly root?: true
  /** Of several replicas, the one that leads answers; others answer `passive_replica`, and a proxy asks the next. */
  readonly leader?: true
  /** Answered while the service starts, `always`: in maintenance too; the others answer `starting` or `maintenance`. */
  readonly early?: true | 'always'
  /**
   * A credential that is accepted beside access tokens. `basic` is for programs that know only HTTP Basic and show
   * people only the status line of an answer.
   */
  readonly also?: 'mfa_setup_token' | 'basic'
  /** What an API token with limits may do here; by default only read. */
  readonly scoped?: Scoped
}

export type Contract = Readonly<Record<`${'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'} /${string}`, Row>>

/** Keeps the literal types of the rows. */
export function contract<const C extends Contract>(rows: C): C {
  return rows
}

/** The request as a handler may need it beyond the validated values. */
export interface RawRequest {
  readonly stream: IncomingMessage
  readonly headers: IncomingMessage['headers']
  readonly clientIp: string
  readonly requestId: string
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal
}

type Schema<T> = T extends TSchema ? Static<T> : undefined
type PathParams<Key> = Key extends `${string}{${infer Name}}${infer Rest}` ? Name | PathParams<Rest> : never
type Params<Key, R> = R extends { readonly params: infer P extends TSchema }
  ? Static<P>
  : { readonly [Name in PathParams<Key>]: string }
type Who<R> = R extends { readonly access: 'public' } ? Principal | undefined : Principal
type Sees<R> = R extends { readonly access: 'public' } ? undefined : Viewer

export interface Input<Key, R> {
  readonly params: Params<Key, R>
  readonly query: R extends { readonly query: infer Q extends TSchema } ? Static<Q> : undefined
  readonly body: R extends { readonly body: infer B extends TSchema } ? Schema<B> : undefined
  readonly who: Who<R>
  /** What the caller may see of the packages; undefined on routes without a sign-in. */
  readonly viewer: Sees<R>
  readonly raw: RawRequest
}

/**
 * One Server-Sent Event. `data` is sent as JSON, a `Line` as it is; an `id` makes the stream resumable with
 * Last-Event-ID. A `comment` goes before it, or alone where `data` is undefined: clients do not see it.
 */
export interface StreamEvent {
  readonly comment?: string
  readonly id?: string
  readonly event?: string
  readonly data: unknown
}

/**
 * Text of others in one line: what would move a terminal's cursor, colour it or turn the direction of writing around
 * shows as U+FFFD. Unicode, "Bidirectional Formatting Characters".
 */
export const oneLine = (text: string): string =>
  text
    .replaceAll(/[\r\n]+/g, ' ')
    // eslint-disable-next-line no-control-regex -- control characters are exactly what is replaced here
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')

/** A line of a stream as existing clients read it: `level|text`, which they split at the first bar. */
export class Line {
  readonly text: string
  constructor(level: 'info' | 'success' | 'warning' | 'error', said: string) {
    this.text = `${level}|${oneLine(said)}`
  }
}

/** Whether a caller asks for events where a route answers with either. */
export const wantsEvents = ({ headers }: Pick<RawRequest, 'headers'>): boolean =>
  (headers.accept ?? '').toLowerCase().includes('text/event-stream')

/** A file to send, never held in memory. `csp` is for a page: its own Content-Security-Policy. */
export interface FileReply {
  readonly body: Readable | Buffer
  readonly type: string
  readonly name?: string
  readonly size?: number
  readonly csp?: string
}

/** An answer with another status than the row's: 200 where the row says 201, for example. */
export class WithStatus<T> {
  readonly status: number
  readonly body: T
  constructor(status: number, body: T) {
    this.status = status
    this.body = body
  }
}

/** Events with headers of their own, for a client that looks at these before it reads: `X-Job-Id`. */
export class WithHeaders implements AsyncIterable<StreamEvent> {
  readonly headers: Readonly<Record<string, string>>
  readonly #events: AsyncIterable<StreamEvent>
  constructor(events: AsyncIterable<StreamEvent>, headers: Readonly<Record<string, string>>) {
    this.headers = headers
    this.#events = events
  }
  [Symbol.asyncIterator](): AsyncIterator<StreamEvent> {
    return this.#events[Symbol.asyncIterator]()
  }
}

/** Sends a browser elsewhere, with whole `Set-Cookie` lines. */
export class Redirect {
  readonly location: string
  readonly cookies: readonly string[]
  constructor(location: string, cookies: readonly string[] = []) {
    this.location = location
    this.cookies = cookies
  }
}

type Answer<R> = R extends { readonly reply: infer P }
  ? P extends TSchema
    ? Static<P> | WithStatus<Static<P>> | (R extends { readonly alsoEvents: true } ? AsyncIterable<StreamEvent> : never)
    : P extends 'events'
      ? AsyncIterable<StreamEvent>
      : P extends 'file'
        ? FileReply
        : P extends 'text'
          ? string
          : P extends 'redirect'
            ? Redirect
            : undefined | void
  : never

/** One function per row: missing, extra and wrongly typed handlers are compile errors. */
export type Handlers<C extends Contract, Deps> = {
  readonly [Key in keyof C]: (deps: Deps, input: Input<Key, C[Key]>) => Answer<C[Key]> | Promise<Answer<C[Key]>>
}

/** A row with its handler, ready for `http/routes.ts`. */
export interface BoundRoute {
  readonly key: string
  readonly row: Row
  readonly handle: (input: Input<string, Row>) => unknown
}

/** Gives handlers their dependencies. */
export function bind<C extends Contract, Deps>(rows: C, handlers: Handlers<C, Deps>, deps: Deps): BoundRoute[] {
  return Object.entries(rows).map(([key, row]) => ({
    key,
    row,
    handle: input => (handlers as Record<string, (deps: Deps, input: unknown) => unknown>)[key]?.(deps, input),
  }))
}
