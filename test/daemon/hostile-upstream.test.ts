import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { defineRegistries } from '../support/defined-registries.ts'
import { proxyRegistry } from '../support/registry-upstream.ts'

/** Answers that no honest registry gives, by the path that is asked for. */
const odd = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>()
const seen: string[] = []
let server: Server
let base = ''
let root: string
let daemon: Daemon

beforeAll(async () => {
  server = createServer((request, response) => {
    seen.push(request.url ?? '')
    const answer = odd.get((request.url ?? '').split('?')[0] ?? '')
    if (answer === undefined) return void response.writeHead(404).end()
    answer(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  root = await mkdtemp(join(tmpdir(), 'gh-hostile-'))
  await defineRegistries(root, [
    proxyRegistry('odd', 'npm', { url: base }),
    proxyRegistry('wheels', 'pypi', { url: `${base}/simple` }),
    proxyRegistry('jars', 'maven', { url: `${base}/m2` }),
    proxyRegistry('pics', 'oci', { url: base }),
  ])
  daemon = await startDaemon({ root })
  const token = await daemon.setupAdmin()
  const { status, text } = await daemon.call('PATCH', '/settings/', {
    token,
    body: {
      validation: { clamav_scan: false, on_scanner_unavailable: 'warn' },
      notifications: { allow_private_hosts: '127.0.0.1' },
    },
  })
  expect(status, text).toBe(200)
})
afterAll(async () => {
  await daemon.close()
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
  await rm(root, { recursive: true, force: true })
})

const json = (body: string) => (_: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(200, { 'Content-Type': 'application/json' }).end(body)
async function ask(path: string) {
  const answer = await fetch(`${daemon.url}${path}`, { redirect: 'manual' })
  return { status: answer.status, reason: answer.statusText, text: await answer.text() }
}
const nothingLeft = async (): Promise<void> => expect(await readdir(join(root, 'incoming'))).toEqual([])
const version = (name: string, number: string, more: object = {}): object => ({
  ...{ _id: `${name}@${number}`, name, version: number, dist: { tarball: `${base}/${name}-${number}.tgz` } },
  ...more,
})

test('an index of 300 MB is read no further than it may be, and nothing of it stays', async () => {
  odd.set('/big', (_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    const chunk = Buffer.alloc(2 ** 20, ' ')
    let n = 0
    const more = (): void => {
      while (n++ < 300) if (!response.write(chunk)) return void response.once('drain', more)
      response.end('{}')
    }
    more()
  })
  expect(await ask('/npm/odd/big')).toMatchObject({
    status: 502,
    text: expect.stringContaining('the index of big: it has more than 256 MiB') as string,
  })
  odd.set(
    '/bomb',
    (_, response) =>
      void response
        .writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Type': 'application/json' })
        .end(gzipSync(Buffer.alloc(300 * 2 ** 20, ' '))),
  )
  expect(await ask('/npm/odd/bomb')).toMatchObject({
    status: 502,
    text: expect.stringContaining('more than 256 MiB') as string,
  })
  await nothingLeft()
})

test('redirects without an end are followed five times', async () => {
  for (let n = 0; n < 1_000; n++)
    odd.set(
      n === 0 ? '/turns' : `/turns${n}`,
      (_, response) => void response.writeHead(302, { Location: `/turns${n + 1}` }).end(),
    )
  const { status, text } = await ask('/npm/odd/turns')
  expect([status, text]).toEqual([502, expect.stringContaining('it redirects too often')])
  expect(seen.filter(path => path.startsWith('/turns'))).toHaveLength(6)
})

test.each([
  'http://169.254.169.254/latest/meta-data',
  'http://[::1]:1/x',
  'http://10.0.0.1/x',
  'http://0.0.0.0:22/x',
  'http://[::ffff:169.254.169.254]/x',
  'http://2852039166/',
])('neither a redirect nor an index leads to %s', async to => {
  const name = `goes-${seen.length}`
  odd.set(`/${name}`, (_, response) => void response.writeHead(302, { Location: to }).end())
  expect((await ask(`/npm/odd/${name}`)).text).toContain('No request is sent to')
  const other = `${name}-file`
  odd.set(
    `/${other}`,
    json(JSON.stringify({ name: other, versions: { '1.0.0': version(other, '1.0.0', { dist: { tarball: to } }) } })),
  )
  expect((await ask(`/npm/odd/${other}/-/${other}-1.0.0.tgz`)).text).toContain('No request is sent to')
  odd.set(`/v2/${name}/manifests/v1`, (_, response) => void response.writeHead(302, { Location: to }).end())
  expect((await ask(`/v2/pics/${name}/manifests/v1`)).text).toContain('No request is sent to')
  odd.set(`/m2/com/x/${name}/maven-metadata.xml`, (_, response) => void response.writeHead(302, { Location: to }).end())
  expect((await ask(`/maven/jars/com/x/${name}/maven-metadata.xml`)).reason).toContain('No request is sent to')
})

test('of an index that says things twice clients get what is judged: the last list, and of a version the first', async () => {
  const of = (number: string, more: object = {}): string => JSON.stringify(version('twice', number, more))
  odd.set(
    '/twice',
    json(
      `{"name":"other","name":"twice","versions":{"9.0.0":${of('9.0.0')}},"versions":{"1.0.0":${of('1.0.0')},"1.0.0":${of('1.0.0', { license: 'X' })}},"dist-tags":{"latest":"9.0.0"}}`,
    ),
  )
  const { text } = await ask('/npm/odd/twice')
  const { versions, 'dist-tags': tags } = JSON.parse(text) as {
    'versions': Record<string, object>
    'dist-tags': object
  }
  expect([Object.keys(versions), tags]).toEqual([['1.0.0'], { latest: '1.0.0' }])
  expect(versions['1.0.0']).not.toHaveProperty('license')
  expect((await ask('/npm/odd/twice/-/twice-9.0.0.tgz')).status).toBe(404)
})

test('names that are members of every object, and text that turns round what a terminal shows, do nothing', async () => {
  const one = JSON.stringify(version('proto', '1.0.0'))
  odd.set(
    '/proto',
    json(
      `{"name":"proto","__proto__":{"polluted":true},"versions":{"__proto__":${one},"constructor":${one},"1.0.0":{"__proto__":{"license":"X"},"name":"proto","version":"1.0.0","deprecated":"\\u001b[31mred\\u202egnp\\u009b\\u0007","dist":{"tarball":"${base}/../../proto.tgz","__proto__":{"tarball":"x"}}}},"dist-tags":{"__proto__":"1.0.0","latest":"1.0.0","a\\u202eb":"1.0.0"},"time":{"__proto__":"2020"}}`,
    ),
  )
  const { text } = await ask('/npm/odd/proto')
  const document = JSON.parse(text) as { 'versions': Record<string, { deprecated: string }>; 'dist-tags': object }
  expect(Object.keys(document.versions)).toEqual(['1.0.0'])
  expect(document.versions['1.0.0']?.deprecated).toBe('[31mred gnp')
  expect(text).not.toContain('\u202e')
  const project = 'snake'
  const file = (filename: string, more: object = {}): object => ({ filename, url: 'x.whl', hashes: {}, ...more })
  odd.set(`/simple/${project}/`, (_, response) => {
    const files = [
      file('../../../etc/snake-1.0-py3-none-any.whl'),
      file('snake-1.0-py3-none-any.whl', { yanked: '\u001b[31mred\u202egnp\nsecond' }),
      file('snake-1.0\u202e-py3-none-any.whl'),
      file('snake-1.0-py3-none-any.whl', { url: 'second.whl' }),
      file('snake-2.0-py3-none-any.whl', { 'requires-python': '>=3\u001b"><script>' }),
    ]
    response.writeHead(200, { 'Content-Type': 'application/vnd.pypi.simple.v1+json' })
    response.end(JSON.stringify({ meta: { 'api-version': '1.1' }, name: project, files }))
  })
  const page = (await ask(`/pypi/wheels/simple/${project}/`)).text
  expect([...page.matchAll(/>(snake[^<]+)</g)].map(([, name]) => name)).toEqual([
    'snake-1.0-py3-none-any.whl',
    'snake-2.0-py3-none-any.whl',
  ])
  expect(page).toContain('data-yanked="[31mred gnp second"')
  expect(page).not.toMatch(/[\u001b\u202e]|<script/)
})

test('a list of Maven with a DOCTYPE is refused, and versions that are no folder are left out', async () => {
  const list = (versions: string, before = ''): string =>
    `${before}<metadata><groupId>com.x</groupId><artifactId>a</artifactId><versioning><versions>${versions}</versions></versioning></metadata>`
  odd.set('/m2/com/x/a/maven-metadata.xml', json(list('<version>&b;</version>', '<!DOCTYPE m [<!ENTITY b "1.0">]>')))
  expect((await ask('/maven/jars/com/x/a/maven-metadata.xml')).reason).toContain('it has a DOCTYPE')
  const versions = ['1.0', '../../2.0', '3\u202e', '1.0', '4/5'].map(one => `<version>${one}</version>`)
  odd.set('/m2/com/x/b/maven-metadata.xml', json(list(versions.join(''))))
  const { text } = await ask('/maven/jars/com/x/b/maven-metadata.xml')
  expect([...text.matchAll(/<version>([^<]*)</g)].map(([, one]) => one)).toEqual(['1.0'])
})

test('no address leads out of the names of packages', async () => {
  const before = seen.length
  for (const name of ['..%2f..%2fetc', '__proto__', 'a%00b', 'a%0ab', '%e2%80%aegnp', 'a%5cb', '@..%2fx', '%40a%2f..'])
    expect([name, [400, 404].includes((await ask(`/npm/odd/${name}`)).status)]).toEqual([name, true])
  expect(seen.slice(before)).toEqual([])
  await nothingLeft()
})
