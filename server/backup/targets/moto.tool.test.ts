import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { freePort } from '../../../test/support/free-port.ts'
import { keysBelow, testTargetStore } from '../../../test/support/target-store-suite.ts'
import { createS3Store } from './s3-store.ts'
import { bytesOf } from './target-store.ts'

/** The server of the Python package `moto[server]`, which others wrote; where it is not installed, this is skipped. */
const program = (process.env.PATH ?? '')
  .split(delimiter)
  .map(folder => join(folder, 'moto_server'))
  .find(path => existsSync(path))

describe.skipIf(program === undefined)(
  `a bucket of a server by others${program === undefined ? ' (missing: moto_server)' : ''}`,
  () => {
    let server: ChildProcess
    let endpoint: string
    let number = 0
    beforeAll(async () => {
      const port = await freePort()
      endpoint = `http://127.0.0.1:${port}`
      server = spawn(program ?? '', ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' })
      await vi.waitFor(async () => expect((await fetch(endpoint)).status).toBeLessThan(500), {
        timeout: 60_000,
        interval: 200,
      })
    }, 90_000)
    afterAll(() => server.kill())
    let bucket: string
    beforeEach(async () => {
      bucket = `backups-${number++}`
      expect((await fetch(`${endpoint}/${bucket}`, { method: 'PUT' })).status).toBe(200)
    })
    const open = () =>
      createS3Store({ endpoint, bucket, accessKey: 'a', secretKey: 'b', region: 'us-east-1' }, 'site a/gate')
    testTargetStore(open)

    test('that is not there says so', async () => {
      bucket = 'none'
      await expect(open().put('blobs/aa/1', bytesOf('x'), new AbortController().signal)).rejects.toThrow('none')
    })

    test('lists more files than one answer has', { timeout: 120_000 }, async () => {
      const store = open()
      const names = Array.from({ length: 1_010 }, (_, n) => `blobs/aa/${String(n).padStart(4, '0')}`)
      for (let at = 0; at < names.length; at += 10)
        await Promise.all(
          names.slice(at, at + 10).map(name => store.put(name, bytesOf('x'), new AbortController().signal)),
        )
      expect(await keysBelow(store, 'blobs/')).toEqual(names)
    })
  },
)
