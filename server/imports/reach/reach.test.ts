import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { serveUpstream, type Upstream } from '../../../test/support/upstream/serve.ts'
import { relPath } from '../../core/identity.ts'
import { createHostGuard } from '../../outbound/guard.ts'
import { createAgents, type ProxySettings } from '../../outbound/exchange/agents.ts'
import { createBreaker } from '../../outbound/exchange/breaker.ts'
import { createBucket } from '../../outbound/exchange/bucket.ts'
import { createExchange } from '../../outbound/exchange/exchange.ts'
import type { Patience } from '../../outbound/exchange/patience.ts'
import { createReach, type Reach } from './reach.ts'

const BYTES = Buffer.from(Array.from({ length: 40_000 }, (_, at) => (at * 7) % 251))
const SHA256 = createHash('sha256').update(BYTES).digest('hex')
const FILE = { path: relPath('pool/one+1.deb'), size: BYTES.length, digests: { sha256: SHA256 } }
// long enough for any machine; tests of what is given up shorten them
const PATIENCE: Patience = {
  tickMs: 10,
  connectMs: 60_000,
  headersMs: 60_000,
  idleMs: 60_000,
  rateMs: 60_000,
  bytesPerSecond: 0,
}
const SHORT = { headersMs: 100, idleMs: 100, rateMs: 100 }

let folder = ''
let upstream: Upstream
let mirror: Upstream
let now = new Date('2026-11-21T12:00:00Z')
let slept: number[] = []
let names: Record<string, readonly string[]> = {}
let proxy: ProxySettings = { url: '', except: '' }
const agents = createAgents(() => proxy)

function reachFor(more: { allow?: string; own?: readonly string[]; patience?: Partial<Patience> } = {}): Reach {
  const allow = (): string => more.allow ?? '127.0.0.1'
  const lookup = (host: string) =>
    Promise.resolve((names[host] ?? []).map(address => ({ address, family: address.includes(':') ? 6 : 4 })))
  const exchange = createExchange({
    guard: createHostGuard({ lookup, allow }),
    agents,
    bucket: createBucket({ bytesPerSecond: () => 0 }),
    patience: { ...PATIENCE, ...more.patience },
    userAgent: 'test',
    ownAddresses: () => more.own ?? [],
    allow,
  })
  return createReach({
    exchange,
    breaker: createBreaker({ now: () => now }),
    sleep: ms => {
      slept.push(ms)
      return Promise.resolve()
    },
    treeRoots: () => [join(folder, 'media')],
  })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-reach-'))
  for (const name of ['one', 'two', 'media/stick']) {
    await mkdir(join(folder, name, 'pool'), { recursive: true })
    await writeFile(join(folder, name, FILE.path), BYTES)
  }
  await writeFile(join(folder, 'secret'), 'secret')
  upstream = await serveUpstream(join(folder, 'one'))
  mirror = await serveUpstream(join(folder, 'two'), { validators: false })
})
afterAll(async () => {
  agents.close()
  await upstream.close()
  await mirror.close()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => {
  upstream.rules()
  mirror.rules()
  upstream.forget()
  mirror.forget()
  slept = []
  names = {}
  proxy = { url: '', except: '' }
  now = new Date('2026-11-21T12:00:00Z')
})
let into = ''
beforeEach(() => {
  into = join(folder, `into-${Math.random()}`)
})
afterEach(() => rm(into, { recursive: true, force: true }))

const signal = new AbortController().signal
const http = (...urls: readonly string[]) => ({ kind: 'http', format: 'deb', urls }) as const

async function readAll(reach: Reach, urls: readonly string[], maxBytes = 1e6): Promise<Buffer | undefined> {
  const stream = await reach.open(http(...urls), { signal }).fetch(FILE.path, { maxBytes })
  if (stream === undefined) return undefined
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}
const download = async (reach: Reach, ...urls: readonly string[]): Promise<Buffer> =>
  readFile(await reach.download(http(...urls), FILE, { folder: into, signal }))
const said = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no refusal',
    (error: unknown) => (error as Error).message,
  )

