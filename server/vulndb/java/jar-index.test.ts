import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { orders } from '../../../test/support/advisory-set.ts'
import { osvRecord, osvZip } from '../../../test/support/zip.ts'
import type { ImportFile } from '../read/run.ts'
import { createDatabase } from '../store/database.ts'
import { importData, type ImportResult } from '../store/import.ts'
import { collectJars, folderRepository, webRepository } from './collect-jars.ts'
import { openJarIndex, packJarIndex, type JarRow } from './jar-index.ts'
import { createJavaNames } from './java-names.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-jars-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex')
const row = (group: string, artifact: string, version: string): JarRow => ({
  group,
  artifact,
  version,
  sha1: sha1(`${group}:${artifact}:${version}`),
})
const ROWS = [
  row('g', 'a', '1'),
  row('g', 'a', '2'),
  row('org.b', 'b', '1'),
  { ...row('h', 'a', '1'), sha1: sha1('g:a:1') },
]
const DAY = '2026-11-01T00:00:00.000Z'

test('an index answers by SHA-1, with every release that has the file', () => {
  const bytes = packJarIndex(ROWS, DAY)
  const index = openJarIndex(bytes)
  expect([index.created, index.rows]).toEqual([DAY, 4])
  expect(index.releasesOf(sha1('g:a:2'))).toEqual([{ group: 'g', artifact: 'a', version: '2' }])
  expect(index.releasesOf(sha1('g:a:1'))).toEqual([
    { group: 'g', artifact: 'a', version: '1' },
    { group: 'h', artifact: 'a', version: '1' },
  ])
  expect([index.releasesOf(sha1('unknown')), index.releasesOf(''), index.releasesOf('zz')]).toEqual([[], [], []])
  expect(openJarIndex(packJarIndex([], DAY)).releasesOf(sha1('g:a:1'))).toEqual([])
  expect(packJarIndex([...index.all()], DAY).equals(bytes)).toBe(true)
})

test('20,000 releases are found again, at some 13 bytes each', () => {
  const rows = Array.from({ length: 20_000 }, (_, n) => row(`g${n % 100}`, `a${n % 100}`, `1.${n}`))
  const bytes = packJarIndex(rows, DAY)
  const index = openJarIndex(bytes)
  expect(rows.filter(({ sha1: one, version }) => index.releasesOf(one)[0]?.version !== version)).toEqual([])
  expect(bytes.length / rows.length).toBeLessThan(16)
})

test('a damaged index is never an empty one', () => {
  const bytes = packJarIndex(ROWS, DAY)
  expect(() => openJarIndex(bytes.subarray(0, -1))).toThrow('the index of jars is cut off')
  expect(() => openJarIndex(Buffer.concat([bytes, Buffer.alloc(12)]))).toThrow('the index of jars is cut off')
  expect(() => openJarIndex(Buffer.from('GHJARS1\n{"rows":1}\n'))).toThrow('does not say its date, rows and names')
  expect(() => openJarIndex(Buffer.from(`GHJARS1\n{"created":"${DAY}","rows":1e300,"names":0}\n`))).toThrow(
    'does not say',
  )
  expect(() => openJarIndex(Buffer.from('GHJARS1\n'))).toThrow('does not begin as one')
  const wrongId = Buffer.from(bytes)
  wrongId.fill(0xff, bytes.length - 4)
  expect(() => [...openJarIndex(wrongId).all()]).toThrow('names a release that is not there')
})

async function load(...files: readonly (readonly [name: string, bytes: Buffer])[]): Promise<ImportResult> {
  const list: ImportFile[] = []
  for (const [name, bytes] of files) {
    await writeFile(join(folder, name), bytes)
    list.push({ path: join(folder, name), label: name })
  }
  const security = join(folder, 'security')
  await mkdir(security, { recursive: true })
  return importData(
    { security, files: list, force: false, key: '', now: new Date().toISOString(), ecosystems: {} },
    orders,
  )
}

