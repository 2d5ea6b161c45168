import type { IncomingMessage } from 'node:http'
import { fail } from '../core/errors.ts'

/** Largest JSON body. Packages come as multipart and have a limit of their own. */
export const JSON_LIMIT_BYTES = 1024 * 1024

/**
 * The JSON body, or undefined where there is none.
 * @throws body_too_large, bad_request when it is no JSON
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const tooLarge = (): never => fail('body_too_large', { limit_kb: JSON_LIMIT_BYTES / 1024 })
  if (Number(request.headers['content-length'] ?? 0) > JSON_LIMIT_BYTES) tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > JSON_LIMIT_BYTES) tooLarge()
    chunks.push(chunk)
  }
  if (size === 0) return undefined
  const type = (request.headers['content-type'] ?? 'application/json').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type !== 'application/json' && !type.endsWith('+json')) fail('bad_request', { said: `The body is ${type.slice(0, 100)}; this route takes application/json.` })
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)))
  } catch {
    return fail('bad_request', { said: 'The body is not JSON. Check its quotes, commas and encoding (UTF-8).' })
  }
}
