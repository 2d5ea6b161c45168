import type { Context } from 'koa'
import { PassThrough } from 'node:stream'
import {
  Line,
  Redirect,
  WithHeaders,
  WithStatus,
  type FileReply,
  type Row,
  type StreamEvent,
} from '../core/contract.ts'
import type { Log } from '../lib/log.ts'
import { problemBody, problemOf } from './problem.ts'

const HEARTBEAT_MS = 15_000

/** One event as it is sent (WHATWG HTML, 9.2 Server-sent events). */
function printEvent({ comment, id, event, data }: StreamEvent): string {
  const lines = [
    ...(comment === undefined ? [] : [`: ${comment}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(data === undefined ? [] : [`data: ${data instanceof Line ? data.text : JSON.stringify(data)}`]),
  ]
  return `${lines.join('\n')}\n\n`
}

function drained(out: PassThrough): Promise<void> {
  return new Promise(resolve => {
    const goOn = (): void => {
      out.off('drain', goOn).off('close', goOn)
      resolve()
    }
    out.once('drain', goOn).once('close', goOn)
  })
}

async function pump(
  events: AsyncIterator<StreamEvent>,
  first: IteratorResult<StreamEvent>,
  out: PassThrough,
): Promise<void> {
  for (let next = first; next.done !== true; next = await events.next()) {
    if (out.destroyed) break
    if (!out.write(printEvent(next.value))) await drained(out)
  }
}

/** What a stream needs beside its events. */
export interface StreamDeps {
  readonly log: Log
  /**
   * Called at every heartbeat: the stream ends when its reader may read it no longer. Undefined where that never
   * changes.
   */
  readonly mayGoOn?: (() => Promise<boolean>) | undefined
  /** Sent as it is when the events have ended, in whatever way. */
  readonly lastLine?: string | undefined
}

/**
 * Sends events until they end, the client leaves, or the reader may not read on. An error before the first event is an
 * ordinary problem.
 */
async function sendEvents(
  ctx: Context,
  events: AsyncIterable<StreamEvent>,
  { log, mayGoOn, lastLine }: StreamDeps,
): Promise<void> {
  const iterator = events[Symbol.asyncIterator]()
  const requestId = String(ctx.state.requestId)
  const out = new PassThrough()
  const heartbeat = setInterval(() => {
    out.write(': ping\n\n')
    void mayGoOn?.().then(may => {
      if (!may) ctx.res.end()
    })
  }, HEARTBEAT_MS)
  const end = (): void => {
    clearInterval(heartbeat)
    out.destroy()
    void Promise.resolve(iterator.return?.()).catch((error: unknown) =>
      log.error({ err: error, request_id: requestId }, 'a stream did not end well'),
    )
  }
  ctx.res.setMaxListeners(20) // a stream has eleven listeners of its own, without a leak
  ctx.res.once('close', end)
  let first: IteratorResult<StreamEvent>
  try {
    first = await iterator.next()
  } catch (error) {
    ctx.res.removeListener('close', end)
    clearInterval(heartbeat)
    throw error
  }
  ctx.set({
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
    ...(events instanceof WithHeaders ? events.headers : {}),
  })
  ctx.status = 200
  ctx.body = out
  pump(iterator, first, out)
    .catch((error: unknown) => {
      const problem = problemOf(error)
      if (problem.status >= 500) log.error({ err: error, request_id: requestId }, 'a stream failed')
      if (!out.destroyed)
        out.write(printEvent({ event: 'error', data: { status: problem.status, ...problemBody(problem, requestId) } }))
    })
    .finally(() => {
      clearInterval(heartbeat)
      if (lastLine !== undefined && !out.destroyed) out.write(`data: ${lastLine}\n\n`)
      out.end()
    })
}

function sendFile(ctx: Context, { body, type, name, size, csp }: FileReply): void {
  ctx.type = type
  if (csp !== undefined) ctx.set('Content-Security-Policy', csp)
  if (name !== undefined) ctx.attachment(name)
  if (size !== undefined) ctx.length = size
  ctx.body = body
}

function sendRedirect(ctx: Context, { location, cookies }: Redirect): void {
  ctx.status = 302
  ctx.set('Location', location)
  if (cookies.length > 0) ctx.set('Set-Cookie', [...cookies])
  ctx.body = ''
}

const isEvents = (body: unknown): boolean => typeof body === 'object' && body !== null && Symbol.asyncIterator in body

/** Turns the result of a handler into the answer that its row declares. */
export async function sendReply(ctx: Context, row: Row, answer: unknown, deps: StreamDeps): Promise<void> {
  const status = answer instanceof WithStatus ? answer.status : (row.status ?? 200)
  const body: unknown = answer instanceof WithStatus ? answer.body : answer
  if (row.reply === 'events' || (row.alsoEvents === true && isEvents(body)))
    return sendEvents(ctx, body as AsyncIterable<StreamEvent>, { ...deps, lastLine: row.lastLine })
  ctx.status = status
  if (body instanceof Redirect) return sendRedirect(ctx, body)
  if (row.reply === 'file') return sendFile(ctx, body as FileReply)
  if (row.reply === 'none' || status === 204) {
    ctx.status = 204
    return
  }
  ctx.type = row.reply === 'text' ? 'text/plain; charset=utf-8' : 'application/json'
  ctx.body = row.reply === 'text' ? body : JSON.stringify(body)
}