test('an import takes an index, adds a second one, and keeps both beside advisories that come later', async () => {
  const osv = osvZip([osvRecord('GHSA-aaaa-bbbb-cccc', [['Maven', 'g:a', '2']])])
  expect(
    await load(['one.index', packJarIndex(ROWS.slice(0, 2), DAY)], ['two.index', packJarIndex(ROWS.slice(2), DAY)]),
  ).toMatchObject({
    status: 'imported',
    sources: [{ name: 'jar-index', kind: 'jar-index', as_of: DAY, records: 4 }],
  })
  const security = join(folder, 'security')
  const names = createJavaNames({ security, database: createDatabase({ security }) })
  expect((await names()).releasesOf(sha1('org.b:b:1'))).toEqual([{ group: 'org.b', artifact: 'b', version: '1' }])
  expect((await names()).groupsOf('a')).toEqual([])
  await load(['all.zip', osv])
  const later = await names()
  expect([later.groupsOf('a'), later.releasesOf(sha1('g:a:2')).length]).toEqual([['g'], 1])
  await expect(load(['old.index', packJarIndex(ROWS, '2026-10-01T00:00:00.000Z')])).rejects.toThrow(
    'jar-index is of 2026-10-01',
  )
  await expect(load(['cut.index', packJarIndex(ROWS, DAY).subarray(0, -1)])).rejects.toThrow('is cut off')
})

test('nothing loaded knows nothing', async () => {
  const names = createJavaNames({ security: folder, database: createDatabase({ security: folder }) })
  expect([(await names()).groupsOf('a'), (await names()).releasesOf(sha1('g:a:1'))]).toEqual([[], []])
})

/** A repository of Maven in a folder: two versions, one of which only has its digest, and one without a jar. */
async function repository(): Promise<string> {
  const root = join(folder, 'repository')
  const files = {
    'org/b/b/1/b-1.jar': 'bytes of 1',
    'org/b/b/2/b-2.jar.sha1': `${sha1('bytes of 2')}  b-2.jar`,
    'org/b/b/3/b-3.pom': '<project/>',
    'org/b/b/maven-metadata.xml': '<versions><version>1</version><version>2</version><version>3</version></versions>',
    'org/b/b/1/b-1.jar.sha1': sha1('bytes of 1'),
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  return root
}
const EXPECTED = [
  { group: 'org.b', artifact: 'b', version: '1', sha1: sha1('bytes of 1') },
  { group: 'org.b', artifact: 'b', version: '2', sha1: sha1('bytes of 2') },
]
const NAMES = ['org.b:b', 'org.missing:x', '../../etc:passwd', 'no-colon']

test('digests are collected from a folder, also by reading jars', async () => {
  const root = await repository()
  await rm(join(root, 'org/b/b/1/b-1.jar.sha1'))
  const seen: [string, number][] = []
  expect(await collectJars(NAMES, folderRepository(root), (...one) => seen.push(one))).toEqual(EXPECTED)
  expect(seen).toEqual([
    ['org.b:b', 2],
    ['org.missing:x', 0],
  ])
})

test('digests are collected from an address, and an answer that is none ends it', async () => {
  const asked: string[] = []
  const answers: Record<string, string> = {
    '/maven2/org/b/b/maven-metadata.xml': '<version>1</version><version>2</version><version>3</version>',
    '/maven2/org/b/b/1/b-1.jar.sha1': sha1('bytes of 1'),
    '/maven2/org/b/b/2/b-2.jar.sha1': sha1('bytes of 2'),
  }
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    const text = answers[request.url ?? '']
    response.writeHead(request.url?.includes('broken') === true ? 503 : text === undefined ? 404 : 200).end(text)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/maven2`
  try {
    expect(await collectJars(NAMES, webRepository(base, fetch), () => {})).toEqual(EXPECTED)
    expect(asked.filter(path => path.includes('..') || path.includes('passwd'))).toEqual([])
    await expect(collectJars(['org.broken:x'], webRepository(base, fetch), () => {})).rejects.toThrow('answers 503')
  } finally {
    server.close()
  }
})
