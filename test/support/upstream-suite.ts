import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isRefusal } from '../../server/core/errors.ts'
import { relPath, type RelPath } from '../../server/core/identity.ts'
import { NO_RELEASE_FIELDS } from '../../server/core/release-fields.ts'
import { layoutOf } from './repositories.ts'
import { createSecretBox } from '../../server/lib/secret-box.ts'
import { XZ_FLAGS, xzBlock, xzHeader, xzTail } from '../../server/lib/xz-stream.ts'
import { createKeyring } from '../../server/signing/keyring.ts'
import type { Signer } from '../../server/signing/signer.ts'
import { trustKeys, type TrustedKeys } from '../../server/signing/trusted-keys.ts'
import type { ContractSamples } from '../../server/formats/contract-suite.ts'
import type { Description } from '../../server/core/manifest.ts'
import { withoutEmpty, type Relations } from '../../server/formats/relations.ts'
import type { IndexKind, ListedFile, PublishedEntry, TreeWriter } from '../../server/formats/tree.ts'
import type { UpstreamPackage, UpstreamPlace, UpstreamReader } from '../../server/formats/upstream.ts'

/** What the suite needs beyond the samples of every format. */
export interface UpstreamSamples extends ContractSamples {
  readonly upstream: {
    /** What a client's configuration names, beyond the address. */
    readonly place: Pick<UpstreamPlace, 'suite' | 'components' | 'archs'>
    /** Where clients find a file of the tree, below the address. */
    at(path: RelPath): string
  }
}

type Files = ReadonlyMap<string, Buffer>

const digest = (algorithm: string, bytes: Buffer): string => createHash(algorithm).update(bytes).digest('hex')

async function pack(text: string, kind: IndexKind): Promise<Buffer> {
  const bytes = Buffer.from(text)
  if (kind === '.gz') return gzipSync(bytes)
  if (kind === '') return bytes
  if (kind === '.deflate') return deflateRawSync(bytes, { finishFlush: constants.Z_FULL_FLUSH })
  const block = await xzBlock(bytes)
  return Buffer.concat([xzHeader(XZ_FLAGS), block.data, xzTail(XZ_FLAGS, [block])])
}

/** What every index says of these packages, which is what they say themselves. */
function relationsOf({ depends, conflicts }: Description): Relations {
  return withoutEmpty({ depends, conflicts })
}

/** The packages as a publication names them, and what a reader should find. */
async function enter(
  { format, distribution, identities, build, spool }: UpstreamSamples,
  folder: string,
): Promise<{ readonly entry: PublishedEntry; readonly found: UpstreamPackage; readonly path: string }[]> {
  const served = [...distribution.archs, ...distribution.neutral]
  const all = []
  for (const identity of identities.filter(({ arch }) => served.includes(arch))) {
    const file = await spool(folder, 'one', await build(identity, 'usr/share/marked', 'x'))
    const { about, facts } = await format.inspect(file, new AbortController().signal)
    const { source, source_version, summary, section } = about
    const found: UpstreamPackage = {
      identity,
      path: relPath('x'),
      size: file.blob.size,
      digests: { sha256: file.blob.sha256, sha512: file.blob.sha512 },
      ...{ source, source_version, summary },
      relations: relationsOf(about),
      ...(section === undefined ? {} : { section }),
      notes: {},
    }
    const sortKey = format.versionKey(identity.version)
    const path = format.poolName(identity, source, 'main')
    all.push({ entry: { ...identity, sortKey, source, blob: file.blob, facts }, found, path })
    await file.discard()
  }
  return all.sort((a, b) => (a.entry.name < b.entry.name ? -1 : 1))
}

