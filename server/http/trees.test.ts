// eslint-disable-next-line no-restricted-imports -- Node makes no FIFO by itself
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { link, mkdir, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { hash } from 'node:crypto'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pieceFile, recipePath } from '../files/recipes.ts'
import { startApp, type TestApp } from '../../test/support/app.ts'

const FOR_EVER = 'public, max-age=31536000, immutable'
const OLD = new Date('2026-01-02T03:04:05.678Z')
const DEB = 'pool/jammy/main/h/hello/hello_1%3a2.0~rc1+b1_amd64.deb'
const DEB_URL = '/repos/pool/jammy/main/h/hello/hello_1%253a2.0~rc1+b1_amd64.deb'
const BYTES = '0123456789'

let app: TestApp
let uiFolder: string
let key: Buffer | undefined

async function put(path: string, text: string, mtime = OLD): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  await utimes(path, mtime, mtime)
}

async function goLive(generation: number): Promise<void> {
  const live = app.layout.live('jammy' as never)
  await mkdir(dirname(live), { recursive: true })
  await symlink(`../../trees/jammy/${generation}`, `${live}.new`)
  await rename(`${live}.new`, live)
}

beforeAll(async () => {
  app = await startApp({ binaryKey: async () => key })
  uiFolder = join(app.layout.root, 'ui-dist')
  for (const generation of [1, 2]) {
    const tree = join(app.layout.trees, 'jammy', String(generation))
    await put(join(tree, 'InRelease'), `release ${generation}`)
    await put(join(tree, 'main/binary-amd64/Packages.gz'), `packages ${generation}`)
    await put(join(tree, 'main/binary-amd64/by-hash/SHA256/abc'), 'by hash')
    await put(join(tree, '.state.json'), 'secret')
  }
  await put(join(app.layout.root, 'apt', DEB), BYTES)
  await put(join(app.layout.root, 'apt', 'pool/jammy/main/empty.deb'), '')
  await put(app.layout.publicKey, 'ascii key')
  for (const secret of [
    app.layout.settingsFile,
    join(app.layout.manifests, 'deb/x.json'),
    join(app.layout.quarantine, 'q'),
    join(app.layout.pool, 'aa/bb/c'),
    join(app.layout.secrets, 'jwt'),
    join(app.layout.keyring, 'k'),
  ])
    await put(secret, 'secret')
  await goLive(1)
})
afterAll(() => app.close())
const get = (path: string, headers: Record<string, string> = {}) => app.ask('GET', path, { headers })

describe('an index that is no file', () => {
  const FOLDER = '/repos/dists/jammy/main/binary-amd64'
  const digest = hash('sha256', 'one\ntwo\n')
  const pieces = ['one\n', 'two\n'].map(text => ({ text, digest: hash('sha256', text) }))
  const recipe = (size: number): string =>
    JSON.stringify({
      schema: 1,
      forms: [{ kind: '', names: ['Packages', digest], size, sha256: digest, head: '', tail: '' }],
      pieces: pieces.map(one => one.digest),
    })
  const place = (name: string): string => recipePath(join(app.layout.trees, 'jammy/1/main/binary-amd64', name))

  test('is joined from its pieces, under its name and by its digest', async () => {
    for (const one of pieces) await put(pieceFile(app.layout, one.digest, ''), one.text)
    await put(place('Packages'), recipe(8))
    await put(place(`by-hash/SHA256/${digest}`), recipe(8))
    for (const [path, cache] of [
      [`${FOLDER}/Packages`, 'no-cache'],
      [`${FOLDER}/by-hash/SHA256/${digest}`, FOR_EVER],
    ] as const) {
      const answer = await get(path)
      expect([answer.status, answer.text, answer.headers['cache-control'], answer.headers['content-length']]).toEqual([
        200,
        'one\ntwo\n',
        cache,
        '8',
      ])
      expect((await get(path, { 'If-None-Match': answer.headers.etag ?? '' })).status).toBe(304)
      const head = await app.ask('HEAD', path, {})
      expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', '8'])
    }
    expect((await get(`${FOLDER}/.Packages.parts`)).status).toBe(404)
    expect((await get(`${FOLDER}/by-hash/SHA256/${digest.replace(/^./, 'x')}`)).status).toBe(404)
  })

  test('is cut off when a piece is missing or the size is another', async () => {
    await put(place('Packages'), recipe(9))
    await expect(get(`${FOLDER}/Packages`)).rejects.toThrow()
    await rm(pieceFile(app.layout, pieces[1]?.digest ?? '', ''))
    await put(place('Packages'), recipe(8))
    await expect(get(`${FOLDER}/Packages`)).rejects.toThrow()
    await rm(place('Packages'))
  })
})

