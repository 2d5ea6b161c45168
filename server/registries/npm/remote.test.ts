import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { npmReader, type RemoteNpmAbout } from './remote.ts'

const SHA512 = createHash('sha512').update('x').digest()
const SHA1 = createHash('sha1').update('x').digest('hex')
const dist = { tarball: 'https://far.example/n/-/n-1.0.0.tgz', shasum: SHA1 }

const version = (number: string, more: object = {}): object => ({
  _id: `n@${number}`,
  name: 'n',
  version: number,
  dist: { ...dist, tarball: `https://far.example/n/-/n-${number}.tgz` },
  ...more,
})
function read(packument: object, { name = 'n', url = 'https://far.example/n' } = {}) {
  const bytes = Buffer.from(JSON.stringify({ name: 'n', ...packument }))
  const { about, entries } = npmReader.read({ name, url, type: 'application/json', bytes })
  const all = [...entries]
  return { about: about() as unknown as RemoteNpmAbout, entries: all }
}
const one = (said: object, url?: string) =>
  read({ versions: { '1.0.0': version('1.0.0', said) } }, url === undefined ? {} : { url }).entries[0]

test('one path for a name, as clients write it, and the full form, which alone has times', () => {
  expect(npmReader.ask('@scope/name')).toEqual({ path: '/@scope%2fname', accept: 'application/json' })
  expect(npmReader.ask('JSONStream').path).toBe('/JSONStream')
})

test('what a version is here: documents without what the registry says itself, its file, its facts', () => {
  const said = {
    licenses: [{ type: 'AGPL-3.0-only' }, 'ISC'],
    ...{ description: 'N', scripts: { postinstall: 'node x', test: 'y' }, deprecated: 'use m', readme: 'long' },
    ...{ _npmUser: { name: 'jo' }, _rev: '1-x', devDependencies: { c: '1' }, _hasShrinkwrap: true },
    dist: {
      ...dist,
      ...{
        'integrity': `sha512-${SHA512.toString('base64')}`,
        'fileCount': 3,
        'unpackedSize': 9,
        'npm-signature': 'old',
      },
      signatures: [{ keyid: 'k', sig: 's', more: 'x' }, 'odd'],
      attestations: { url: 'https://far.example/-/npm/v1/attestations/n@1.0.0' },
    },
  }
  const packument = { versions: { '1.0.0': version('1.0.0', said) }, time: { '1.0.0': '2020-01-02T03:04:05.678Z' } }
  const [{ full_document: full, short_document: short, ...entry } = {}] = read(packument).entries
  expect(entry).toEqual({
    version: '1.0.0',
    arch: 'any',
    published_at: '2020-01-02T03:04:05.678Z',
    file: {
      url: 'https://far.example/n/-/n-1.0.0.tgz',
      filename: 'n-1.0.0.tgz',
      digests: { sha512: SHA512.toString('hex'), sha1: SHA1 },
    },
    facts: { deprecated: 'use m', dist: { fileCount: 3, unpackedSize: 9, signatures: [{ keyid: 'k', sig: 's' }] } },
    license: 'AGPL-3.0-only OR ISC',
  })
  expect(JSON.parse(full ?? '')).toEqual({
    ...{ name: 'n', version: '1.0.0', _id: 'n@1.0.0', hasInstallScript: true, _hasShrinkwrap: true },
    licenses: said.licenses,
    ...{ description: 'N', scripts: said.scripts, devDependencies: { c: '1' } },
  })
  expect(JSON.parse(short ?? '')).toEqual({
    ...{ name: 'n', version: '1.0.0', hasInstallScript: true, _hasShrinkwrap: true, devDependencies: { c: '1' } },
  })
})

test('the abbreviated form says no scripts, and is known by that', () => {
  const { _id: _, ...short } = version('1.0.0', { hasInstallScript: true }) as Record<string, unknown>
  const [entry] = read({ versions: { '1.0.0': short }, modified: '2020-01-01T00:00:00.000Z' }).entries
  expect([entry?.facts, entry?.published_at]).toEqual([{ dist: {}, isShort: true }, undefined])
  expect(JSON.parse(entry?.short_document ?? '')).toMatchObject({ hasInstallScript: true })
})

test('tags are kept, and so is how many versions are left out', () => {
  const versions = {
    '1.0.0': version('1.0.0'),
    'v2.0.0': version('2.0.0'),
    '3.0.0': version('3.0.1'),
    '4.0.0': { ...version('4.0.0'), name: 'm' },
    '5.0.0': version('5.0.0', { dist: { shasum: SHA1 } }),
    '6.0.0': version('6.0.0', { dist: { tarball: 'file:///etc/passwd' } }),
    'latest': version('latest'),
    '7.0.0': 'odd',
  }
  const tags = { latest: '1.0.0', odd: 1 }
  const { about, entries } = read({ versions, 'dist-tags': tags })
  expect(entries.map(entry => entry.version)).toEqual(['1.0.0'])
  expect(about).toEqual({ tags: { latest: '1.0.0' }, leftOut: 7 })
})

test.each<[string, object, object]>([
  ['both', { shasum: SHA1.toUpperCase() }, { sha1: SHA1 }],
  ['several', { integrity: `sha1-${Buffer.from(SHA1, 'hex').toString('base64')} md5-abc= sha384-x` }, { sha1: SHA1 }],
  ['one that is too short', { integrity: 'sha512-AAAA' }, {}],
  ['one with an option', { integrity: `sha512-${SHA512.toString('base64')}?x` }, { sha512: SHA512.toString('hex') }],
  ['none', {}, {}],
])('digests: %s', (_, said, digests) => {
  expect(one({ dist: { tarball: dist.tarball, ...said } })?.file?.digests).toEqual(digests)
})

test.each([
  ['https://far.example/n', 'http://far.example/n/-/n-1.0.0.tgz', 'https://far.example/n/-/n-1.0.0.tgz'],
  ['https://far.example:8443/n', 'http://far.example/n.tgz', 'https://far.example:8443/n.tgz'],
  ['http://far.example:4873/n', 'http://far.example:4873/n.tgz', 'http://far.example:4873/n.tgz'],
  ['https://far.example/npm/n', '/files/n.tgz', 'https://far.example/files/n.tgz'],
  ['https://far.example/n', 'http://cdn.example/n.tgz', 'http://cdn.example/n.tgz'],
])('asked at %s, the bytes of %s are at %s', (url, tarball, address) => {
  expect(one({ dist: { tarball } }, url)?.file?.url).toBe(address)
})

test.each([
  ['another package', { name: 'm', versions: {} }, /about "m", and "n" was asked for/],
  ['an error in JSON', { name: undefined, error: 'no' }, /about "undefined"/],
])('%s is refused', (_, packument, why) => {
  expect(() => read(packument)).toThrow(why)
})

test('a page for people is refused', () => {
  const bytes = Buffer.from('<html>Please log in</html>')
  expect(() => npmReader.read({ name: 'n', url: 'https://far.example/n', type: 'text/html', bytes })).toThrow(
    'it is not JSON',
  )
})

test('a name that was taken down has no versions', () => {
  expect(read({ time: { unpublished: { time: 'x' } } })).toEqual({ about: { tags: {}, leftOut: 0 }, entries: [] })
})