describe('a file of a repository', () => {
  test('comes as it is, asked for without a packing, its plus sign encoded', async () => {
    const opened = reachFor().open(http(upstream.url), { signal })
    expect([opened.bytes(), opened.mirror()]).toEqual([0, undefined])
    const chunks: Buffer[] = []
    for await (const chunk of (await opened.fetch(FILE.path, { maxBytes: 1e6 })) ?? []) chunks.push(chunk)
    expect(Buffer.concat(chunks)).toEqual(BYTES)
    expect([opened.bytes(), opened.mirror()]).toEqual([BYTES.length, upstream.url])
    expect(upstream.log[0]?.headers).toMatchObject({ 'accept-encoding': 'identity', 'user-agent': 'test' })
    expect(upstream.log[0]?.headers.range).toBeUndefined()
  })

  test('that is not there is undefined, and any other failure is an error', async () => {
    upstream.rules({ match: /./, fault: 'status', status: 404 })
    expect(await readAll(reachFor(), [upstream.url])).toBeUndefined()
    upstream.rules({ match: /./, fault: 'status', status: 403 })
    expect(await said(readAll(reachFor(), [upstream.url]))).toBe(
      `${upstream.host} gave no usable answer: it answered 403.`,
    )
  })

  test.each(['cut', 'cutChunked', 'reset', 'mislabel', 'noRange'] as const)(
    'with the fault %s once comes whole',
    async fault => {
      const rules = fault === 'noRange' ? [{ match: /./, fault: 'cut' as const, times: 1 }] : []
      upstream.rules(...rules, { match: /./, fault, times: 1 })
      expect(await readAll(reachFor(), [upstream.url])).toEqual(BYTES)
    },
  )

  test('that breaks off goes on where it stopped, and begins anew where a server gives wrong ranges', async () => {
    upstream.rules({ match: /./, fault: 'cut', times: 2, at: 30_000 })
    expect(await readAll(reachFor(), [upstream.url])).toEqual(BYTES)
    expect(upstream.log.map(({ range }) => range)[1]).toBe('bytes=30000-')
    upstream.forget()
    upstream.rules({ match: /./, fault: 'cut', times: 1 }, { match: /./, fault: 'badRange', times: 1 })
    expect(await readAll(reachFor(), [upstream.url])).toEqual(BYTES)
    expect(upstream.log.map(({ range }) => range)).toEqual([undefined, 'bytes=20000-', undefined])
  })

  test('that is another one after the break is refused', async () => {
    await mkdir(join(folder, 'later/pool'), { recursive: true })
    await writeFile(join(folder, 'later', FILE.path), Buffer.alloc(40_000, 'y'))
    upstream.rules({ match: /./, fault: 'cut', times: 1 }, { match: /./, dir: join(folder, 'later') })
    expect(await said(readAll(reachFor(), [upstream.url]))).toContain('the file changed while it was read')
  })

  test.each([
    ['hang', 'it did not answer as a server of packages does'],
    ['stall', 'it stopped in the middle of the file within 0 s'],
    ['slow', 'it sends fewer than 10000 bytes a second'],
    ['portal', 'it answered with a web page, perhaps the login page of a network; open the address in a browser'],
    ['redirect', 'it redirects too often'],
  ] as const)('with the fault %s is given up', async (fault, why) => {
    upstream.rules({ match: /./, fault, at: 100 })
    expect(
      await said(
        readAll(reachFor({ patience: { ...SHORT, bytesPerSecond: fault === 'slow' ? 10_000 : 0 } }), [upstream.url]),
      ),
    ).toContain(why)
  })

  test('without an end is read no further than asked for', async () => {
    upstream.rules({ match: /./, fault: 'endless' })
    const read = await readAll(reachFor(), [upstream.url], 100_000)
    expect(read?.length).toBeGreaterThan(100_000)
    expect(read?.length).toBeLessThan(1_000_000)
  })

  test('is asked for again after 503 and 429, as long as the server says', async () => {
    upstream.rules(
      { match: /./, fault: 'status', status: 503, times: 1 },
      { match: /./, fault: 'status', status: 429, headers: { 'retry-after': '7' }, times: 1 },
    )
    expect(await readAll(reachFor(), [upstream.url])).toEqual(BYTES)
    expect(slept).toEqual([1000, 7000])
    upstream.rules({ match: /./, fault: 'status', status: 503, headers: { 'retry-after': '3600' } })
    expect(await said(readAll(reachFor(), [upstream.url]))).toContain('it answered 503')
    expect(slept).toEqual([1000, 7000])
  })

  test('on a machine where nothing runs for a while is waited for', async () => {
    const reach = reachFor({ patience: { headersMs: 200, idleMs: 200, connectMs: 200 } })
    const reading = readAll(reach, [upstream.url])
    const until = performance.now() + 600
    while (performance.now() < until);
    expect(await reading).toEqual(BYTES)
  })
})

