import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import type { RegistryDeps } from '../deps.ts'
import { receive } from './received.ts'

test('a document without end is refused for what it has beside its attachment', async () => {
  function* endless(): Generator<Buffer> {
    yield Buffer.from('{"readme":"')
    for (const chunk = Buffer.alloc(2 ** 20, 'x'); ;) yield chunk
  }
  // only the size of an upload is read, and nothing is spooled
  const deps = {
    settings: { now: () => ({ validation: { max_upload_size_mb: 3 } }) },
  } as unknown as RegistryDeps
  const receiving = receive(deps, { body: Readable.from(endless()), signal: new AbortController().signal })
  await expect(receiving).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('the document has more than 128 MiB beside its attachment.') as unknown,
  })
})
