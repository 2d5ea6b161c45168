import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, readFile, realpath, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Value } from '@sinclair/typebox/value'
import { fail } from '../core/errors.ts'
import { MediumView, type MediumFile } from './protocol.ts'

/** Below the folder of sticks: a file for each that was looked at, its MediumView. */
export const CATALOGUES = '.catalogue'

const MOST_BYTES = 1024 ** 2
const MOST_MEDIA = 16

async function findOne(folder: string, name: string): Promise<MediumView | undefined> {
  const file = join(folder, name)
  if ((await stat(file)).size > MOST_BYTES) return undefined
  const view: unknown = JSON.parse(await readFile(file, 'utf8'))
  return Value.Check(MediumView, view) && `${view.id}.json` === name ? view : undefined
}

/**
 * The sticks that are in and were looked at, in the order of their ids. A catalogue that is none is left out.
 * @param folder  where sticks are mounted; undefined where that is nowhere
 */
export async function readMedia(folder: string | undefined): Promise<MediumView[]> {
  if (folder === undefined) return []
  const from = join(folder, CATALOGUES)
  const names = (await readdir(from).catch(() => [])).filter(name => /^[\w-]{1,64}\.json$/.test(name)).sort()
  const all = names.slice(0, MOST_MEDIA).map(name => findOne(from, name).catch(() => undefined))
  return (await Promise.all(all)).filter(one => one !== undefined)
}

/** A file of a stick. */
export interface OnMedium {
  readonly medium: string
  /** Below the stick. */
  readonly path: string
}

export interface FoundOnMedium {
  /** The file itself. */
  readonly real: string
  /** For logs and messages, with the label of the stick: `GATEHOUSE-1:/x.bundle.tar`. */
  readonly name: string
  readonly kind: MediumFile['kind']
  readonly size: number
  readonly medium: MediumView
}

/** One file of a stick that was looked at. @throws medium_not_found, medium_file_not_found, medium_unreadable */
export async function findOnMedium(folder: string | undefined, { medium, path }: OnMedium): Promise<FoundOnMedium> {
  const view = (await readMedia(folder)).find(({ id }) => id === medium) ?? fail('medium_not_found', { medium })
  const { label, files } = view
  const file = files.find(one => one.path === path) ?? fail('medium_file_not_found', { path, medium: label })
  const expected = join(await reading(view, path, () => realpath(view.path)), path)
  const real = await reading(view, path, () => realpath(expected))
  // what was looked at was no link, and lay below no link
  if (real !== expected) fail('medium_file_not_found', { path, medium: label })
  const { size } = await reading(view, path, () => stat(real))
  return { real, name: `${label}:/${path}`, kind: file.kind, size, medium: view }
}

/** What the kernel says of a device that is gone or damaged; it names no path. */
const GONE = new Set(['EIO', 'ENODEV', 'ENXIO', 'ESTALE', 'EUCLEAN', 'EBADMSG'])

function faultOf(error: unknown): NodeJS.ErrnoException | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if ('errno' in at) return at as NodeJS.ErrnoException
  return undefined
}

/** Reads from a stick; that it was pulled out is said as such. @throws medium_unreadable, and what `work` throws */
export async function reading<T>(
  { label, path: folder }: Pick<MediumView, 'label' | 'path'>,
  path: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code = '', path: at = '' } = faultOf(error) ?? {}
    const isThere = at.startsWith(folder)
    if (isThere && code === 'EACCES') return fail('medium_forbidden', { path, medium: label }, error)
    if (GONE.has(code) || (isThere && code === 'ENOENT'))
      return fail('medium_unreadable', { path, medium: label }, error)
    throw error
  }
}

/**
 * Copies a file of a stick to this disk, so that the stick may be pulled out afterwards. A failed copy leaves nothing.
 * @returns its SHA-256 in hex
 * @throws medium_unreadable, storage_full, and the reason of the signal
 */
export async function copyFromMedium(
  { real, medium }: FoundOnMedium,
  to: string,
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash('sha256')
  const hashing = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      hash.update(chunk)
      yield chunk
    }
  }
  await mkdir(dirname(to), { recursive: true })
  try {
    await reading(medium, real.slice(medium.path.length + 1), () =>
      pipeline(createReadStream(real), hashing, createWriteStream(to, { mode: 0o640 }), { signal }),
    )
  } catch (error) {
    await rm(to, { force: true })
    if (['ENOSPC', 'EDQUOT'].includes(faultOf(error)?.code ?? '')) return fail('storage_full', {}, error)
    throw error
  }
  return hash.digest('hex')
}