describe('mirrors', () => {
  test('are asked where the first fails, and then first', async () => {
    upstream.rules({ match: /./, fault: 'status', status: 500 })
    const opened = reachFor().open(http(upstream.url, mirror.url), { signal })
    for (let nth = 0; nth < 2; nth++) {
      const chunks: Buffer[] = []
      for await (const chunk of (await opened.fetch(FILE.path, { maxBytes: 1e6 })) ?? []) chunks.push(chunk)
      expect(Buffer.concat(chunks)).toEqual(BYTES)
    }
    expect(opened.mirror()).toBe(mirror.url)
    expect([upstream.log.length, mirror.log.length]).toEqual([3, 2])
  })

  test('are named when they fail', async () => {
    upstream.rules({ match: /./, fault: 'status', status: 500 })
    mirror.rules({ match: /./, fault: 'status', status: 403 })
    expect(await said(readAll(reachFor(), [upstream.url, mirror.url]))).toBe(
      `${upstream.host} gave no usable answer: it answered 500; its mirror ${mirror.host}: it answered 403.`,
    )
  })

  test('that lack a file do not make it missing while the first cannot be asked', async () => {
    upstream.rules({ match: /./, fault: 'status', status: 500 })
    mirror.rules({ match: /./, fault: 'status', status: 404 })
    expect(await said(readAll(reachFor(), [upstream.url, mirror.url]))).toContain('it answered 500')
    upstream.rules({ match: /./, fault: 'status', status: 404 })
    expect(await readAll(reachFor(), [upstream.url, mirror.url])).toBeUndefined()
  })

  test('go on where the first broke off', async () => {
    upstream.rules({ match: /./, fault: 'cut', times: 1 }, { match: /./, fault: 'status', status: 500 })
    expect(await readAll(reachFor(), [upstream.url, mirror.url])).toEqual(BYTES)
    expect(mirror.log[0]?.range).toBe('bytes=20000-')
  })
})

describe('a host that does not work', () => {
  test('rests for 5, 15 and 60 minutes, and is asked no more by anybody', async () => {
    const reach = reachFor()
    upstream.rules({ match: /./, fault: 'status', status: 500 })
    const ask = (): Promise<string> => said(readAll(reach, [upstream.url]))
    await ask()
    expect(upstream.log).toHaveLength(3)
    for (let source = 0; source < 45; source++)
      expect(await ask()).toContain('it failed several times and is asked again at 2026-11-21T12:05:00.000Z')
    expect(upstream.log).toHaveLength(3)
    for (const [at, until] of [
      ['12:05', '12:20'],
      ['12:20', '13:20'],
      ['13:20', '14:20'],
    ]) {
      now = new Date(`2026-11-21T${at}:00Z`)
      expect(await ask()).toContain('it answered 500')
      expect(await ask()).toContain(`is asked again at 2026-11-21T${until}`)
    }
    now = new Date('2026-11-21T14:20:00Z')
    upstream.rules()
    expect(await readAll(reach, [upstream.url])).toEqual(BYTES)
  })
})

