import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import type { Distribution } from '../core/repository.ts'
import { relPath, type Codename } from '../core/identity.ts'
import type { ReleaseFields } from '../core/release-fields.ts'
import type { Layout } from '../files/layout.ts'
import type { Shard } from '../formats/shards.ts'
import { CARRIED, type IndexPlan, type Kind, type ListedFile, type TreeWriter } from '../formats/tree.ts'
import { linkOnce, swapLink } from '../lib/atomic.ts'
import { failpoint } from '../lib/failpoint.ts'
import { XZ_FLAGS, xzHeader, xzTail } from '../lib/xz-stream.ts'
import type { Signer } from '../signing/signer.ts'
import { contentsFile } from './contents.ts'
import type { Pieces } from './indexes.ts'
import type { Joiner, Part } from './joiner.ts'
import type { ForeignIndexes } from './reprepro.ts'
import type { ShardCache } from './shard-cache.ts'
import type { GenerationState } from './state.ts'

export interface GenerationDeps {
  readonly layout: Pick<Layout, 'trees' | 'generation' | 'live' | 'byHash'>
  readonly cache: ShardCache
  readonly joiner: Joiner
  readonly writer: TreeWriter
  /** Writes the indexes below `root` in place of our own writer. */
  readonly foreign?: ((root: string) => ReturnType<ForeignIndexes>) | undefined
}

/** The parts of a generation: the pieces of its indexes, and its file lists. */
export interface Plan {
  readonly distribution: Distribution
  readonly n: number
  readonly at: Date
  readonly pieces: Pieces
  readonly contents: readonly ListedFile[]
  readonly signer: Signer
  readonly words: ReleaseFields
  /** Files of an earlier generation to reuse, in place of pieces and contents. */
  readonly carried?:
    { readonly from: number; readonly files: readonly ListedFile[]; readonly made: GenerationState['made'] } | undefined
  readonly signedBy: string
  /** The live generation, whose unchanged files are linked again. */
  readonly live: Pick<GenerationState, 'n' | 'pieces' | 'files' | 'made' | 'signed_by'> | undefined
}

/** The result of building a generation. */
export interface Built {
  /** The files that the root names. */
  readonly files: readonly ListedFile[]
  /** The files of each index, by its id. */
  readonly made: GenerationState['made']
}

/** The text before and after the entries, compressed so that it can be joined to pieces. */
const PACK: Record<Exclude<Kind, '.xz'>, (text: string) => Buffer> = {
  '': Buffer.from,
  '.gz': text => gzipSync(text),
  '.zst': text => zstdCompressSync(text),
}

async function partsOf(
  cache: ShardCache,
  plan: IndexPlan,
  { shards, kind }: { readonly shards: readonly Shard[]; readonly kind: Kind },
): Promise<Part[]> {
  const cards = await Promise.all(
    shards.map(async ({ digest }) => ({ digest, packed: (await cache.get(digest)).packed[kind] })),
  )
  const parts = cards.map(({ digest, packed }): Part => ({
    id: digest,
    path: cache.path(digest, kind),
    size: packed?.size ?? -1,
  }))
  if (kind === '.xz') {
    const flags = cards[0]?.packed?.xz === undefined ? XZ_FLAGS : Buffer.from(cards[0].packed.xz.flags, 'hex')
    return [
      { id: 'header', bytes: xzHeader(flags) },
      ...parts,
      {
        id: 'tail',
        bytes: xzTail(
          flags,
          cards.flatMap(({ packed }) => packed?.xz?.blocks ?? []),
        ),
      },
    ]
  }
  const { head, tail } = plan.frame?.(shards.reduce((sum, shard) => sum + shard.entries, 0)) ?? { head: '', tail: '' }
  // an empty file is not a gzip or zstd file
  const framed = (text: string): Part[] =>
    text === '' && (kind === '' || parts.length > 0) ? [] : [{ id: `frame ${text}`, bytes: PACK[kind](text) }]
  return [...framed(head), ...parts, ...(tail === '' ? [] : framed(tail))]
}

/** True where a file has no digest in its name, so that older roots find it in a folder by digest. */
const isHashed = ({ path, sha256 }: ListedFile): boolean => !basename(path).startsWith(`${sha256}-`)

/** The by-hash path of a file, for clients with an older root. All generations of the distribution share the folder. */
function sharedPaths(file: ListedFile): readonly string[] {
  const folder = dirname(file.path)
  return isHashed(file) ? [join(folder, 'SHA256', file.sha256), join(folder, 'SHA512', file.sha512)] : [file.path]
}

/** Links a file under its digests in the folder that all generations of the distribution share. */
async function share(
  layout: GenerationDeps['layout'],
  codename: Codename,
  { root, file }: { readonly root: string; readonly file: ListedFile },
): Promise<void> {
  for (const path of sharedPaths(file)) await linkOnce(join(root, file.path), join(layout.byHash(codename), path))
  await pointToShared(layout, codename, { root, files: [file] })
}

