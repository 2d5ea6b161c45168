import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startS3, type S3Server } from '../../../test/support/s3-server.ts'
import { keysBelow } from '../../../test/support/target-store-suite.ts'
import { listFiles } from '../../lib/list-files.ts'
import type { ArchiveManifest } from '../archive-manifest.ts'
import { BadArchive } from '../archive-reader.ts'
import type { Cut } from '../cut.ts'
import { createFolderStore } from './folder-store.ts'
import { claimTarget } from './marker.ts'
import { createS3Store } from './s3-store.ts'
import { snapshotSource } from './snapshot-reader.ts'
import { writeSnapshot } from './snapshot-writer.ts'
import { sweepTarget } from './sweep.ts'
import { type TargetStore } from './target-store.ts'

const NEVER = new AbortController().signal
const PASSPHRASE = 'Eleven-blue-herons'
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const pooled = (bytes: Buffer): string => `pool/${sha256(bytes).slice(0, 2)}/${sha256(bytes)}`
const PACKAGES = [randomBytes(100), randomBytes(70_000), randomBytes(9_000_000)]
const SMALL = { 'database/package.copy.zst': Buffer.from('rows'), 'settings.json': Buffer.from('{}') }

let folder: string
let target: string
let server: S3Server
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-snapshots-'))
  server = await startS3()
})
beforeEach(async () => {
  target = await mkdtemp(join(folder, 'target-'))
})
afterEach(() => {
  server.objects.clear()
  server.received = 0
})
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

/** A cut with these files, as the service makes one. */
async function cutOf(name: string, files: Readonly<Record<string, Buffer>>): Promise<Cut> {
  const at = join(folder, `cut-${name}`)
  await rm(at, { recursive: true, force: true })
  for (const [path, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(at, path)), { recursive: true })
    await writeFile(join(at, path), bytes)
  }
  return {
    name,
    folder: at,
    paths: Object.keys(files).sort(),
    sizeBytes: Object.values(files).reduce((sum, { length }) => sum + length, 0),
    packages: 3,
    conclude: async members => [
      JSON.stringify({ format: 1, name, files: members } as Partial<ArchiveManifest>),
      'signed',
    ],
  }
}
const FILES = { ...Object.fromEntries(PACKAGES.map(bytes => [pooled(bytes), bytes])), ...SMALL }
const NAME = 'gatehouse_backup_20261123_043000'
const NEXT = 'gatehouse_backup_20261124_043000'

const write = (store: TargetStore, cut: Cut, passphrase = '') =>
  writeSnapshot(store, cut, { passphrase, signal: NEVER, told: () => Promise.resolve() })
/** What files are: comparing megabytes byte by byte takes seconds. */
const digestsOf = (files: Readonly<Record<string, Buffer>>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([path, bytes]) => [path, sha256(bytes)]))
async function readBack(store: TargetStore, name: string, passphrase = ''): Promise<Record<string, string>> {
  const to = await mkdtemp(join(folder, 'read-'))
  await snapshotSource(store, name).read({ passphrase, to, signal: NEVER })
  const paths = await listFiles(to)
  const files = paths.map(async path => [path.slice(to.length + 1), await readFile(path)] as const)
  return digestsOf(Object.fromEntries(await Promise.all(files)))
}
const whyOf = (store: TargetStore, name: string, passphrase = ''): Promise<string> =>
  readBack(store, name, passphrase).then(
    () => 'read',
    (error: unknown) => (error instanceof BadArchive ? error.message : `no refusal: ${String(error)}`),
  )
const s3 = (): TargetStore => createS3Store({ endpoint: server.endpoint, bucket: server.bucket, ...server.keys }, 'x')