describe('the guard', () => {
  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://[::1]/',
    'http://[::ffff:7f00:1]/',
    'http://0.0.0.0/',
    'http://169.254.169.254/',
    'http://10.1.2.3/',
    'ftp://example.test/',
  ])('%s is refused', async url => {
    await expect(readAll(reachFor({ allow: '' }), [url])).rejects.toMatchObject({ code: 'outbound_refused' })
  })

  test('a redirect into the own network is refused', async () => {
    upstream.rules({ match: /./, fault: 'redirect', to: 'http://127.0.0.2:1/x' })
    await expect(readAll(reachFor(), [upstream.url])).rejects.toMatchObject({ code: 'outbound_refused' })
  })

  test('a name that resolves inside is refused, also where it did not before', async () => {
    const { port } = new URL(upstream.url)
    names = { 'mirror.test': ['127.0.0.1'] }
    const reach = reachFor()
    const url = `http://mirror.test:${port}/`
    expect(await readAll(reach, [url])).toEqual(BYTES)
    names = { 'mirror.test': ['10.0.0.1'] }
    await expect(readAll(reach, [url])).rejects.toMatchObject({ code: 'outbound_refused' })
  })

  test('an address of this machine is refused, also inside an allowed network', async () => {
    const reach = reachFor({ allow: '10.0.0.0/8', own: ['10.1.2.3'] })
    expect(await said(readAll(reach, ['http://10.1.2.3:5432/']))).toContain('10.1.2.3 is an address of this machine')
  })

  test('inside, an open port and a closed one read the same', async () => {
    const closed = createServer()
    await new Promise<void>(resolve => {
      closed.listen(0, '127.0.0.1', resolve)
    })
    const { port } = closed.address() as AddressInfo
    await new Promise(resolve => {
      closed.close(resolve)
    })
    upstream.rules({ match: /./, fault: 'reset' })
    const why = 'it did not answer as a server of packages does'
    expect(await said(readAll(reachFor(), [upstream.url]))).toContain(why)
    expect(await said(readAll(reachFor(), [`http://127.0.0.1:${port}/`]))).toContain(why)
  })
})

describe('a proxy', () => {
  let server: Server
  let asked: string[] = []
  beforeAll(async () => {
    server = createServer((req, res) => {
      asked.push(`${req.method} ${req.url} ${req.headers['proxy-authorization'] ?? ''}`)
      res.end(BYTES)
    })
    server.on('connect', (req, socket) => {
      asked.push(`${req.method} ${req.url}`)
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    })
    await new Promise<void>(resolve => {
      server.listen(0, '127.0.0.1', resolve)
    })
  })
  afterAll(() => server.close())
  beforeEach(() => {
    asked = []
    proxy = {
      url: `http://me:p%40ss@127.0.0.1:${(server.address() as AddressInfo).port}`,
      except: '127.0.0.1, .inside.test',
    }
  })

  test('is asked for everything else, and resolves the names', async () => {
    expect(await readAll(reachFor(), ['http://mirror.test/debian/'])).toEqual(BYTES)
    expect(asked).toEqual([`GET http://mirror.test/debian/pool/one%2b1.deb Basic ${btoa('me:p@ss')}`])
    expect(await said(readAll(reachFor(), ['https://mirror.test/']))).toContain('mirror.test gave no usable answer')
    expect(asked[1]).toBe('CONNECT mirror.test:443')
    expect(await readAll(reachFor(), [upstream.url])).toEqual(BYTES)
    expect(upstream.log).toHaveLength(1)
  })

  test('is never asked for literal addresses of the own network', async () => {
    await expect(readAll(reachFor(), ['http://10.1.2.3/'])).rejects.toMatchObject({ code: 'outbound_refused' })
    expect(asked).toEqual([])
  })
})

