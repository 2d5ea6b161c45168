import type { IncomingMessage } from 'node:http'
import type { Middleware } from 'koa'
import { fail } from '../core/errors.ts'

/** Largest JSON body. Packages come as multipart and have their own limit. */
const JSON_LIMIT_BYTES = 1024 * 1024
/** Deeper than any body of ours. Code that walks values recursively breaks at some thousands. */
const DEEPEST = 100
const LINGER_BYTES = 64 * 1024 * 1024
/** Time for a JSON body. The server sets no time for whole requests, because of uploads. */
const BODY_MS = 30_000

/** Reads on and discards, within bounds: a client that is still sending reads no answer before it is done. */
function linger(request: IncomingMessage): void {
  let left = LINGER_BYTES
  const timer = setTimeout(() => request.destroy(), BODY_MS).unref()
  request.on('data', (chunk: Buffer) => {
    if ((left -= chunk.length) < 0) request.destroy()
  })
  request.once('close', () => clearTimeout(timer))
  request.resume()
}

const AWAY_BYTES = 2 ** 30

/**
 * Reads what a client is still sending and throws it away, up to 1 GiB in a minute: some look at an answer only when
 * they have sent everything.
 */
export function readAway(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return Promise.resolve()
  return new Promise(resolve => {
    let left = AWAY_BYTES
    const done = (): void => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(done, 2 * BODY_MS).unref()
    request.on('data', (chunk: Buffer) => {
      if ((left -= chunk.length) < 0) done()
    })
    request.once('end', done)
    request.once('close', done)
    request.resume()
  })
}

/**
 * Where a connection ends with its answer, the request is read out first: closing a socket while bytes come in resets
 * it, and the answer is lost. Other connections stay open and are read out after the answer.
 */
export const readBeforeClosing: Middleware = async (ctx, next) => {
  await next()
  if (!ctx.res.shouldKeepAlive) await readAway(ctx.req)
}

/** How long a request may go on arriving after its answer. */
export const boundLeftover: Middleware = async (ctx, next) => {
  const { req, res } = ctx
  res.once('finish', () => {
    if (req.complete) return
    const timer = setTimeout(() => req.destroy(), 2 * BODY_MS).unref()
    req.once('close', () => clearTimeout(timer))
  })
  await next()
}

/** Not `for await`: that would destroy the connection on the way out, before the refusal is sent. */
function readAll(request: IncomingMessage): Promise<Buffer | 'too large'> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const timer = setTimeout(() => request.destroy(new Error('the body did not arrive in time')), BODY_MS).unref()
    request.once('close', () => clearTimeout(timer))
    const take = (chunk: Buffer): void => {
      size += chunk.length
      if (size <= JSON_LIMIT_BYTES) {
        chunks.push(chunk)
        return
      }
      request.off('data', take)
      linger(request)
      resolve('too large')
    }
    request.on('data', take)
    request.once('end', () => {
      clearTimeout(timer)
      resolve(Buffer.concat(chunks))
    })
    request.once('error', reject)
  })
}

/** Whether brackets nest more than `DEEPEST` deep; brackets inside texts do not count. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let isText = false
  for (let n = 0; n < text.length; n++) {
    const char = text.charCodeAt(n)
    if (char === 0x22) isText = !isText
    else if (isText)
      n += Number(char === 0x5c) // a backslash takes the next character with it
    else if (char === 0x5b || char === 0x7b) depth += 1
    else if (char === 0x5d || char === 0x7d) depth -= 1
    if (depth > DEEPEST) return true
  }
  return false
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return fail('bad_request', { said: 'The body is not JSON. Check its quotes, commas and encoding (UTF-8).' })
  }
}

function parse(bytes: Buffer): unknown {
  const text = decode(bytes)
  if (isTooDeep(text)) fail('bad_request', { said: `The body nests deeper than ${DEEPEST} levels. Send it flatter.` })
  let hasPrototype = false
  const watch = (key: string, value: unknown): unknown => {
    hasPrototype ||= key === '__proto__'
    return key === '__proto__' ? undefined : value
  }
  let value: unknown
  try {
    // copying such a member would change the copy's prototype; it may be written with escapes
    value = /__proto__|\\u/.test(text) ? JSON.parse(text, watch) : JSON.parse(text)
  } catch {
    return fail('bad_request', { said: 'The body is not JSON. Check its quotes, commas and encoding (UTF-8).' })
  }
  if (hasPrototype) fail('bad_request', { said: 'The body has a member __proto__, which no route takes.' })
  return value
}

/**
 * The JSON body, or undefined where there is none.
 * @throws body_too_large, bad_request when it is no JSON
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const announced = Number(request.headers['content-length'] ?? 0)
  const bytes = announced > JSON_LIMIT_BYTES ? 'too large' : await readAll(request)
  if (bytes === 'too large') return fail('body_too_large', { limit_kb: JSON_LIMIT_BYTES / 1024 })
  if (bytes.length === 0) return undefined
  const type = (request.headers['content-type'] ?? 'application/json').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type !== 'application/json' && !type.endsWith('+json'))
    fail('bad_request', { said: `The body is ${type.slice(0, 100)}; this route takes application/json.` })
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity')
    fail('bad_request', { said: `The body is encoded with ${encoding.slice(0, 100)}. Send it as it is.` })
  return parse(bytes)
}