describe.each<[string, () => TargetStore]>([
  ['a directory', () => createFolderStore(target)],
  ['a bucket', s3],
])('a snapshot on %s', (_what, open) => {
  test.each(['', PASSPHRASE])('is read back as it was written, passphrase "%s"', async passphrase => {
    const store = open()
    const made = await write(store, await cutOf(NAME, FILES), passphrase)
    expect(made).toMatchObject({ size: 9_070_106, encrypted: passphrase !== '' })
    expect(await readBack(store, NAME, passphrase)).toEqual(digestsOf(FILES))
    expect(await snapshotSource(store, NAME).sizeBytes(passphrase)).toBe(9_070_106)
  })

  test.each(['', PASSPHRASE])('costs what changed, passphrase "%s"', async passphrase => {
    const store = open()
    const first = await write(store, await cutOf(NAME, FILES), passphrase)
    const more = randomBytes(5_000)
    server.received = 0
    const files = { ...FILES, [pooled(more)]: more, 'database/package.copy.zst': Buffer.from('other rows') }
    const second = await write(store, await cutOf(NEXT, files), passphrase)
    expect(first.written).toBeGreaterThan(9_070_106)
    // the package, the rows, and the list of six files
    expect([second.written > 5_010, second.written < 5_010 + 2_000]).toEqual([true, true])
    if (store.address.startsWith('http')) expect(server.received).toBe(second.written)
    expect(await readBack(store, NAME, passphrase)).toEqual(digestsOf(FILES))
    expect(await readBack(store, NEXT, passphrase)).toEqual(digestsOf(files))
  })

  test('with a passphrase tells nothing by its names and bytes, and needs that passphrase', async () => {
    const store = open()
    await write(store, await cutOf(NAME, FILES), PASSPHRASE)
    const keys = await keysBelow(store, '')
    expect(keys).toHaveLength(Object.keys(FILES).length + 2)
    for (const bytes of Object.values(FILES)) expect(keys.join('\n')).not.toContain(sha256(bytes))
    expect(await whyOf(store, NAME, 'other')).toBe(`The passphrase is not the one that ${NAME} was encrypted with.`)
    expect(await whyOf(store, NAME)).toContain('is encrypted. Give the passphrase')
    expect(await whyOf(store, NEXT, PASSPHRASE)).toContain(`There is no ${NEXT} on ${store.address}; the newest`)
  })

  test('with a new passphrase stands beside those of the one before', async () => {
    const store = open()
    await write(store, await cutOf(NAME, FILES), PASSPHRASE)
    await write(store, await cutOf(NEXT, FILES), 'Twelve-red-herons')
    expect(await readBack(store, NAME, PASSPHRASE)).toEqual(digestsOf(FILES))
    expect(await readBack(store, NEXT, 'Twelve-red-herons')).toEqual(digestsOf(FILES))
    await sweepTarget(store, 'Twelve-red-herons', NEVER)
    expect(await readBack(store, NAME, PASSPHRASE)).toEqual(digestsOf(FILES))
  })
})

describe('a damaged target', () => {
  const blob = (bytes: Buffer): string => join(target, 'blobs', sha256(bytes).slice(0, 2), sha256(bytes))
  const MIDDLE = PACKAGES[1] ?? Buffer.alloc(0)
  const LIST = (): string => join(target, 'snapshots', `${NAME}.json.gz`)
  const flipped = async (path: string): Promise<void> => {
    const bytes = await readFile(path)
    const at = Math.floor(bytes.length / 2)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    await writeFile(path, bytes)
  }

  test.each<[string, () => Promise<void>, string]>([
    ['a flipped byte', () => flipped(blob(MIDDLE)), `${pooled(MIDDLE)} on the target is damaged: its SHA-256 is`],
    ['a cut blob', () => writeFile(blob(MIDDLE), MIDDLE.subarray(0, 9)), 'is damaged: its SHA-256 is'],
    ['a missing blob', () => rm(blob(MIDDLE)), `The target lacks the blob of ${pooled(MIDDLE)}`],
    ['a flipped byte in the list', () => flipped(LIST()), 'The list of gatehouse_backup_20261123_043000 on the target'],
    ['a cut list', async () => writeFile(LIST(), (await readFile(LIST())).subarray(0, 99)), 'is damaged'],
  ])('with %s is refused with the reason, and a backup after it is whole', async (_what, harm, why) => {
    const store = createFolderStore(target)
    await write(store, await cutOf(NAME, FILES))
    await harm()
    expect(await whyOf(store, NAME)).toContain(why)
    const damaged: string[] = []
    const reading = snapshotSource(store, NAME, { onDamaged: key => damaged.push(key) }).read({
      passphrase: '',
      signal: NEVER,
    })
    await expect(reading).rejects.toThrow(BadArchive)
    for (const key of damaged) await store.remove(key, NEVER)
    await write(store, await cutOf(NEXT, FILES))
    expect(await readBack(store, NEXT)).toEqual(digestsOf(FILES))
  })

  test('whose sealed blobs were exchanged is refused', async () => {
    const store = createFolderStore(target)
    await write(store, await cutOf(NAME, FILES), PASSPHRASE)
    const [one = '', two = ''] = (await listFiles(target)).filter(path => path.includes('/sealed-'))
    await writeFile(one, await readFile(two))
    expect(await whyOf(store, NAME, PASSPHRASE)).toContain('is damaged: its SHA-256 is')
    await flipped(two)
    expect(await whyOf(store, NAME, PASSPHRASE)).toMatch(/is damaged: (?:it cannot be decrypted|its SHA-256)/)
  })

  test('whose list was put under the name of another is refused', async () => {
    const store = createFolderStore(target)
    await write(store, await cutOf(NAME, FILES))
    await writeFile(join(target, 'snapshots', `${NEXT}.json.gz`), await readFile(LIST()))
    expect(await whyOf(store, NEXT)).toBe(`The list of ${NEXT} on the target is that of ${NAME}.`)
  })

  test('keeps a package that is damaged here under the digest that it has', async () => {
    const store = createFolderStore(target)
    const rotten = { ...FILES, [pooled(MIDDLE)]: Buffer.from('rotten') }
    await write(store, await cutOf(NAME, rotten))
    expect(await readBack(store, NAME)).toEqual(digestsOf(rotten))
    // one that the target has from before is not read again
    await write(store, await cutOf(NEXT, FILES))
    expect(await readBack(store, NEXT)).toEqual(digestsOf(FILES))
  })
})