describe('a download', () => {
  test('is checked, and lies under its digest', async () => {
    const path = await reachFor().download(http(upstream.url), FILE, { folder: into, signal })
    expect(path).toBe(join(into, SHA256))
    expect(await readFile(path)).toEqual(BYTES)
  })

  test('goes on with what an earlier process left', async () => {
    await mkdir(into, { recursive: true })
    await writeFile(join(into, `${SHA256}.part`), BYTES.subarray(0, 12_345))
    let came = 0
    const onBytes = (bytes: number): void => void (came += bytes)
    await reachFor().download(http(upstream.url), FILE, { folder: into, signal, onBytes })
    expect(upstream.log.map(({ range }) => range)).toEqual(['bytes=12345-'])
    expect(came).toBe(BYTES.length - 12_345)
    expect(await readFile(join(into, SHA256))).toEqual(BYTES)
  })

  test('whose earlier part is rotten begins anew', async () => {
    await mkdir(into, { recursive: true })
    await writeFile(join(into, `${SHA256}.part`), Buffer.alloc(100))
    expect(await download(reachFor(), upstream.url)).toEqual(BYTES)
    expect(upstream.log.map(({ range }) => range)).toEqual(['bytes=100-', undefined])
  })

  test('that was whole before a restart is fetched no second time', async () => {
    await mkdir(into, { recursive: true })
    await writeFile(join(into, SHA256), BYTES)
    expect(await download(reachFor(), upstream.url)).toEqual(BYTES)
    expect(upstream.log).toEqual([])
  })

  test('that a server cuts off without saying so is continued', async () => {
    upstream.rules({ match: /./, fault: 'cutClose', times: 2, at: 30_000 })
    expect(await download(reachFor(), upstream.url)).toEqual(BYTES)
  })

  test('with wrong bytes is asked for past caches, then at the mirror', async () => {
    upstream.rules({ match: /./, fault: 'flip' })
    expect(await download(reachFor(), upstream.url, mirror.url)).toEqual(BYTES)
    expect(upstream.log.map(({ headers }) => headers['cache-control'])).toEqual([undefined, 'no-cache'])
    expect(mirror.log).toHaveLength(1)
  })

  test.each(['flip', 'empty', 'encode', 'endless'] as const)(
    'with the fault %s everywhere is refused, and nothing stays',
    async fault => {
      upstream.rules({ match: /./, fault })
      await expect(download(reachFor(), upstream.url)).rejects.toMatchObject({
        code: 'upstream_refused',
        facts: { fault: fault === 'flip' ? 'wrong_digest' : 'wrong_size' },
      })
      await expect(readFile(join(into, SHA256))).rejects.toThrow('ENOENT')
      await expect(readFile(join(into, `${SHA256}.part`))).rejects.toThrow('ENOENT')
    },
  )

  test('that is cancelled keeps what it has', async () => {
    const over = new AbortController()
    upstream.rules({ match: /./, fault: 'stall' })
    const onBytes = (): void => over.abort()
    await expect(
      reachFor().download(http(upstream.url), FILE, { folder: into, signal: over.signal, onBytes }),
    ).rejects.toMatchObject({ name: 'AbortError' })
    expect((await readFile(join(into, `${SHA256}.part`))).length).toBeGreaterThan(0)
  })
})

describe('a directory', () => {
  const tree = (path: string) => ({ kind: 'tree', format: 'deb', urls: [path] }) as const
  const read = async (where: string, path: string): Promise<string | undefined> => {
    const stream = await reachFor().open(tree(where), { signal }).fetch(relPath(path), { maxBytes: 1e6 })
    if (stream === undefined) return undefined
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk)
    return createHash('sha256').update(Buffer.concat(chunks)).digest('hex')
  }

  test('below an allowed one is read and downloaded from', async () => {
    const stick = join(folder, 'media/stick')
    expect(await read(stick, FILE.path)).toBe(SHA256)
    expect(await read(stick, 'pool/other')).toBeUndefined()
    const path = await reachFor().download(tree(stick), FILE, { folder: into, signal })
    expect(await readFile(path)).toEqual(BYTES)
    const wrong = { ...FILE, digests: { sha256: 'a'.repeat(64) } }
    await expect(reachFor().download(tree(stick), wrong, { folder: into, signal })).rejects.toMatchObject({
      facts: { fault: 'wrong_digest' },
    })
  })

  test('elsewhere, or with links that lead out, is refused', async () => {
    const stick = join(folder, 'media/stick')
    await symlink('pool', join(stick, 'inside'))
    await symlink('../../secret', join(stick, 'outside'))
    await symlink(folder, join(folder, 'media/jump'))
    await symlink('circle', join(stick, 'circle'))
    expect(await read(stick, 'inside/one+1.deb')).toBe(SHA256)
    expect(await said(read(stick, 'outside'))).toContain('outside leads out of it')
    expect(await said(read(stick, 'circle'))).toContain('circle leads in a circle')
    expect(await said(read(stick, 'pool'))).toContain('pool is no plain file')
    for (const where of [folder, join(folder, 'media/jump'), '/etc', join(folder, 'media/../one'), `${folder}/nowhere`])
      expect(await said(read(where, FILE.path))).toContain('IMPORT_ROOTS')
    expect(await said(read(join(folder, 'media/away'), FILE.path))).toContain('is the medium mounted?')
  })
})
