import { createHash } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { constants, deflateRawSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readApkIndex } from '../../../test/support/apk.ts'
import { getDistribution, layoutOf } from '../../../test/support/repositories.ts'
import { relPath, sha256, type RelPath } from '../../core/identity.ts'
import { NO_RELEASE_FIELDS } from '../../core/release-fields.ts'
import { createSecretBox } from '../../lib/secret-box.ts'
import { createKeyring } from '../../signing/keyring.ts'
import type { Signer } from '../../signing/signer.ts'
import type { PublishedEntry } from '../tree.ts'
import type { ApkFacts } from './facts.ts'
import { apkTree } from './tree.ts'

const DISTRIBUTION = { ...getDistribution('alpine3.20'), archs: ['x86_64'] }
const INDEX = relPath('main/x86_64/APKINDEX')
const DEFLATED = relPath('main/x86_64/APKINDEX.deflate')
const ARCHIVE = relPath('main/x86_64/APKINDEX.tar.gz')

const hex = (algorithm: string, text: string): string => createHash(algorithm).update(text).digest('hex')
const blob = {
  size: 1234,
  sha256: sha256(hex('sha256', 'x')),
  md5: hex('md5', 'x'),
  sha1: hex('sha1', 'x'),
  sha512: hex('sha512', 'x'),
}
const facts: ApkFacts = {
  checksum: 'Q1AAAAAAAAAAAAAAAAAAAAAAAAAAA=',
  description: 'says hello',
  url: 'https://example.test/',
  license: 'MIT',
  origin: 'hello',
  maintainer: 'Jo <jo@example.test>',
  commit: 'abc123',
  built: 1700000000,
  installed: 4096,
  depends: ['so:libc.musl-x86_64.so.1', '!bye'],
  provides: ['cmd:hello=1.0-r0'],
  replaces: ['bye'],
  installIf: ['docs', 'hello=1.0-r0'],
  providerPriority: 10,
  replacesPriority: 5,
}
const entry = (more: Partial<PublishedEntry> = {}): PublishedEntry => ({
  name: 'hello',
  version: '1.0-r0',
  arch: 'noarch',
  sortKey: '',
  source: 'hello',
  blob,
  facts,
  ...more,
})

const [plan] = apkTree.indexes(DISTRIBUTION)
const render = (one: PublishedEntry): string => plan?.render(one, 'x86_64/hello-1.0-r0.apk') ?? ''

let folder: string
let signer: Signer
let keyFolder: string
let rotate: () => Promise<Signer>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'apk-tree-'))
  const layout = layoutOf(join(folder, 'repos'))
  keyFolder = layout.apkKeys
  const keyring = createKeyring({ layout, box: createSecretBox('k'), clock: { now: () => new Date() } })
  rotate = async () => {
    await keyring.generate({ type: 'ed25519Legacy', name: 'Test', email: 'test@example.test', overlapDays: 30 })
    return keyring.signer()
  }
  signer = await rotate()
}, 60_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

/** The tree as the publisher would write it. */
async function write(
  index: string,
  by = signer,
): Promise<{ files: Map<RelPath, Buffer>; read: (path: RelPath) => Promise<Buffer> }> {
  const deflated = deflateRawSync(index, { finishFlush: constants.Z_FULL_FLUSH })
  const files = new Map<RelPath, Buffer>([
    [INDEX, Buffer.from(index)],
    [DEFLATED, deflated],
  ])
  const read = (path: RelPath): Promise<Buffer> => {
    const found = files.get(path)
    return found === undefined ? Promise.reject(new Error(`${path} is not there`)) : Promise.resolve(found)
  }
  const listed = { path: INDEX, size: index.length, sha256: hex('sha256', index) }
  for (const [path, bytes] of await apkTree.root([listed], DISTRIBUTION, {
    signer: by,
    at: new Date(),
    words: NO_RELEASE_FIELDS,
    read,
    isSame: () => false,
  }))
    files.set(path, Buffer.from(bytes as Buffer))
  return { files, read }
}

test('an entry has the lines that apk reads, in the order in which apk index writes them, for the architecture of the index', () => {
  expect(plan).toMatchObject({ id: 'x86_64', arch: 'x86_64', path: INDEX, kinds: ['', '.deflate'], addressed: 'path' })
  expect(render(entry())).toBe(
    [
      'C:Q1AAAAAAAAAAAAAAAAAAAAAAAAAAA=',
      'P:hello',
      'V:1.0-r0',
      'A:x86_64',
      'S:1234',
      'I:4096',
      'T:says hello',
      'U:https://example.test/',
      'L:MIT',
      'o:hello',
      'm:Jo <jo@example.test>',
      't:1700000000',
      'c:abc123',
      'k:10',
      'D:so:libc.musl-x86_64.so.1 !bye',
      'p:cmd:hello=1.0-r0',
      'i:docs hello=1.0-r0',
      'r:bye',
      'q:5',
      '',
      '',
    ].join('\n'),
  )
  const bare = {
    ...facts,
    origin: '',
    maintainer: '',
    commit: '',
    built: 0,
    depends: [],
    provides: [],
    replaces: [],
    installIf: [],
  }
  const { providerPriority: _, replacesPriority: __, ...least } = bare
  expect(render(entry({ facts: least }))).toBe(
    'C:Q1AAAAAAAAAAAAAAAAAAAAAAAAAAA=\nP:hello\nV:1.0-r0\nA:x86_64\nS:1234\nI:4096\nT:says hello\nU:https://example.test/\nL:MIT\n\n',
  )
})

