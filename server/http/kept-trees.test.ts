import { readFileSync, rmSync, statSync } from 'node:fs'
import { mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApp, type Answer, type Ask, type TestApp } from '../../test/support/app.ts'
import { DISTRIBUTIONS } from '../../test/support/repositories.ts'
import type { Codename } from '../core/identity.ts'
import { createRepositories } from '../core/repository.ts'
import { createKeptFiles, type KeptFile } from './kept-files.ts'
import { fileVersion } from './file-answer.ts'

const OLD = new Date('2026-01-02T03:04:05.678Z')
const RELEASE = '/repos/dists/jammy/InRelease'
const DEB = '/repos/pool/jammy/main/h/hello_1_amd64.deb'
const KEY = '/repos/gpg.key'
const TEXT = `bytes from 0 to 255: ${Array.from({ length: 256 }, (_, n) => String.fromCharCode(n)).join('')}`

const repositories = createRepositories(DISTRIBUTIONS)
let app: TestApp
let closed: ReadonlySet<string>

async function put(path: string, text: string, mtime = OLD): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text, 'latin1')
  await utimes(path, mtime, mtime)
}

async function goLive(generation: number): Promise<void> {
  const live = app.layout.live('jammy' as Codename)
  await mkdir(dirname(live), { recursive: true })
  await symlink(`../../trees/jammy/${generation}`, `${live}.new`)
  await rename(`${live}.new`, live)
}

const package_ = (): string => join(app.layout.publishedFolder('jammy' as Codename), 'main/h/hello_1_amd64.deb')
const ask = (path: string, options: Ask = {}, method = 'GET'): Promise<Answer> => app.ask(method, path, options)

/** Everything that a client could see, apart from the names of the moment. */
function seen({ status, headers: { 'date': _, 'x-request-id': id, ...headers }, text }: Answer): unknown {
  expect(id).toMatch(/^[\w-]+$/)
  return { status, headers, text }
}

beforeAll(async () => {
  app = await startApp({
    repositories,
    privateTrees: async () => closed,
    production: true,
    corsOrigins: ['https://a.example'],
  })
  for (const n of [1, 2])
    await put(join(app.layout.generation('jammy' as Codename, n), 'InRelease'), `release ${n} ${TEXT}`)
})
beforeEach(async () => {
  closed = new Set()
  repositories.replace([])
  await goLive(1)
  await put(package_(), 'x'.repeat(100_000))
  await put(app.layout.publicKey, 'ascii key')
})
afterAll(() => app.close())

test.each<[string, Ask, string?]>([
  ['as it is', {}],
  ['HEAD', {}, 'HEAD'],
  ['a range', { headers: { range: 'bytes=3-8' } }],
  ['its end', { headers: { range: 'bytes=-4' } }],
  ['a range beyond its end', { headers: { range: 'bytes=999999-' } }],
  ['HEAD with a range', { headers: { range: 'bytes=3-8' } }, 'HEAD'],
  ['a known date', { headers: { 'if-modified-since': 'Fri, 02 Jan 2026 03:04:05 GMT' } }],
  ['an older date', { headers: { 'if-modified-since': 'Fri, 02 Jan 2026 03:04:04 GMT' } }],
  ['any version known', { headers: { 'if-none-match': '*' } }],
  ['another ETag', { headers: { 'if-none-match': '"x"' } }],
  ['a page of an allowed origin', { headers: { origin: 'https://a.example' } }],
  ['a page of another origin', { headers: { origin: 'https://b.example' } }],
  ['over TLS', { headers: { 'x-forwarded-proto': 'https' } }],
  ['with a body', { headers: { 'content-length': '2' }, body: '{}' }],
])('from memory a file is answered as from the disk: %s', async (_, options, method) => {
  for (const path of [RELEASE, DEB, KEY]) {
    const cold = await ask(`${path}?not-kept`, options, method)
    await ask(path)
    expect(seen(await ask(path, options, method)), path).toEqual(seen(cold))
  }
})

test('a known ETag is 304, from memory too', async () => {
  const { headers } = await ask(RELEASE)
  const known = await ask(RELEASE, { headers: { 'if-none-match': String(headers.etag) } })
  expect([known.status, known.text, known.headers.etag, known.headers['content-length']]).toEqual([
    304,
    '',
    headers.etag,
    undefined,
  ])
})

test('a request answered from memory is logged and counted like every other', async () => {
  await ask(RELEASE)
  app.logged.length = 0
  app.counted.length = 0
  await ask(RELEASE, { headers: { 'x-request-id': 'mine', 'x-forwarded-for': '198.18.0.7' } })
  await expect.poll(() => app.counted).toEqual(['GET /repos/ 200'])
  expect(app.logged).toEqual([
    {
      level: 'debug',
      message: 'request',
      request_id: 'mine',
      method: 'GET',
      path: RELEASE,
      status: 200,
      ms: expect.any(Number) as number,
      ip: '198.18.0.7',
      user: undefined,
    },
  ])
})

