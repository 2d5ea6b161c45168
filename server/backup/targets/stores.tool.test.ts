import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe } from 'vitest'
import { testTargetStore } from '../../../test/support/target-store-suite.ts'
import { findProgram } from '../../../test/support/tools.ts'
import { createS3Client, type S3Place } from './s3-client.ts'
import { createS3Store } from './s3-store.ts'

// a server that is not ours: `pip install 'moto[server]'`, which no Debian package brings
const moto = findProgram('moto_server')

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  await new Promise(resolve => probe.close(resolve))
  return port
}

describe.skipIf(moto === undefined)("a bucket of somebody else's S3 server (needs moto_server)", () => {
  let server: ChildProcess
  let place: S3Place
  beforeAll(async () => {
    const port = await freePort()
    server = spawn(moto ?? '', ['-H', '127.0.0.1', '-p', String(port)], { stdio: ['ignore', 'ignore', 'pipe'] })
    for await (const line of server.stderr as AsyncIterable<Buffer>) if (line.includes('Running on')) break
    place = {
      endpoint: `http://127.0.0.1:${port}`,
      bucket: 'backups',
      accessKey: 'test',
      secretKey: 'test',
      region: 'us-east-1',
    }
    const client = createS3Client(place)
    const answer = await client.send({ method: 'PUT', key: '', signal: new AbortController().signal })
    answer.resume()
    client.close()
  })
  afterAll(async () => {
    if (server.exitCode !== null) return
    const ended = once(server, 'exit')
    server.kill('SIGKILL')
    await ended
  })
  testTargetStore(() => createS3Store(place, 'gate house/x'))
})
