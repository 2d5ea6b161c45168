import type { Context } from 'koa'
import { hash } from 'node:crypto'
import type { Layout } from '../files/layout.ts'
import { asciiLine, cutLine } from '../registries/held.ts'
import type { RegistryAnswer } from '../registries/protocol.ts'
import { sendFile } from './send-file.ts'

const FOR_EVER = 'private, max-age=31536000, immutable'

function setHead(ctx: Context, { status, reason, type, headers }: RegistryAnswer): void {
  ctx.status = status
  if (reason !== undefined) ctx.message = cutLine(asciiLine(reason))
  if (headers !== undefined) ctx.set({ ...headers })
  if (type !== undefined) ctx.set('Content-Type', type)
}

/** Ends an answer without a body past Koa, which would call it 204 or add a body of its own. */
function end(ctx: Context): void {
  ctx.respond = false
  ctx.res.end()
}

function sendBytes(ctx: Context, bytes: Buffer, { conditional }: RegistryAnswer): void {
  if (conditional === true) {
    if (!ctx.res.hasHeader('ETag')) ctx.etag = hash('sha256', bytes).slice(0, 32)
    // fresh looks at 2xx answers only
    if (ctx.fresh) {
      ctx.status = 304
      ctx.remove('Content-Type')
      return end(ctx)
    }
  }
  ctx.set('Content-Length', String(bytes.length))
  ctx.respond = false
  ctx.res.end(ctx.method === 'HEAD' ? undefined : bytes)
}

/**
 * Sends what a protocol answers: documents with an ETag, files with ranges and conditional requests; HEAD gets the same
 * without its body. Answers that say nothing of caches are kept by nobody, files of the pool for ever.
 */
export async function sendAnswer(
  ctx: Context,
  answer: RegistryAnswer,
  { layout }: { readonly layout: Pick<Layout, 'blob'> },
): Promise<void> {
  const { body } = answer
  setHead(ctx, answer)
  switch (body?.kind) {
    case undefined:
      if (answer.status !== 204 && !ctx.res.hasHeader('Content-Length')) ctx.set('Content-Length', '0')
      return end(ctx)
    case 'json':
      if (answer.type === undefined) ctx.set('Content-Type', 'application/json; charset=utf-8')
      return sendBytes(ctx, Buffer.from(JSON.stringify(body.json)), answer)
    case 'bytes':
      if (answer.type === undefined) ctx.set('Content-Type', 'text/plain; charset=utf-8')
      return sendBytes(ctx, typeof body.bytes === 'string' ? Buffer.from(body.bytes) : body.bytes, answer)
    case 'blob':
    case 'file': {
      const isBlob = body.kind === 'blob'
      const path = isBlob ? layout.blob(body.sha256) : body.path
      const cacheControl = answer.headers?.['Cache-Control'] ?? (isBlob ? FOR_EVER : 'no-cache')
      const type = answer.type ?? 'application/octet-stream'
      if (!(await sendFile(ctx, path, { type, cacheControl })))
        throw new Error(isBlob ? `the pool does not have ${body.sha256}` : 'a file of a registry is not there')
    }
  }
}
