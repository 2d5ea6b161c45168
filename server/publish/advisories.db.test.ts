import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { buildRpm } from '../../test/support/packages-rpm.ts'
import { spoolBytes } from '../../test/support/packages.ts'
import { createStock, type Stock } from '../../test/support/test-catalog.ts'
import type { FixAdvisory, OfferedPackage } from '../core/advisories.ts'
import type { Codename } from '../core/identity.ts'
import { getFormat } from '../formats/index.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { createKeyring } from '../signing/keyring.ts'
import { createVerifier } from './audit-trees.ts'
import { createPublisher, type Publisher } from './publisher.ts'
import { repositories } from '../../test/support/repositories.ts'

const ALMA = 'almalinux9' as Codename
const noLine = async (): Promise<void> => undefined

let stock: Stock
let publisher: Publisher
let keyring: ReturnType<typeof createKeyring>
let folder: string
/** Names of packages whose 2.0 mends something, by id; and what was asked about. */
let known: Record<string, string>
let asked: OfferedPackage[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-advisories-'))
  stock = await createStock()
  keyring = createKeyring({ layout: stock.layout, box: createSecretBox('k'), clock: stock.clock })
  await keyring.generate({ type: 'ed25519Legacy', name: 'T', email: 't@example.test', overlapDays: 1 })
  known = {}
  publisher = createPublisher({
    db: stock.db,
    layout: stock.layout,
    keyring,
    clock: stock.clock,
    formats: getFormat,
    repositories,
    fixes: async (_, packages) => {
      asked = []
      for await (const one of packages) asked.push(one)
      return Object.entries(known).map(([id, name]): FixAdvisory => ({
        id,
        kind: 'security',
        severity: 'high',
        title: `Important: ${name}`,
        at: '2026-01-02T03:04:05Z',
        from: 'osv/AlmaLinux',
        cves: ['CVE-2026-1'],
        references: [],
        packages: asked.filter(one => one.name === name && one.version === '2.0-1'),
      }))
    },
  })
})
afterEach(async () => {
  await publisher.close()
  await stock.close()
  await rm(folder, { recursive: true, force: true })
})

async function put(name: string, version: string, arch = 'x86_64'): Promise<void> {
  const file = await spoolBytes(folder, `${name}.rpm`, await buildRpm({ name, version, release: '1', arch }))
  const { identity, about, facts, paths } = await getFormat('rpm').inspect(file, new AbortController().signal)
  const at = stock.clock.now().toISOString()
  const manifest = {
    schema: 2 as const,
    ref: { ...identity, codename: ALMA },
    files: [{ path: file.filename, blob: file.blob }] as const,
    about,
    state: 'published' as const,
    reports: [],
    findings: [],
    facts,
    paths,
    by: 'ada',
    from: 'upload' as const,
    at,
    changed_at: at,
  }
  await stock.catalog.change({ kind: 'admit', manifest, files: [file] }, { name: 'ada' })
}

const repodata = (): string => join(stock.layout.live(ALMA), 'x86_64', 'repodata')
const repomd = (): Promise<string> => readFile(join(repodata(), 'repomd.xml'), 'utf8')

/** The document that repomd.xml names, proved against what it says of it; undefined where it names none. */
async function updateinfo(): Promise<string | undefined> {
  const [, entry] = /<data type="updateinfo">(.*?)<\/data>/s.exec(await repomd()) ?? []
  if (entry === undefined) return undefined
  const field = (name: string): string => new RegExp(`<${name}[^>]*>([^<]*)<`).exec(entry)?.[1] ?? ''
  const [, href = ''] = /href="([^"]+)"/.exec(entry) ?? []
  const packed = await readFile(join(repodata(), '..', href))
  const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
  const plain = gunzipSync(packed)
  expect(href).toBe(`repodata/${digest(packed)}-updateinfo.xml.gz`)
  expect([field('checksum'), field('size'), field('open-checksum'), field('open-size')]).toEqual([
    digest(packed),
    String(packed.length),
    digest(plain),
    String(plain.length),
  ])
  return plain.toString()
}

async function differences(): Promise<readonly unknown[]> {
  await stock.outbox.drain()
  return (
    await createVerifier({
      db: stock.db,
      layout: stock.layout,
      manifests: stock.manifests,
      keyring,
      formats: getFormat,
      repositories,
    })()
  ).differences
}

describe('advisories of an RPM tree', () => {
  test('are not there where nothing is known', async () => {
    await put('hello', '2.0')
    await publisher.publish(ALMA)
    expect(await publisher.publishContents(ALMA)).toBeUndefined()
    expect(await repomd()).not.toContain('updateinfo')
    expect(asked).toEqual([
      { name: 'hello', version: '2.0-1', arch: 'x86_64', source: 'hello', source_version: '2.0-1' },
    ])
  })

  test('follow on their own, are carried by the publications between, and go with what they were about', async () => {
    known = { 'ALSA-2026:1': 'hello', 'ALSA-2026:2': 'docs', 'ALSA-2026:3': 'absent' }
    await put('hello', '1.0')
    await put('hello', '2.0')
    await put('docs', '2.0', 'noarch')
    await publisher.publish(ALMA)
    expect(await updateinfo()).toBeUndefined()
    await publisher.publishContents(ALMA)
    const said = await updateinfo()
    expect(said?.match(/<id>[^<]*/g)).toEqual(['<id>ALSA-2026:1', '<id>ALSA-2026:2'])
    expect(said?.match(/<filename>[^<]*/g)).toEqual([
      '<filename>hello-2.0-1.x86_64.rpm',
      '<filename>docs-2.0-1.noarch.rpm',
    ])
    expect(await publisher.publishContents(ALMA), 'the same again').toBeUndefined()
    await put('other', '1.0')
    await publisher.publish(ALMA)
    expect(await updateinfo()).toBe(said)
    expect(await differences()).toEqual([])
    known = {}
    await publisher.publishContents(ALMA)
    expect(await updateinfo()).toBeUndefined()
    expect((await readdir(repodata())).filter(name => name.includes('updateinfo'))).toEqual([])
  })

  test('of an earlier generation come back with it, and stay while it is rolled back', async () => {
    known = { 'ALSA-2026:1': 'hello' }
    await put('hello', '2.0')
    await publisher.publish(ALMA)
    await publisher.publishContents(ALMA)
    const said = await updateinfo()
    known = {}
    await publisher.publishContents(ALMA)
    expect(await updateinfo()).toBeUndefined()
    await publisher.rollback(ALMA, 2, noLine)
    expect(await updateinfo()).toBe(said)
    expect(await publisher.publishContents(ALMA)).toBeUndefined()
    expect(await updateinfo()).toBe(said)
    await publisher.rollback(ALMA, 3, noLine)
    expect(await updateinfo()).toBeUndefined()
  })

  test('that cannot be looked up change nothing, and stay owed', async () => {
    known = { 'ALSA-2026:1': 'hello' }
    await put('hello', '2.0')
    await publisher.publish(ALMA)
    await publisher.publishContents(ALMA)
    const said = await updateinfo()
    const broken = createPublisher({
      db: stock.db,
      layout: stock.layout,
      keyring,
      clock: stock.clock,
      formats: getFormat,
      repositories,
      fixes: () => Promise.reject(new Error('the data cannot be read')),
    })
    await expect(broken.publishContents(ALMA)).rejects.toThrow('the data cannot be read')
    await broken.close()
    expect(await updateinfo()).toBe(said)
  })
})