describe('what is published', () => {
  test.each([
    ['/repos/dists/jammy/InRelease', 'release 1', 'no-cache', 'text/plain; charset=utf-8'],
    ['/repos/dists/jammy/main/binary-amd64/Packages.gz', 'packages 1', 'no-cache', 'application/gzip'],
    ['/repos/dists/jammy/main/binary-amd64/by-hash/SHA256/abc', 'by hash', FOR_EVER, 'application/octet-stream'],
    [DEB_URL, BYTES, FOR_EVER, 'application/vnd.debian.binary-package'],
    ['/repos/pool/jammy/main/empty.deb', '', FOR_EVER, 'application/vnd.debian.binary-package'],
    ['/repos/gpg.key', 'ascii key', 'no-cache', 'application/pgp-keys'],
  ])('%s', async (path, text, cache, type) => {
    const answer = await get(path)
    expect([answer.status, answer.text, answer.headers['cache-control'], answer.headers['content-type']]).toEqual([
      200,
      text,
      cache,
      type,
    ])
    expect(answer.headers).toMatchObject({
      'last-modified': 'Fri, 02 Jan 2026 03:04:05 GMT',
      'accept-ranges': 'bytes',
      'content-length': String(text.length),
      'x-content-type-options': 'nosniff',
    })
    expect(answer.headers.etag).toMatch(/^"[0-9a-f-]+"$/)
    const head = await app.ask('HEAD', path)
    expect([head.status, head.text, head.headers['content-length'], head.headers.etag]).toEqual([
      200,
      '',
      String(text.length),
      answer.headers.etag,
    ])
  })

  test('the binary key is there once there is a key', async () => {
    expect((await get('/repos/dists/gatehouse.gpg')).status).toBe(404)
    key = Buffer.from('binary key')
    const answer = await get('/repos/dists/gatehouse.gpg')
    expect([answer.status, answer.text, answer.headers['cache-control']]).toEqual([200, 'binary key', 'no-cache'])
  })

  test.each([
    '/repos',
    '/repos/',
    '/repos/dists',
    '/repos/dists/',
    '/repos/dists/jammy',
    '/repos/dists/jammy/',
    '/repos/dists/jammy/main',
    '/repos/pool/',
    '/repos/dists/noble/InRelease',
    '/repos/settings.json',
    '/repos/manifests/deb/x.json',
    '/repos/quarantine/q',
    '/repos/pool/aa/bb/c',
    '/repos/.secrets/jwt',
    '/repos/keyring/k',
    '/repos/trees/jammy/1/InRelease',
    '/repos/apt/pool/jammy/main/empty.deb',
    '/repos/dists/jammy/.state.json',
    '/repos/dists/../settings.json',
    '/repos/pool/../../settings.json',
    '/repos/pool/%2e%2e/%2e%2e/settings.json',
    '/repos/pool/..%2f..%2fsettings.json',
    '/repos/dists/jammy/..%2f2/InRelease',
    '/repos/dists/jammy%2fInRelease',
    '/repos/dists//jammy/InRelease',
    '/repos//dists/jammy/InRelease',
    '/repos/dists/jammy/InRelease/',
    '/repos/dists/jammy/InRelease/x',
    '/repos/pool/jammy\\empty.deb',
    '/repos/pool/jammy/./empty.deb',
    `/repos/pool/${'x'.repeat(300)}`,
    '/Repos/gpg.key',
    '/repos/pool/jammy/main/empty.deb%0a',
  ])('nothing else: %s', async path => {
    const answer = await get(path)
    expect([answer.status, answer.headers['content-type']]).toEqual([404, 'application/json; charset=utf-8'])
    expect(answer.text).not.toBe('secret')
  })

  test('the binary key is asked for by its ETag, as files are', async () => {
    key = Buffer.from([1, 2, 3])
    const {
      headers: { etag },
    } = await get('/repos/dists/gatehouse.gpg')
    const same = await get('/repos/dists/gatehouse.gpg', { 'if-none-match': String(etag) })
    expect([same.status, same.text, same.headers.etag]).toEqual([304, '', etag])
    key = Buffer.from([1, 2, 4])
    expect((await get('/repos/dists/gatehouse.gpg', { 'if-none-match': String(etag) })).status).toBe(200)
  })

  test.each(['POST', 'PUT', 'DELETE'])('%s changes nothing', async method => {
    expect((await app.ask(method, '/repos/gpg.key')).status).toBe(404)
  })

  test('a fifo is not waited for', async () => {
    await promisify(execFile)('mkfifo', [join(app.layout.root, 'apt', 'pool/jammy/main/pipe')])
    expect((await get('/repos/pool/jammy/main/pipe')).status).toBe(404)
  })
})

