import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../core/errors.ts'
import type { RelPath } from '../../core/identity.ts'
import { getFormat } from '../../formats/index.ts'
import { refuseUpstream } from '../../formats/upstream-files.ts'
import { Malformed } from '../../lib/limited.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { machineFaultOf } from '../../lib/machine-faults.ts'
import type { Source } from '../source.ts'
import { readOn, type Ask, type Mirrors } from './mirrors.ts'
import { openTree } from './tree.ts'

/** A package file as an index promises it. Digests in lower-case hex; at least one of all. */
export interface UpstreamFile {
  readonly path: RelPath
  readonly size: number
  readonly digests: Readonly<Partial<Record<'sha256' | 'sha512', string>>>
  readonly controlSha1?: string | undefined
}

export interface DownloadOptions {
  /** Made where it does not exist. */
  readonly folder: string
  readonly signal: AbortSignal
  /** Bytes that came now; those of an earlier try are not counted. */
  readonly onBytes?: (bytes: number) => void
}

type Place = Pick<Source, 'kind' | 'urls' | 'format'>

/** How often the same server is asked for what it cut off without saying so. */
const SHORTS = 3

/** What a file lies under while it comes. */
function nameOf({ path, digests, controlSha1 }: UpstreamFile): string {
  const name = digests.sha256 ?? digests.sha512 ?? (controlSha1 === undefined ? undefined : `control-${controlSha1}`)
  return name ?? refuseUpstream(path, 'malformed', 'its index has no digest of it')
}

interface Hashed {
  readonly hashes: ReadonlyMap<'sha256' | 'sha512', Hash>
  size: number
}

/** What is there of a file, hashed. One that is too long is removed. */
async function resume(part: string, { size, digests }: UpstreamFile): Promise<Hashed> {
  const names = (['sha256', 'sha512'] as const).filter(name => digests[name] !== undefined)
  const hashed: Hashed = { hashes: new Map(names.map(name => [name, createHash(name)])), size: 0 }
  const there = await stat(part).catch(() => undefined)
  if (there === undefined) return hashed
  if (there.size > size) {
    await rm(part, { force: true })
    return hashed
  }
  for await (const chunk of createReadStream(part)) add(hashed, chunk as Buffer)
  return hashed
}

function add(hashed: Hashed, chunk: Buffer): void {
  hashed.size += chunk.length
  for (const hash of hashed.hashes.values()) hash.update(chunk)
}

/** What is wrong with the bytes; undefined when they are what was promised. */
async function faultOf(path: string, { hashes, size }: Hashed, file: UpstreamFile, format: Place['format']) {
  if (size !== file.size)
    return { fault: 'wrong_size', why: `it has ${size} bytes, its index says ${file.size}` } as const
  for (const [name, hash] of hashes) {
    const actual = hash.digest('hex')
    if (actual !== file.digests[name])
      return {
        fault: 'wrong_digest',
        why: `its ${name.toUpperCase()} is ${actual}, its index says ${file.digests[name] ?? ''}`,
      } as const
  }
  if (hashes.size > 0 || file.controlSha1 === undefined) return undefined
  const actual = await getFormat(format)
    .upstream?.controlSha1?.(path)
    .catch((error: unknown) => (error instanceof Malformed ? error.why : Promise.reject(error as Error)))
  return actual === file.controlSha1
    ? undefined
    : ({ fault: 'wrong_digest', why: 'its control member is not the one that its index names' } as const)
}

/** Appends what comes. Stops behind the promised size: what is longer is wrong, however long it is. */
async function write(
  part: string,
  chunks: AsyncIterable<Buffer>,
  {
    hashed,
    size,
    onBytes,
  }: { readonly hashed: Hashed; readonly size: number; readonly onBytes?: DownloadOptions['onBytes'] },
): Promise<void> {
  const handle = await open(part, 'a', 0o600)
  try {
    for await (const chunk of chunks) {
      await handle.writeFile(chunk)
      add(hashed, chunk)
      onBytes?.(chunk.length)
      if (hashed.size > size) return
    }
  } finally {
    await handle.close()
  }
}