/** The tree as clients see it, by where they look. */
async function publish(
  { distribution, upstream }: UpstreamSamples,
  writer: TreeWriter,
  { entries, signer }: { readonly entries: Awaited<ReturnType<typeof enter>>; readonly signer: Signer },
): Promise<Files> {
  const tree = new Map<RelPath, Buffer>()
  const listed: ListedFile[] = []
  for (const plan of writer.indexes(distribution)) {
    const own = entries.filter(({ entry }) => [plan.arch, ...distribution.neutral].includes(entry.arch))
    const { head = '', tail = '' } = plan.frame?.(own.length) ?? {}
    const text = own.map(({ entry, path }) =>
      plan.render(entry, writer.fileName(distribution, plan.arch, relPath(path))),
    )
    const plain = Buffer.from(head + text.join('') + tail)
    for (const kind of plan.kinds) {
      const bytes = await pack(plain.toString(), kind)
      const sha256 = digest('sha256', bytes)
      const name = `${plan.addressed === 'name' ? `${sha256}-` : ''}${basename(plan.path)}${kind}`
      const path = relPath(join(dirname(plan.path), name))
      const file = { path, size: bytes.length, sha256 }
      listed.push({ ...file, plain: { size: plain.length, sha256: digest('sha256', plain) } })
      tree.set(path, bytes)
      if (plan.addressed === 'by-hash') tree.set(relPath(join(dirname(path), 'by-hash', 'SHA256', sha256)), bytes)
    }
  }
  const read = (path: RelPath): Promise<Buffer> => Promise.resolve(tree.get(path) ?? Buffer.alloc(0))
  for (const [path, bytes] of await writer.root(listed, distribution, {
    signer,
    at: new Date(),
    words: NO_RELEASE_FIELDS,
    read,
    isSame: () => false,
  }))
    tree.set(path, Buffer.from(bytes as Buffer))
  return new Map([...tree].map(([path, bytes]) => [upstream.at(path), bytes]))
}

/**
 * Tests that what the format's tree says, its reader of upstreams reads, and that it refuses every byte that somebody
 * changed on the way. Test-only.
 */