describe('ranges', () => {
  test.each([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=4-', 206, '456789', 'bytes 4-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-30', 206, BYTES, 'bytes 0-9/10'],
    ['bytes=9-99', 206, '9', 'bytes 9-9/10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['bytes=-0', 416, '', 'bytes */10'],
    ['bytes=5-2', 200, BYTES, undefined],
    ['bytes=0-1,4-5', 200, BYTES, undefined],
    ['bytes=', 200, BYTES, undefined],
    ['bytes=-', 200, BYTES, undefined],
    ['lines=0-3', 200, BYTES, undefined],
  ])('%s is %i', async (range, status, text, contentRange) => {
    const answer = await get(DEB_URL, { range })
    expect([answer.status, answer.text, answer.headers['content-range'], answer.headers['content-length']]).toEqual([
      status,
      text,
      contentRange,
      String(text.length),
    ])
  })

  test('416 is not cached, though the file itself may be for ever', async () => {
    expect((await get(DEB_URL, { range: 'bytes=10-' })).headers['cache-control']).toBe('no-store')
    expect((await get(DEB_URL, { range: 'bytes=9-' })).headers['cache-control']).toContain('immutable')
  })

  test('an empty file has no range to give', async () => {
    expect((await get('/repos/pool/jammy/main/empty.deb', { range: 'bytes=0-' })).status).toBe(416)
  })

  test('HEAD knows no ranges', async () => {
    const answer = await app.ask('HEAD', DEB_URL, { headers: { range: 'bytes=0-3' } })
    expect([answer.status, answer.headers['content-length'], answer.headers['content-range']]).toEqual([
      200,
      '10',
      undefined,
    ])
  })

  test('a partial download goes on only while the file is the same', async () => {
    const { headers } = await get(DEB_URL)
    const status = async (condition: string): Promise<number> =>
      (await get(DEB_URL, { 'range': 'bytes=4-', 'if-range': condition })).status
    expect(await status(String(headers.etag))).toBe(206)
    expect(await status(String(headers['last-modified']))).toBe(206)
    expect(await status('"another"')).toBe(200)
    expect(await status(`W/${String(headers.etag)}`)).toBe(200)
    expect(await status('Fri, 02 Jan 2026 03:04:06 GMT')).toBe(200)
  })
})

describe('conditional requests', () => {
  test.each([
    ['if-modified-since', 'Fri, 02 Jan 2026 03:04:05 GMT', 304],
    ['if-modified-since', 'Fri, 02 Jan 2026 03:04:04 GMT', 200],
    ['if-modified-since', 'yesterday', 200],
    ['if-none-match', '*', 304],
    ['if-none-match', '"another"', 200],
  ])('%s: %s is %i', async (header, value, status) => {
    expect((await get(DEB_URL, { [header]: value })).status).toBe(status)
  })

  test('a known ETag is 304 with the headers of 200 and no body; it outranks the date', async () => {
    const etag = String((await get(DEB_URL)).headers.etag)
    for (const sent of [etag, `"x", ${etag}`, `W/${etag}`]) {
      const answer = await get(DEB_URL, { 'if-none-match': sent })
      expect([
        answer.status,
        answer.text,
        answer.headers.etag,
        answer.headers['cache-control'],
        answer.headers['content-length'],
      ]).toEqual([304, '', etag, FOR_EVER, undefined])
    }
    expect((await get(DEB_URL, { 'if-none-match': '"x"', 'if-modified-since': new Date().toUTCString() })).status).toBe(
      200,
    )
  })

  test('a file of this very second has no date yet: the next publication could have the same', async () => {
    const path = join(app.layout.root, 'apt', 'pool/jammy/main/fresh.deb')
    await put(path, 'fresh', new Date())
    const first = await get('/repos/pool/jammy/main/fresh.deb')
    expect([first.status, first.headers['last-modified']]).toEqual([200, undefined])
    expect(
      (await get('/repos/pool/jammy/main/fresh.deb', { 'if-modified-since': new Date().toUTCString() })).status,
    ).toBe(200)
    expect(
      (await get('/repos/pool/jammy/main/fresh.deb', { 'if-none-match': String(first.headers.etag) })).status,
    ).toBe(304)
  })
})

describe('a publication', () => {
  test('changes bytes and ETag with one rename', async () => {
    const before = await get('/repos/dists/jammy/InRelease')
    await goLive(2)
    const after = await get('/repos/dists/jammy/InRelease', { 'if-none-match': String(before.headers.etag) })
    expect([before.text, after.text, after.status]).toEqual(['release 1', 'release 2', 200])
    await goLive(1)
  })

  test('a download that runs goes on when its file is replaced and removed', async () => {
    const path = join(app.layout.root, 'apt', 'pool/jammy/main/big.deb')
    const size = 24 * 1024 * 1024
    await put(path, 'a'.repeat(size))
    const socket = connect(app.port, '127.0.0.1')
    socket.write('GET /repos/pool/jammy/main/big.deb HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    await once(socket, 'readable')
    await put(`${path}.new`, 'b'.repeat(size))
    await link(path, `${path}.old`)
    await rename(`${path}.new`, path)
    await rm(`${path}.old`)
    let bytes = 0
    let others = 0
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      bytes += chunk.length
      others += chunk.includes('bbbb') ? 1 : 0
    }
    expect([bytes > size && bytes < size + 2000, others]).toEqual([true, 0])
  })

  test('a client that leaves in the middle leaves no open file', async () => {
    const open = async (): Promise<number> => {
      const links = await readdir('/proc/self/fd')
      return links.length
    }
    const before = await open()
    for (let n = 0; n < 20; n++) {
      const socket = connect(app.port, '127.0.0.1')
      socket.write('GET /repos/pool/jammy/main/big.deb HTTP/1.1\r\nHost: x\r\n\r\n')
      await once(socket, 'readable')
      socket.destroy()
    }
    await expect.poll(open, { timeout: 10_000 }).toBeLessThanOrEqual(before)
  })
})

describe('the console', () => {
  test('answers how to build it when it is not built', async () => {
    const answer = await get('/')
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
    expect(answer.text).toContain('npm run build')
  })

  test('has a strict content policy; hashed files are cached for ever, its page is always revalidated', async () => {
    await put(join(uiFolder, 'index.html'), '<!doctype html>')
    await put(join(uiFolder, 'assets/index-abc.js'), 'js')
    await put(join(uiFolder, '.env'), 'secret')
    const page = await get('/')
    expect([page.status, page.text, page.headers['cache-control'], page.headers['content-type']]).toEqual([
      200,
      '<!doctype html>',
      'no-cache',
      'text/html; charset=utf-8',
    ])
    expect(page.headers['content-security-policy']).toBe(
      `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`,
    )
    const script = await get('/assets/index-abc.js')
    expect([script.text, script.headers['cache-control'], script.headers['content-type']]).toEqual([
      'js',
      FOR_EVER,
      'text/javascript; charset=utf-8',
    ])
    for (const path of [
      '/.env',
      '/assets/index-abc.js.br',
      '/assets',
      '/assets/',
      '/assets/missing.js',
      '/..%2f..%2fsettings.json',
      '/../settings.json',
    ])
      expect((await get(path)).status, path).toBe(404)
  })
  test('its text files are sent as small as the client takes them, each form with its own ETag', async () => {
    await put(join(uiFolder, 'assets/big-abc.js'), 'plain text')
    await put(join(uiFolder, 'assets/big-abc.js.gz'), 'gzip bytes')
    await put(join(uiFolder, 'assets/big-abc.js.br'), 'br')
    const forms = [
      ['gzip, deflate, br, zstd', 'br', 'br'],
      ['gzip', 'gzip', 'gzip bytes'],
      ['br;q=0, gzip;q=0', undefined, 'plain text'],
      ['identity', undefined, 'plain text'],
    ] as const
    const tags = new Set<unknown>()
    for (const [accepted, encoding, text] of forms) {
      const { headers, text: got } = await get('/assets/big-abc.js', { 'accept-encoding': accepted })
      expect([headers['content-encoding'], got, headers.vary, headers['content-type']], accepted).toEqual([
        encoding,
        text,
        'Origin, Accept-Encoding',
        'text/javascript; charset=utf-8',
      ])
      tags.add(headers.etag)
    }
    expect(tags.size).toBe(3)
  })
})