interface Try {
  readonly source: Place
  readonly file: UpstreamFile
  readonly part: string
  readonly options: DownloadOptions
}

/** Makes what fetches package files. */
export function createDownload(
  ask: Ask,
  deps: { readonly treeRoots: () => readonly string[] },
  mirrorsOf: (source: Place) => Mirrors,
): (source: Place, file: UpstreamFile, options: DownloadOptions) => Promise<string> {
  const alone = createKeyedLock()

  /** Continues the part from these servers until it is as long as promised, or nobody gives more. */
  async function pull({ file, part, options }: Try, mirrors: Mirrors, fresh: boolean): Promise<Hashed> {
    const hashed = await resume(part, file)
    const { signal, onBytes } = options
    for (let tried = 0; tried < SHORTS && hashed.size < file.size; tried++) {
      const from = hashed.size
      const asked = { signal, from, fresh }
      const first = await ask(mirrors, file.path, asked)
      if (first === undefined) return refuseUpstream(file.path, 'missing', 'its index names it, and it is not there')
      const chunks = readOn(ask, { mirrors, path: file.path, first, from }, { ...asked, onMirror: () => undefined })
      await write(part, chunks, { hashed, size: file.size, onBytes })
    }
    return hashed
  }

  /** Every server gets a second chance past its caches. @returns what was wrong with the last bytes */
  async function fromMirrors(one: Try): Promise<Awaited<ReturnType<typeof faultOf>>> {
    const mirrors = mirrorsOf(one.source)
    let wrong: Awaited<ReturnType<typeof faultOf>>
    for (const [at] of mirrors.bases.entries()) {
      const bases = [...mirrors.bases.slice(at), ...mirrors.bases.slice(0, at)]
      for (const fresh of [false, true]) {
        const hashed = await pull(one, { ...mirrors, bases }, fresh)
        wrong = await faultOf(one.part, hashed, one.file, one.source.format)
        if (wrong === undefined) return undefined
        await rm(one.part, { force: true })
      }
    }
    return wrong
  }

  async function fromTree({ source, file, part, options: { signal, onBytes } }: Try) {
    const tree = openTree({ roots: deps.treeRoots(), folder: source.urls[0] ?? '' })
    const chunks = await tree.read(file.path, { signal })
    if (chunks === undefined) return refuseUpstream(file.path, 'missing', 'its index names it, and it is not there')
    await rm(part, { force: true })
    const hashed = await resume(part, file)
    await write(part, chunks, { hashed, size: file.size, onBytes })
    return faultOf(part, hashed, file, source.format)
  }

  return (source, file, options) => {
    const whole = join(options.folder, nameOf(file))
    return alone.run(whole, async () => {
      await mkdir(options.folder, { recursive: true })
      const one: Try = { source, file, part: `${whole}.part`, options }
      // whole since before a restart: it is looked at again, like a part
      await rename(whole, one.part).catch(ignoreMissing)
      const wrong = await (source.kind === 'tree' ? fromTree(one) : fromMirrors(one)).catch(async (error: unknown) => {
        if (machineFaultOf(error) !== 'disk_full') throw error
        // a half would only take room from those who make some
        await rm(one.part, { force: true })
        return fail('storage_full', {}, error)
      })
      if (wrong !== undefined) {
        await rm(one.part, { force: true })
        refuseUpstream(file.path, wrong.fault, wrong.why)
      }
      await rename(one.part, whole)
      return whole
    })
  }
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

/** Removes what nobody has continued for a day: halves of packages, and what was read of an index. */
export async function sweepDownloads(folder: string, now: Date): Promise<void> {
  for (const name of await readdir(folder).catch((): string[] => [])) {
    const path = join(folder, name)
    const there = await stat(path).catch(() => undefined)
    if (there !== undefined && now.getTime() - there.mtimeMs > 24 * 3_600_000)
      await rm(path, { recursive: true, force: true })
  }
}
