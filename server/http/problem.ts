import type { Context, Next } from 'koa'
import { BASIC_CHALLENGE } from '../core/basic-challenge.ts'
import { AppError, ERRORS, type ErrorCode } from '../core/errors.ts'
import { DatabaseUnavailable } from '../db/database-unavailable.ts'
import { readAway } from './body.ts'
import { machineFaultOf } from '../lib/machine-faults.ts'
import type { Log } from '../lib/log.ts'

/** One fault of a request, in the form that older clients read. `loc` is its place: `['body', 'sync', 'hour']`. */
export interface Fault {
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: string
  /** The refused value: null where it is missing or no scalar, `***` for a secret. */
  readonly input: string | number | boolean | null
}

/** The request does not have the shape that its route asks for. */
export class ShapeError extends Error {
  readonly faults: readonly Fault[]
  constructor(faults: readonly Fault[]) {
    super(faults.map(fault => `${fault.loc.join('.')}: ${fault.msg}`).join('; '))
    this.name = 'ShapeError'
    this.faults = faults
  }
}

type Detail = string | readonly Fault[] | Record<string, unknown>

/** Codes whose `detail` is an object, because existing clients read it so. */
const OBJECTS: Partial<Record<ErrorCode, (error: AppError) => Record<string, unknown>>> = {
  enterprise_only: ({ message }) => ({
    edition: 'community',
    feature: 'enterprise',
    message,
    upgrade_url: 'https://gatehouse.example/enterprise',
    contact: 'sales@gatehouse.example',
  }),
  rate_limited: ({ message, facts }) => ({
    error: 'rate_limit_exceeded',
    message,
    limit: facts.limit,
    retry_after: facts.retry_after,
  }),
  duplicate_conflict: ({ message, facts }) => ({
    error: 'duplicate_conflict',
    message,
    incoming_sha256: facts.incoming_sha256,
    existing_sha256: facts.existing_sha256,
  }),
}

/** The parts of a request that an error may be about. */
export interface Sent {
  readonly method?: string
  readonly params?: object
  readonly query?: object
}

export interface Problem {
  readonly status: number
  readonly code: string
  readonly detail: Detail
  readonly facts?: Readonly<Record<string, unknown>>
}

/** An error as clients see it. An internal fault reveals nothing but that it is one. */
export function problemOf(error: unknown, sent: Sent = {}): Problem {
  if (error instanceof AppError) {
    const [status] = ERRORS[error.code]
    const { code, facts } = error
    const detail =
      OBJECTS[code]?.(error) ?? (status === 422 ? [faultOf(error, sent), ...othersOf(error)] : error.message)
    return { status, code, detail, ...(Object.keys(facts).length === 0 ? {} : { facts }) }
  }
  if (error instanceof ShapeError) return { status: 422, code: 'bad_shape', detail: error.faults }
  // build systems retry after 503 and give up after 500
  if (error instanceof DatabaseUnavailable)
    return { status: ERRORS.database_gone[0], code: 'database_gone', detail: ERRORS.database_gone[1] }
  const code = machineFaultOf(error) ?? 'internal'
  return { status: ERRORS[code][0], code, detail: ERRORS[code][1] }
}

/** Where a refusal has several reasons, its facts hold the others. */
function othersOf({ facts }: AppError): Fault[] {
  const others = Array.isArray(facts.others)
    ? (facts.others as readonly { readonly code: string; readonly message: string; readonly key: unknown }[])
    : []
  return others.map(({ code, message, key }) => ({
    loc: ['body', ...(typeof key === 'string' ? key.split('.') : [])],
    msg: message,
    type: code,
    input: null,
  }))
}

/** Where a refused value stood: by the name of its field if the error gives one, else where such requests have it. */
function faultOf({ code, facts, message }: AppError, { method, params, query }: Sent): Fault {
  const field = typeof facts.field === 'string' ? facts.field : typeof facts.key === 'string' ? facts.key : undefined
  const isIn = (members: object | undefined): boolean => field !== undefined && Object.hasOwn(members ?? {}, field)
  const isRead = method === 'GET' || method === 'HEAD'
  const place = isIn(params) ? 'path' : isRead || isIn(query) ? 'query' : 'body'
  return { loc: [place, ...(field === undefined ? [] : field.split('.'))], msg: message, type: code, input: null }
}

/** The body of an error. */
export function problemBody({ code, detail, facts }: Problem, requestId: string): Record<string, unknown> {
  return { detail, code, ...(facts === undefined ? {} : { facts }), request_id: requestId }
}

/** The reason as one line of plain ASCII: all that such a program shows. */
function statusLine(error: unknown, otherwise: string): string {
  if (!(error instanceof AppError)) return otherwise
  return error.message.replace(/[^ -~]+/g, ' ').slice(0, 500)
}

/** Errors that may be over in a moment. */
const SOON: ReadonlySet<string> = new Set<ErrorCode>([
  'starting',
  'maintenance',
  'passive_replica',
  'database_gone',
  'too_many_files',
])
/** Errors that are no fault of the service. */
const ORDERLY: ReadonlySet<string> = new Set<ErrorCode>(['starting', 'maintenance', 'passive_replica'])

/** The only place that catches errors. Turns each into its answer, and logs internal faults once, with their cause. */
export function catchProblems(log: Log) {
  return async (ctx: Context, next: Next): Promise<void> => {
    try {
      await next()
    } catch (error) {
      const requestId = String(ctx.state.requestId)
      if (ctx.res.destroyed || ctx.req.socket.destroyed) return // the client left: nobody to answer
      const problem = problemOf(error, { method: ctx.method, params: (ctx.params ?? {}) as object, query: ctx.query })
      if (problem.status >= 500 && !ORDERLY.has(problem.code))
        log.error({ err: error, request_id: requestId, method: ctx.method, path: ctx.path }, 'request failed')
      ctx.status = problem.status
      // package managers know only Basic: a tree has said so by now
      if (problem.status === 401 && !ctx.res.hasHeader('WWW-Authenticate'))
        ctx.set('WWW-Authenticate', ctx.state.isTool === true ? BASIC_CHALLENGE : 'Bearer')
      if (problem.facts?.retry_after !== undefined) ctx.set('Retry-After', String(problem.facts.retry_after))
      if (problem.status === 503 && SOON.has(problem.code)) ctx.set('Retry-After', '5')
      if (problem.code === 'method_not_allowed') ctx.set('Allow', String(problem.facts?.allowed))
      ctx.body = problemBody(problem, requestId)
      if (ctx.state.isTool === true) {
        ctx.message = statusLine(error, ctx.message)
        await readAway(ctx.req)
      }
    }
  }
}