test('packages are fetched from the folder of the index, also those for every architecture', () => {
  expect(apkTree.fileName(DISTRIBUTION, 'x86_64', relPath('hello-1.0-r0.apk'))).toBe('x86_64/hello-1.0-r0.apk')
})

test('the archive is what apk takes: signatures by each key in both kinds, then one member with DESCRIPTION and APKINDEX', async () => {
  const { files, read } = await write(render(entry()))
  expect([...files.keys()]).toEqual([INDEX, DEFLATED, ARCHIVE])
  const index = await readApkIndex(files.get(ARCHIVE) ?? Buffer.alloc(0), keyFolder)
  expect(index).toMatchObject({
    problems: [],
    description: 'Gatehouse alpine3.20',
    packages: [{ P: 'hello', V: '1.0-r0', A: 'x86_64' }],
  })
  expect(index.signatures.map(({ name }) => name.replace(/[0-9a-f]{8}/, 'X'))).toEqual([
    '.SIGN.RSA256.gatehouse-X.rsa.pub',
    '.SIGN.RSA.gatehouse-X.rsa.pub',
  ])
  expect(await apkTree.verifyRoot(read, signer, DISTRIBUTION)).toBe(true)
  expect((await write(render(entry()))).files).toEqual(files)
})

test('openssl verifies both signatures over the second member, and tar reads the archive', async () => {
  const archive = (await write(render(entry()))).files.get(ARCHIVE) ?? Buffer.alloc(0)
  const { signatures, signed } = await readApkIndex(archive, keyFolder)
  await writeFile(join(folder, 'signed'), signed)
  for (const { keyName, hash, body } of signatures) {
    await writeFile(join(folder, 'signature'), body)
    const { stdout } = spawnSync(
      'openssl',
      [
        'dgst',
        `-${hash}`,
        '-verify',
        join(keyFolder, keyName),
        '-signature',
        join(folder, 'signature'),
        join(folder, 'signed'),
      ],
      { encoding: 'utf8' },
    )
    expect(stdout).toBe('Verified OK\n')
  }
  await writeFile(join(folder, 'APKINDEX.tar.gz'), archive)
  const { stdout, stderr } = spawnSync('tar', ['-tzvf', join(folder, 'APKINDEX.tar.gz')], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(stdout).toMatch(/\.SIGN\.RSA256\..*\n.*\.SIGN\.RSA\..*\n.*DESCRIPTION\n.*APKINDEX\n/)
  expect(stdout).toMatch(/^-rw-r--r-- root\/root/)
})

test('an empty distribution has an index too', async () => {
  const { read, files } = await write('')
  expect(await readApkIndex(files.get(ARCHIVE) ?? Buffer.alloc(0), keyFolder)).toMatchObject({
    problems: [],
    packages: [],
  })
  expect(await apkTree.verifyRoot(read, signer, DISTRIBUTION)).toBe(true)
})

describe('a tree that differs from what was signed does not verify', () => {
  test.each([
    ['another plain index', (files: Map<RelPath, Buffer>) => files.set(INDEX, Buffer.from('C:x\n'))],
    [
      'a changed byte in the signed member',
      (files: Map<RelPath, Buffer>) => files.set(ARCHIVE, flip(files.get(ARCHIVE), -30)),
    ],
    [
      'a changed byte in the signatures',
      (files: Map<RelPath, Buffer>) => files.set(ARCHIVE, flip(files.get(ARCHIVE), 700)),
    ],
    ['no signatures', (files: Map<RelPath, Buffer>) => files.set(ARCHIVE, gzipSync(Buffer.from('x')))],
    ['no archive at all', (files: Map<RelPath, Buffer>) => files.set(ARCHIVE, Buffer.alloc(0))],
    [
      'one signature fewer',
      (files: Map<RelPath, Buffer>) => files.set(ARCHIVE, dropSignature(files.get(ARCHIVE) ?? Buffer.alloc(0))),
    ],
  ])('%s', async (_, bend) => {
    const { files, read } = await write(render(entry()))
    bend(files)
    expect(await apkTree.verifyRoot(read, signer, DISTRIBUTION).catch(() => false)).toBe(false)
  })

  test('an index signed before a rotation, until it is signed again by both', async () => {
    const before = await write(render(entry()))
    const after = await rotate()
    expect(await apkTree.verifyRoot(before.read, after, DISTRIBUTION)).toBe(false)
    const { files, read } = await write(render(entry()), after)
    expect(await apkTree.verifyRoot(read, after, DISTRIBUTION)).toBe(true)
    const { signatures, problems } = await readApkIndex(files.get(ARCHIVE) ?? Buffer.alloc(0), keyFolder)
    expect(problems).toEqual([])
    expect(signatures.map(({ hash }) => hash)).toEqual(['sha256', 'sha256', 'sha1', 'sha1'])
    expect(await readFile(join(keyFolder, signatures[0]?.keyName ?? ''), 'utf8')).toContain('PUBLIC KEY')
  }, 60_000)
})

function flip(bytes: Buffer | undefined, at: number): Buffer {
  const copy = Buffer.from(bytes ?? Buffer.alloc(0))
  const index = at < 0 ? copy.length + at : at
  copy[index] = (copy[index] ?? 0) ^ 0x41
  return copy
}

/** The archive with the first of its signatures alone. */
function dropSignature(archive: Buffer): Buffer {
  const tar = gunzipSync(archive)
  const size = parseInt(tar.toString('latin1', 124, 135), 8)
  const first = tar.subarray(0, 512 + Math.ceil(size / 512) * 512)
  const member = archive.indexOf(Buffer.from([0x1f, 0x8b, 0x08]), 10)
  return Buffer.concat([gzipSync(first, { level: 9 }), archive.subarray(member)])
}
