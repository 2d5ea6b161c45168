import type { IncomingMessage } from 'node:http'
import { fail } from '../core/errors.ts'

const LIMIT_BYTES = 1024 * 1024
const PATIENCE_MS = 15_000

/**
 * The body as it came, at most 1 MB unless told. @throws body_too_large, bad_request when it does not arrive
 * Not `for await`, which would destroy the connection on the way out, before the refusal is sent.
 */
export function readBytes(request: IncomingMessage, limitBytes = LIMIT_BYTES): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (outcome: () => void): void => {
      clearTimeout(timer)
      request.removeAllListeners('data')
      request.resume() // the rest is read and discarded; the server bounds how long
      outcome()
    }
    const refuse = (work: () => never) => (): void =>
      settle(() => {
        try {
          work()
        } catch (error) {
          reject(error as Error)
        }
      })
    const tooLarge = refuse(() => fail('body_too_large', { limit_kb: limitBytes / 1024 }))
    const cutOff = refuse(() => fail('bad_request', { said: 'The body did not arrive whole. Send it again.' }))
    const timer = setTimeout(cutOff, PATIENCE_MS)
    if (Number(request.headers['content-length'] ?? 0) > limitBytes) return tooLarge()
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > limitBytes) tooLarge()
    })
    request.once('end', () => settle(() => resolve(Buffer.concat(chunks))))
    request.once('aborted', cutOff)
    request.once('error', cutOff)
  })
}
