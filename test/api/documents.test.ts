import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'

const MODULE = 'document: modulemd\nversion: 2\ndata:\n'

let it: Daemon
let token: string

beforeAll(async () => {
  it = await startDaemon()
  token = await it.setupAdmin()
  for (const codename of ['bookworm', 'almalinux9'])
    expect((await it.call('POST', '/distributions/init', { token, body: { codename } })).status).toBe(200)
})
afterAll(() => it.close())

async function put(
  path: string,
  body: string | Buffer,
): Promise<{ readonly status: number; readonly detail?: unknown }> {
  const answer = await fetch(`${it.url}/api/v1/distributions/${path}`, {
    method: 'PUT',
    headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': 'application/octet-stream' },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  })
  return { status: answer.status, ...((await answer.json()) as object) }
}
const listed = async (codename: string) =>
  (
    await it.call<{ documents: readonly { name: string; entries: number }[] }>(
      'GET',
      `/distributions/${codename}/documents`,
      { token },
    )
  ).body.documents
const incoming = (): Promise<string[]> => readdir(join(it.root, 'incoming'))

test('while an oversized document is refused, other requests are served, and nothing of it is left', async () => {
  expect((await put('almalinux9/documents/modules?arch=x86_64', `${MODULE} a: 1\n`)).status).toBe(200)
  const before = await listed('almalinux9')
  const bomb = put('almalinux9/documents/modules?arch=x86_64', `${MODULE} a: ${'['.repeat(4_000_000)}`)
  // answered while the document is being read
  expect((await it.call('GET', '/health/live')).status).toBe(200)
  expect(await bomb).toMatchObject({ status: 422, detail: [{ type: 'bad_document' }] })
  expect(await listed('almalinux9')).toEqual(before)
  expect(await incoming()).toEqual([])
})

test.each([
  ['translation?component=main&name=..%2F..%2Fx', 422],
  ['translation?component=main&name=DE', 422],
  ['translation?component=..%2Fmain&name=de', 422],
  ['translation?component=main', 422],
  ['translation?component=main&name=de&arch=amd64', 422],
  ['appstream?component=main&arch=..', 422],
  ['icons?component=main&name=64x64', 422],
  ['modules?arch=amd64', 422],
  ['..%2F..?arch=amd64', 422],
])('PUT %s is refused and changes nothing', async (path, status) => {
  expect(await put(`bookworm/documents/${path}`, 'Package: x\n')).toMatchObject({ status })
  expect(await listed('bookworm')).toEqual([])
  expect(await incoming()).toEqual([])
})

test('a document of more than 64 MB is refused', async () => {
  expect(
    await put('bookworm/documents/translation?component=main&name=de', Buffer.alloc(65 * 2 ** 20, 'a')),
  ).toMatchObject({
    status: 413,
  })
  expect(await listed('bookworm')).toEqual([])
  expect(await incoming()).toEqual([])
})

test('an upload that is cut off leaves nothing', async () => {
  const { hostname, port } = new URL(it.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(
    `PUT /api/v1/distributions/bookworm/documents/translation?component=main&name=de HTTP/1.1\r\nHost: x\r\n` +
      `Authorization: Bearer ${token}\r\nContent-Type: application/octet-stream\r\nContent-Length: 2000000\r\n\r\n${'a'.repeat(1_000_000)}`,
  )
  await expect.poll(incoming).toHaveLength(1)
  socket.destroy()
  await expect.poll(incoming).toEqual([])
  expect(await listed('bookworm')).toEqual([])
})

test('of two that come at once each is taken whole, and one of them stays', async () => {
  const text = (n: number): string =>
    Array.from(
      { length: n },
      (_, i) => `Package: p${i}\nDescription-md5: ${'0'.repeat(32)}\nDescription-de: x\n\n`,
    ).join('')
  const path = 'bookworm/documents/translation?component=main&name=de'
  const both = await Promise.all([put(path, text(1)), put(path, text(2))])
  expect(both.map(({ status }) => status)).toEqual([200, 200])
  const [document, ...more] = await listed('bookworm')
  expect(more).toEqual([])
  expect(both).toContainEqual(expect.objectContaining(document))
})