/** Has the folders of these files name the shared one. The files of the live generation are in it already. */
async function pointToShared(
  layout: GenerationDeps['layout'],
  codename: Codename,
  { root, files }: { readonly root: string; readonly files: readonly ListedFile[] },
): Promise<void> {
  for (const at of new Set(files.filter(isHashed).map(({ path }) => dirname(path)))) {
    const target = relative(join(layout.generation(codename, 0), at), join(layout.byHash(codename), at))
    await symlink(target, join(root, at, 'by-hash')).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

const digests = (shards: Pieces[string] = []): string => shards.map(({ digest }) => digest).join(' ')

/**
 * Links the files of an index from the live generation if it has the same pieces. @returns undefined when it has not,
 * or its files are gone
 */
async function carryIndex(
  { layout }: Pick<GenerationDeps, 'layout'>,
  { distribution: { codename }, pieces, live }: Plan,
  { plan, root }: { readonly plan: IndexPlan; readonly root: string },
): Promise<readonly ListedFile[] | undefined> {
  const files = live?.made[plan.id]
  if (live === undefined || files?.length !== plan.kinds.length || live.pieces[plan.id] === undefined) return undefined
  if (digests(live.pieces[plan.id]) !== digests(pieces[plan.id])) return undefined
  const folder = layout.generation(codename, live.n)
  try {
    for (const file of files) await linkOnce(join(folder, file.path), join(root, file.path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    for (const file of files) await rm(join(root, file.path), { force: true })
    return undefined
  }
  if (plan.addressed !== 'path') await pointToShared(layout, codename, { root, files })
  return files
}

/** One index in all its forms. */
async function writeIndex(
  { layout, cache, joiner }: GenerationDeps,
  { distribution, pieces, live }: Plan,
  to: { readonly plan: IndexPlan; readonly root: string },
): Promise<ListedFile[]> {
  const { plan, root } = to
  const { codename } = distribution
  const shards = pieces[plan.id] ?? []
  const files: ListedFile[] = []
  await mkdir(dirname(join(root, plan.path)), { recursive: true })
  // roots whose file names contain the digest also name the digest of the unpacked file
  const plain =
    plan.addressed !== 'name'
      ? undefined
      : await joiner.join({
          key: `${codename}/${plan.path}`,
          parts: await partsOf(cache, plan, { shards, kind: '' }),
          sha256Only: true,
        })
  for (const [n, kind] of plan.kinds.entries()) {
    const asked = `${plan.path}${kind}`
    const was = live?.made[plan.id]?.[n]
    const joined = await joiner.join({
      key: `${codename}/${asked}`,
      out: join(root, asked),
      was: was && live && { path: join(layout.generation(codename, live.n), was.path), sha256: was.sha256 },
      parts: await partsOf(cache, plan, { shards, kind }),
    })
    const path = relPath(
      plan.addressed === 'name' ? join(dirname(asked), `${joined.sha256}-${basename(asked)}`) : asked,
    )
    if (path !== asked) await rename(join(root, asked), join(root, path))
    const file: ListedFile = {
      path,
      ...joined,
      ...(plain === undefined ? {} : { plain: { size: plain.size, sha256: plain.sha256 } }),
    }
    files.push(file)
    if (plan.addressed !== 'path') await share(layout, codename, { root, file })
  }
  return files
}

/** Takes in the files that another program wrote: computes their digests and links them by hash. */
async function adopt(
  { layout, joiner }: GenerationDeps,
  { distribution: { codename } }: Plan,
  { root, made }: { readonly root: string; readonly made: readonly Pick<ListedFile, 'path'>[] },
): Promise<ListedFile[]> {
  const files: ListedFile[] = []
  for (const { path } of made) {
    const { size } = await stat(join(root, path))
    const file = {
      path,
      ...(await joiner.join({
        key: `foreign ${codename}/${path}`,
        parts: [{ id: randomUUID(), path: join(root, path), size }],
      })),
    }
    files.push(file)
    await share(layout, codename, { root, file })
  }
  return files
}

/** Links the files of an earlier generation. */
async function carry(
  { layout, writer }: GenerationDeps,
  { distribution }: Plan,
  { root, from, files }: { readonly root: string; readonly from: number; readonly files: readonly ListedFile[] },
): Promise<ListedFile[]> {
  const { codename } = distribution
  const plans = writer.indexes(distribution).filter(({ addressed }) => addressed === 'path')
  const unshared = new Set(plans.flatMap(({ path, kinds }) => kinds.map(kind => `${path}${kind}`)))
  for (const file of files) {
    await linkOnce(join(layout.generation(codename, from), file.path), join(root, file.path))
  }
  await pointToShared(layout, codename, { root, files: files.filter(({ path }) => !unshared.has(path)) })
  return [...files]
}

interface Written {
  readonly root: string
  readonly files: readonly ListedFile[]
  /** Root files linked from the live generation. */
  readonly carried: ReadonlySet<string>
}

/** Writes the root files; links those whose files did not change. @returns the linked ones */
async function writeRoot(
  { layout, writer }: GenerationDeps,
  { distribution, signer, signedBy, at, live, words }: Plan,
  { root, files }: Pick<Written, 'root' | 'files'>,
): Promise<ReadonlySet<string>> {
  const before = new Set(live?.files.map(file => `${file.path} ${file.sha256}`))
  // added and removed files both change the set of names and digests
  const gone = new Set(before)
  for (const file of files) gone.delete(`${file.path} ${file.sha256}`)
  const isSame = (some: readonly ListedFile[]): boolean =>
    live?.signed_by === signedBy &&
    some.length > 0 &&
    some.every(file => before.has(`${file.path} ${file.sha256}`)) &&
    ![...gone].some(one => some.some(file => dirname(one) === dirname(file.path)))
  const lay = async (mayCarry: typeof isSame): Promise<ReadonlySet<string>> => {
    const carried = new Set<string>()
    const made = { signer, at, words, isSame: mayCarry, read: (path: string) => readFile(join(root, path)) }
    for (const [path, bytes] of await writer.root(files, distribution, made)) {
      const to = join(root, path)
      await mkdir(dirname(to), { recursive: true })
      if (bytes === CARRIED) {
        await linkOnce(join(layout.generation(distribution.codename, live?.n ?? 0), path), to)
        carried.add(path)
        continue
      }
      // never over a link: that would write into the live generation
      await rm(to, { force: true })
      await writeFile(to, bytes)
    }
    return carried
  }
  try {
    return await lay(isSame)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return lay(() => false) // the live generation has lost its root
  }
}

/**
 * Checks the folder before clients see it: every listed file is complete, and the root is signed by the active keys.
 */
async function verify(
  { writer }: GenerationDeps,
  { signer, distribution }: Plan,
  { root, files, carried }: Written,
): Promise<void> {
  for (const file of files) {
    const { size } = await stat(join(root, file.path))
    if (size !== file.size) throw new Error(`${file.path} has ${size} bytes, its root says ${file.size}`)
  }
  if (!(await writer.verifyRoot(path => readFile(join(root, path)), signer, distribution, carried)))
    throw new Error('the signatures of the new tree do not verify')
}

/**
 * Builds `<n>.part`, checks it and renames it to `<n>`. Nothing that clients see changes yet. */
export async function buildGeneration(deps: GenerationDeps, plan: Plan): Promise<Built> {
  const { layout, writer } = deps
  const { distribution, contents } = plan
  const folder = layout.generation(distribution.codename, plan.n)
  const root = `${folder}.part`
  // a crash may have left this number; it was never live
  await rm(root, { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true })
  await mkdir(root, { recursive: true })
  const files: ListedFile[] = []
  let indexes: Record<string, readonly ListedFile[]> = {}
  if (plan.carried !== undefined) {
    files.push(...(await carry(deps, plan, { root, ...plan.carried })))
    indexes = { ...plan.carried.made }
  } else if (deps.foreign === undefined)
    for (const index of writer.indexes(distribution)) {
      const to = { plan: index, root }
      const made = (await carryIndex(deps, plan, to)) ?? (await writeIndex(deps, plan, to))
      indexes[index.id] = made
      files.push(...made)
    }
  else files.push(...(await adopt(deps, plan, { root, made: await deps.foreign(root) })))
  for (const file of plan.carried === undefined ? contents : []) {
    await linkOnce(contentsFile(layout, distribution.codename, file.sha256), join(root, file.path))
    await share(layout, distribution.codename, { root, file })
    files.push(file)
  }
  const listed = files.sort((a, b) => (a.path < b.path ? -1 : 1))
  const carried = await writeRoot(deps, plan, { root, files: listed })
  failpoint('publish:before-verify')
  await verify(deps, plan, { root, files: listed, carried })
  failpoint('publish:before-rename')
  await rename(root, folder)
  return { files: listed, made: indexes }
}

/**
 * Makes generation `n` the one that clients see, by one rename of a link. Bytes are not forced to the disk here: a
 * start after a power cut checks the live trees and builds a damaged one again (`publisher.repair`).
 */
export async function goLive(
  layout: Pick<Layout, 'live' | 'generation'>,
  codename: Codename,
  n: number,
): Promise<void> {
  failpoint('publish:before-swap')
  const link_ = layout.live(codename)
  await swapLink(relative(dirname(link_), layout.generation(codename, n)), link_)
  failpoint('publish:after-swap')
}

/** Marks files as replaced: their age counts from now on, and decides when they are removed. */
export async function age(
  layout: Pick<Layout, 'byHash'>,
  codename: Codename,
  { files, at }: { readonly files: readonly ListedFile[]; readonly at: Date },
): Promise<void> {
  for (const path of files.flatMap(file => sharedPaths(file).slice(0, 1))) {
    await utimes(join(layout.byHash(codename), path), at, at).catch(() => undefined) // pruned already, or not shared
  }
}