describe('a sweep', () => {
  const age = async (): Promise<void> => {
    const old = new Date(Date.now() - 2 * 86_400_000)
    for (const path of await listFiles(target)) await utimes(path, old, old)
  }
  const blobs = async (): Promise<number> => (await keysBelow(createFolderStore(target), 'blobs/')).length

  test('removes blobs that no snapshot names, and never one that is younger than a day', async () => {
    const store = createFolderStore(target)
    await write(store, await cutOf(NAME, FILES))
    await write(store, await cutOf(NEXT, SMALL))
    await store.remove(`snapshots/${NAME}.json.gz`, NEVER)
    expect(await sweepTarget(store, '', NEVER)).toEqual({ blobs: 0, bytes: 0 })
    await age()
    expect(await sweepTarget(store, '', NEVER)).toEqual({ blobs: 3, bytes: 9_070_100 })
    expect(await blobs()).toBe(2)
    expect(await readBack(store, NEXT)).toEqual(digestsOf(SMALL))
  })

  test('removes nothing where a snapshot cannot be read', async () => {
    const store = createFolderStore(target)
    await write(store, await cutOf(NAME, FILES))
    await write(store, await cutOf(NEXT, SMALL))
    await writeFile(join(target, 'snapshots', `${NAME}.json.gz`), 'damaged')
    await age()
    await expect(sweepTarget(store, '', NEVER)).rejects.toThrow(BadArchive)
    expect(await blobs()).toBe(5)
  })

  test('removes the blobs and the key of a passphrase that no snapshot needs any more', async () => {
    const store = createFolderStore(target)
    await write(store, await cutOf(NAME, FILES), PASSPHRASE)
    await write(store, await cutOf(NEXT, SMALL))
    await rm(join(target, 'snapshots', (await readdir(join(target, 'snapshots'))).find(n => n.includes(NAME)) ?? ''))
    await age()
    expect((await sweepTarget(store, '', NEVER)).blobs).toBe(5)
    expect([await keysBelow(store, 'keys/'), (await readdir(target)).sort()]).toEqual([[], ['blobs', 'snapshots']])
  })
})

describe('a target', () => {
  const claim = (installation: string, isKnown = false) =>
    claimTarget(createFolderStore(target), { installation, isKnown, now: new Date(0) }, NEVER)

  test('is that of one installation', async () => {
    await claim('one')
    await claim('one', true)
    await expect(claim('other')).rejects.toThrow('keeps the backups of another installation')
    expect(await readFile(join(target, 'gatehouse-target.json'), 'utf8')).toBe(
      '{"format":1,"installation":"one","made_at":"1970-01-01T00:00:00.000Z"}\n',
    )
  })

  test('without its mark is a disk that is not plugged in, and nothing is written', async () => {
    await expect(claim('one', true)).rejects.toThrow('Is the disk plugged in and mounted?')
    expect(await readdir(target)).toEqual([])
  })

  test('with snapshots of nobody knows whom is left alone', async () => {
    await write(createFolderStore(target), await cutOf(NAME, SMALL))
    await expect(claim('one')).rejects.toThrow('so nobody knows whose')
  })
})
