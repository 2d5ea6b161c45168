import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Sha256 } from '../core/identity.ts'
import { systemClock } from '../lib/clock.ts'
import { createClamd } from './clamd.ts'
import type { ScanSubject } from './scanner.ts'

const never = new AbortController().signal
let folder: string
let server: Server
let signatures = '27777'
let verdict = 'stream: OK'
let scans = 0

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clamd-layers-'))
  ;[signatures, verdict, scans] = ['27777', 'stream: OK', 0]
  server = createServer(client => {
    client.on('error', () => undefined)
    client.on('data', data => {
      if (data.toString('latin1').startsWith('zVERSION'))
        client.end(`ClamAV 1.4.6/${signatures}/Mon Nov 16 08:25:13 2026\0`)
      else if (data.subarray(-4).equals(Buffer.alloc(4))) {
        scans += 1
        client.end(`${verdict}\0`)
      }
    })
  })
  await new Promise<void>(resolve => server.listen(join(folder, 'sock'), resolve))
})
afterEach(async () => {
  await new Promise(resolve => server.close(resolve))
  await rm(folder, { recursive: true, force: true })
})

const image = (...layers: readonly string[]): ScanSubject =>
  ({
    async *inner() {
      for (const char of layers)
        yield {
          name: `layer-${char}`,
          sha256: char.repeat(64) as Sha256,
          async *open() {
            yield Buffer.from(char.repeat(1000))
          },
        }
    },
  }) as unknown as ScanSubject

test('a layer that another image has, too, is scanned once for each version of the signatures', async () => {
  const engine = createClamd({ address: { socket: join(folder, 'sock') }, clock: systemClock })
  expect(await engine.scan(image('a', 'b'), never)).toEqual({ kind: 'clean' })
  expect(scans).toBe(2)
  expect(await engine.scan(image('a', 'b', 'c'), never)).toEqual({ kind: 'clean' })
  expect(scans).toBe(3)
  signatures = '27778'
  expect(await engine.scan(image('a'), never)).toEqual({ kind: 'clean' })
  expect(scans).toBe(4)
})

test('a layer that was not clean is looked at again', async () => {
  const engine = createClamd({ address: { socket: join(folder, 'sock') }, clock: systemClock })
  verdict = 'stream: Eicar FOUND'
  for (const n of [1, 2]) {
    expect(await engine.scan(image('a'), never)).toEqual({ kind: 'infected', signature: 'Eicar', where: 'layer-a' })
    expect(scans).toBe(n)
  }
})
