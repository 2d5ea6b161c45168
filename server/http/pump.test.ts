import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, open, rm, writeFile, type FileHandle } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pump } from './pump.ts'

const BYTES = randomBytes(3_000_000)
/** More than read at once. */
const MANY = 40

let folder: string
let file: FileHandle
let server: Server
let port: number
const failures: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-pump-'))
  await writeFile(join(folder, 'file'), BYTES)
  file = await open(join(folder, 'file'))
  server = createServer((request, response) => {
    const size = request.url === '/longer' ? BYTES.length + 1 : BYTES.length
    response.setHeader('Content-Length', size)
    pump(file.fd, { start: 0, end: size - 1 }, response).catch((error: Error) => {
      failures.push(error.message)
      response.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await file.close()
  await rm(folder, { recursive: true })
})

const times = <T>(make: (n: number) => T): T[] => Array.from({ length: MANY }, (_, n) => make(n))
const download = async (path = '/'): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`)
  return hash('sha256', new Uint8Array(await answer.arrayBuffer()))
}
const WHOLE = hash('sha256', BYTES)

test('many downloads at once get every byte in order', async () => {
  expect(await Promise.all(times(() => download()))).toEqual(times(() => WHOLE))
})

test('files that shrank are cut off, and hold up no other download', async () => {
  const cut = await Promise.allSettled(times(() => download('/longer')))
  expect(cut.map(({ status }) => status)).toEqual(times(() => 'rejected'))
  expect(failures).toEqual(times(() => 'a file shrank while it was sent'))
  expect(await download()).toBe(WHOLE)
})

test('clients that read nothing, and those that leave, hold up no other download', async () => {
  const idle = times(() => connect(port, '127.0.0.1').pause())
  for (const socket of idle) socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3))
  expect(await download()).toBe(WHOLE)
  for (const socket of idle) socket.destroy()
  expect(await Promise.all(times(() => download()))).toEqual(times(() => WHOLE))
})
