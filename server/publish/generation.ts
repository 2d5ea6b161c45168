import { mkdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Distribution } from '../core/distributions.ts'
import { relPath, type Codename } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import type { Shard } from '../formats/shards.ts'
import type { ListedFile, TreeWriter } from '../formats/tree.ts'
import { linkOnce, swapLink } from '../lib/atomic.ts'
import { failpoint } from '../lib/failpoint.ts'
import { xzHeader, xzTail } from '../lib/xz-stream.ts'
import type { Signer } from '../signing/signer.ts'
import { contentsFile } from './contents.ts'
import type { Joiner, Part } from './joiner.ts'
import type { ShardCache } from './shard-cache.ts'

export interface GenerationDeps {
  readonly layout: Pick<Layout, 'trees' | 'generation' | 'live'>
  readonly cache: ShardCache
  readonly joiner: Joiner
  readonly writer: TreeWriter
}

/** What a generation is made of: pieces by architecture, and the file lists it carries. */
export interface Plan {
  readonly distribution: Distribution
  readonly n: number
  readonly at: Date
  readonly shards: Readonly<Record<string, readonly Shard[]>>
  readonly contents: readonly ListedFile[]
  readonly signer: Signer
}

// CRC64, what the compressor uses (The .xz File Format, 2.1.1.2)
const DEFAULT_FLAGS = Buffer.from([0, 4])
const KINDS = ['', '.gz', '.xz'] as const

async function partsOf(cache: ShardCache, shards: readonly Shard[], kind: typeof KINDS[number]): Promise<Part[]> {
  if (kind === '') return shards.map(({ digest, size }) => ({ id: digest, path: cache.path(digest, 'txt'), size }))
  const cards = await Promise.all(shards.map(async ({ digest }) => {
    const card = await cache.find(digest)
    if (card === undefined) throw new Error(`the piece ${digest} of an index is not in the cache`)
    return { digest, card }
  }))
  if (kind === '.gz') return cards.length === 0 ? [{ id: 'empty', bytes: gzipSync('') }] : cards.map(({ digest, card }) => ({ id: digest, path: cache.path(digest, 'gz'), size: card.gz }))
  const flags = cards[0] === undefined ? DEFAULT_FLAGS : Buffer.from(cards[0].card.xz.flags, 'hex')
  return [
    { id: 'header', bytes: xzHeader(flags) },
    ...cards.map(({ digest, card }) => ({ id: digest, path: cache.path(digest, 'xz'), size: card.xz.size })),
    { id: 'tail', bytes: xzTail(flags, cards.flatMap(({ card }) => card.xz.blocks)) },
  ]
}

const byHash = (path: string): readonly [folder: string, name: string] => [dirname(path), 'by-hash'] as const

/** Links a file under its digests in the folder that all generations of the distribution share. */
async function linkByHash(layout: GenerationDeps['layout'], codename: Codename, { root, file }: { readonly root: string; readonly file: ListedFile }): Promise<void> {
  const shared = join(layout.trees, codename, 'by-hash', dirname(file.path))
  for (const [algorithm, digest] of [['SHA256', file.sha256], ['SHA512', file.sha512]] as const) {
    await linkOnce(join(root, file.path), join(shared, algorithm, digest))
  }
  const link_ = join(root, ...byHash(file.path))
  await symlink(relative(dirname(join(layout.generation(codename, 0), file.path)), shared), link_).catch((error: NodeJS.ErrnoException) => { if (error.code !== 'EEXIST') throw error })
}

async function writeIndexes({ layout, cache, joiner, writer }: GenerationDeps, { distribution, shards }: Plan, root: string): Promise<ListedFile[]> {
  const files: ListedFile[] = []
  for (const { arch, path } of writer.indexes(distribution)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    for (const kind of KINDS) {
      const file = relPath(`${path}${kind}`)
      const joined = await joiner.join({ key: `${distribution.codename}/${file}`, out: join(root, file), parts: await partsOf(cache, shards[arch] ?? [], kind) })
      files.push({ path: file, ...joined })
      await linkByHash(layout, distribution.codename, { root, file: { path: file, ...joined } })
    }
  }
  return files
}

/** Proves the folder before anyone sees it: every listed file is there whole, and the root is signed by the active keys. */
async function verify({ writer }: GenerationDeps, { signer }: Plan, { root, files }: { readonly root: string; readonly files: readonly ListedFile[] }): Promise<void> {
  for (const file of files) {
    const { size } = await stat(join(root, file.path))
    if (size !== file.size) throw new Error(`${file.path} has ${size} bytes, its root says ${file.size}`)
  }
  if (!await writer.verifyRoot(path => readFile(join(root, path), 'utf8'), signer)) throw new Error('the signatures of the new tree do not verify')
}

/**
 * Builds `<n>.part`, proves it and renames it to `<n>`. Nothing that clients see changes yet.
 * @returns what the root names
 */
export async function buildGeneration(deps: GenerationDeps, plan: Plan): Promise<readonly ListedFile[]> {
  const { layout, writer } = deps
  const { distribution, contents, signer, at } = plan
  const folder = layout.generation(distribution.codename, plan.n)
  const root = `${folder}.part`
  // what a crash left of this number was never live
  await rm(root, { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true })
  await mkdir(root, { recursive: true })
  const files = await writeIndexes(deps, plan, root)
  for (const file of contents) {
    await linkOnce(contentsFile(layout, distribution.codename, file.sha256), join(root, file.path))
    await linkByHash(layout, distribution.codename, { root, file })
    files.push(file)
  }
  const listed = files.sort((a, b) => a.path < b.path ? -1 : 1)
  for (const [path, text] of await writer.root(listed, distribution, { signer, at })) await writeFile(join(root, path), text)
  failpoint('publish:before-verify')
  await verify(deps, plan, { root, files: listed })
  failpoint('publish:before-rename')
  await rename(root, folder)
  return listed
}

/**
 * Makes generation `n` the one that clients see, by one rename of a link. Bytes are not forced to the disk here: a start
 * after a power cut proves the live trees and builds a damaged one again (`publisher.repair`).
 */
export async function goLive(layout: Pick<Layout, 'live' | 'generation'>, codename: Codename, n: number): Promise<void> {
  failpoint('publish:before-swap')
  const link_ = layout.live(codename)
  await swapLink(relative(dirname(link_), layout.generation(codename, n)), link_)
  failpoint('publish:after-swap')
}

/** From now on these are files of the past: their age, which decides when they go, begins. */
export async function age(layout: Pick<Layout, 'trees'>, codename: Codename, { files, at }: { readonly files: readonly ListedFile[]; readonly at: Date }): Promise<void> {
  for (const file of files) {
    await utimes(join(layout.trees, codename, 'by-hash', dirname(file.path), 'SHA256', file.sha256), at, at).catch(() => undefined) // pruned already
  }
}