export function testUpstreamContract(samples: UpstreamSamples): void {
  const { format, distribution, upstream } = samples
  describe(`the contract of an upstream: ${format.label}`, () => {
    let folder: string
    let files: Files
    let entries: Awaited<ReturnType<typeof enter>>
    let keys: TrustedKeys
    let asked: string[] = []
    const writer = format.tree as TreeWriter
    const reader = format.upstream as UpstreamReader

    const read = async (tree: Files, more: Partial<UpstreamPlace> = {}): Promise<UpstreamPackage[]> => {
      const fetch: UpstreamPlace['fetch'] = path => {
        const bytes = tree.get(path)
        if (bytes !== undefined) asked.push(path)
        return Promise.resolve(
          bytes === undefined
            ? undefined
            : (async function* () {
                for (let at = 0; at < bytes.length; at += 1000)
                  yield await Promise.resolve(bytes.subarray(at, at + 1000))
              })(),
        )
      }
      const opened = await reader.open({ fetch, keys, now: new Date(), ...upstream.place, ...more })
      const found = []
      for await (const entry of opened.entries()) found.push(entry.read())
      return found
    }
    const fault = async (tree: Files, more: Partial<UpstreamPlace> = {}): Promise<unknown> => {
      try {
        return await read(tree, more)
      } catch (error) {
        if (isRefusal(error, 'upstream_refused')) return error.facts.fault
        throw error
      }
    }

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'upstream-'))
      const clock = { now: () => new Date(Date.now() - 60_000) }
      const keyring = createKeyring({ layout: layoutOf(folder), box: createSecretBox('k'), clock })
      await keyring.generate({ type: 'ed25519Legacy', name: 'T', email: 't@example.test', overlapDays: 1 })
      const signer = await keyring.signer()
      entries = await enter(samples, folder)
      files = await publish(samples, writer, { entries, signer })
      const rsa = new Map((await signer.rsaKeys()).map(key => [key.key_name, key.public_key]))
      keys = await trustKeys({ openpgp: [signer.publicKey('armored').toString()], rsa, now: () => new Date() })
      asked = []
      await read(files)
    }, 60_000)
    afterAll(() => rm(folder, { recursive: true, force: true }))

    test('what the tree lists is read back, whole', async () => {
      const found = await read(files)
      expect(entries.length).toBeGreaterThan(2)
      // the first architecture of the distribution is the one that is asked for
      const arch = distribution.archs[0] ?? ''
      const own = entries.filter(({ entry }) => [arch, ...distribution.neutral].includes(entry.arch))
      expect(found.map(one => ({ ...one, identity: { ...one.identity, arch: '' } }))).toEqual(
        own.map(({ found: expected, path }) => ({
          ...expected,
          identity: { ...expected.identity, arch: '' },
          path: writer.fileName(distribution, arch, relPath(path)).replace(`${arch}/Packages`, 'Packages'),
          digests: expect.toSatisfy((digests: UpstreamPackage['digests']) =>
            Object.entries(digests).every(([name, one]) => expected.digests[name as 'sha256'] === one),
          ) as unknown,
          ...(format.neutralSharesAddress === true
            ? { controlSha1: expect.stringMatching(/^[0-9a-f]{40}$/) as unknown }
            : {}),
          relations: expect.objectContaining(expected.relations) as unknown,
          notes: expect.any(Object) as unknown,
        })),
      )
      for (const [at, { entry }] of own.entries()) expect([entry.arch, arch]).toContain(found[at]?.identity.arch)
    })

    // small indexes are proved before they are unpacked, so it is never their packing that complains
    const indexes = (): string[] => [...new Set(asked)].filter(path => /by-hash|primary|APKINDEX/.test(path))

    test('with any byte of an index changed its digest or its signature is wrong', async () => {
      for (const path of indexes()) {
        const bytes = files.get(path) ?? Buffer.alloc(0)
        const isRoot = path.endsWith('APKINDEX.tar.gz') // signatures in front, over all that follows
        for (let at = isRoot ? bytes.length - 100 : 0; at < bytes.length; at += 1 + (bytes.length >> 7)) {
          const changed = Buffer.from(bytes)
          changed[at] = (changed[at] ?? 0) ^ 1
          expect(await fault(new Map([...files, [path, changed]])), `byte ${at} of ${path}`).toBe(
            isRoot ? 'untrusted' : 'wrong_digest',
          )
        }
      }
      expect(indexes()).toHaveLength(1)
    }, 60_000)

    test('with any byte changed it is refused, or read the same', async () => {
      const whole = await read(files)
      for (const path of new Set(asked)) {
        const bytes = files.get(path) ?? Buffer.alloc(0)
        let refusals = 0
        const step = Math.max(1, Math.floor(bytes.length / 60))
        for (let at = 0; at < bytes.length; at += step) {
          const changed = Buffer.from(bytes)
          changed[at] = (changed[at] ?? 0) ^ (1 + (at % 255))
          const said = await fault(new Map([...files, [path, changed]]))
          if (typeof said === 'string') refusals += 1
          else expect(said, `byte ${at} of ${path}`).toEqual(whole)
        }
        expect(refusals, path).toBeGreaterThan(20)
      }
    }, 60_000)

    test('cut off or longer than it was, it is refused', async () => {
      for (const path of new Set(asked)) {
        const bytes = files.get(path) ?? Buffer.alloc(0)
        const changed = [bytes.subarray(0, bytes.length >> 1), Buffer.alloc(0), Buffer.concat([bytes, bytes])]
        const whole = await read(files)
        for (const other of changed.slice(0, path.endsWith('.asc') ? 2 : 3)) {
          const said = await fault(new Map([...files, [path, other]]))
          if (typeof said !== 'string') expect(said, path).toEqual(whole)
        }
        expect(await fault(new Map([...files, [path, changed[0] as Buffer]])), path).toEqual(expect.any(String))
      }
    })

    test('without its files, or signed by an untrusted key, it is refused', async () => {
      const others = await trustKeys({ openpgp: [], rsa: new Map(), now: () => new Date() })
      expect(await fault(files, { keys: others })).toBe('untrusted')
      expect(await fault(new Map())).toBe('missing')
    })
  })
}
