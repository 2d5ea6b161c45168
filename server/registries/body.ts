import type { Readable } from 'node:stream'

/**
 * The chunks of a body. It stays open where its reader ends early: the answer that says why could not reach a client
 * whose connection is gone.
 */
export const chunksOf = (body: Readable): AsyncIterable<Buffer> =>
  body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