/** The line of the list of downloads without what changes: its time and, at its end, the id. */
const treeLine = (line = ''): string => line.replace(/\[[^\]]+\]/, '[now]').replace(/ [\w.:-]+\n$/, '')

test.each<[string, Ask, string]>([
  ['GET', {}, '200 100000 "-" "-" "-"'],
  ['HEAD', {}, '200 0 "-" "-" "-"'],
  ['GET', { headers: { range: 'bytes=3-8' } }, '206 6 "-" "-" "bytes=3-8"'],
  ['GET', { headers: { range: 'bytes=999999-' } }, '416 0 "-" "-" "bytes=999999-"'],
  ['GET', { headers: { 'if-none-match': '*' } }, '304 0 "-" "-" "-"'],
  ['GET', { headers: { 'user-agent': 'Debian "APT"\t\\1' } }, '200 100000 "-" "Debian \\x22APT\\x22\\x09\\x5C1" "-"'],
])('a request of a tree is a line of its own, from disk and from memory: %s %j', async (method, options, line) => {
  await put(package_(), 'y'.repeat(100_000))
  app.treeLines.length = 0
  const from = { ...options, headers: { ...options.headers, 'x-forwarded-for': '198.18.0.7' } }
  await ask(`${DEB}?token=secret`, from, method)
  await ask(DEB)
  await ask(DEB, from, method)
  await expect.poll(() => app.treeLines.length).toBe(3)
  const expected = `198.18.0.7 - - [now] "${method} ${DEB} HTTP/1.1" ${line}`
  expect([treeLine(app.treeLines[0]), treeLine(app.treeLines[2])]).toEqual([expected, expected])
})

test('requests of other addresses are in no list of downloads', async () => {
  app.treeLines.length = 0
  await ask('/health')
  await ask('/api/v1/packages/')
  await ask('/repos/dists/jammy/nothing')
  await expect
    .poll(() => app.treeLines.map(treeLine))
    .toEqual(['127.0.0.1 - - [now] "GET /repos/dists/jammy/nothing HTTP/1.1" 404 0 "-" "-" "-"'])
})

test('a publication that goes live is served by the next request', async () => {
  await ask(RELEASE)
  const before = await ask(RELEASE)
  await goLive(2)
  const after = await ask(RELEASE, { headers: { 'if-none-match': String(before.headers.etag) } })
  expect([before.text.slice(0, 9), after.status, after.text.slice(0, 9)]).toEqual(['release 1', 200, 'release 2'])
})

test('a package that is removed is gone at once', async () => {
  await ask(DEB)
  expect((await ask(DEB)).status).toBe(200)
  await rm(package_())
  expect((await ask(DEB)).status).toBe(404)
})

test('a tree that becomes private asks for a credential at once', async () => {
  await ask(RELEASE)
  closed = new Set(['jammy'])
  const answer = await ask(RELEASE)
  expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Basic realm="Gatehouse", charset="UTF-8"'])
})

test('a distribution whose definition changes is looked up again', async () => {
  await ask(DEB)
  const jammy = repositories.get('jammy')
  repositories.replace([{ ...jammy, components: ['other'] }])
  expect((await ask(DEB)).status).toBe(404)
})

test('requests of one turn of the event loop share a look at the disk, and the next turn looks again', async () => {
  await ask(DEB)
  const answers = Promise.all(Array.from({ length: 20 }, () => ask(DEB)))
  expect((await answers).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))

  const kept = createKeptFiles<object>()
  const path = package_()
  const stat = statSync(path)
  kept.keep(DEB, { path, bytes: readFileSync(path), version: fileVersion(stat), type: 'a/b', cacheControl: 'no-cache' })
  expect(kept.find(DEB)?.path).toBe(path)
  rmSync(path)
  expect(kept.find(DEB)?.path).toBe(path)
  await setImmediate()
  expect(kept.find(DEB)).toBeUndefined()
})

test('memory is bounded: what was not asked for longest is forgotten', () => {
  const kept = createKeptFiles<object>(10_000)
  const file = (path: string): KeptFile => ({
    path,
    bytes: Buffer.alloc(100),
    version: fileVersion({ ino: 1, size: 1, mtimeMs: 1 }),
    type: 'text/plain',
    cacheControl: 'no-cache',
  })
  for (let n = 0; n < 20; n++) kept.keep(`/${n}`, file(`/nowhere/${n}`))
  expect(Array.from({ length: 20 }, (_, n) => n).filter(n => kept.has(`/${n}`))).toEqual([
    12, 13, 14, 15, 16, 17, 18, 19,
  ])
  expect(kept.find('/19')).toBeUndefined()
  expect(kept.has('/19')).toBe(false)
})
