import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { text as textOf } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import tar from 'tar-stream'
import { lasting } from '../lib/pieces.ts'
import { AGE, openAge } from './age.ts'
import { ABOUT, MANIFEST, SIGNATURE, type About, type ArchiveManifest, type Member } from './archive-manifest.ts'

/** An archive that is not what it must be; in words for whoever restores it. */
export class BadArchive extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.name = 'BadArchive'
  }
}

/** An archive that was read to its end and is whole. */
export interface ReadArchive {
  readonly manifest: ArchiveManifest
  /** The manifest as it was signed. */
  readonly manifestBytes: Buffer
  readonly signature: string | undefined
}

const MAX_MANIFEST = 256 * 2 ** 20

async function decrypted(path: string, passphrase: string): Promise<AsyncIterable<Buffer>> {
  const first = createReadStream(path, { end: AGE.length - 1 })
  let head = ''
  for await (const chunk of first as AsyncIterable<Buffer>) head += chunk.toString('latin1')
  const isEncrypted = head === AGE
  if (isEncrypted && passphrase === '')
    throw new BadArchive('The archive is encrypted. Give the passphrase that was set when it was made.')
  const body = createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>
  if (!isEncrypted) return body
  return openAge(body, { passphrase }).then(lasting, (error: unknown) => {
    throw new BadArchive('The passphrase is not the one that the archive was encrypted with.', error)
  })
}

/** A file that was not there, with its folder. */
export async function openNew(path: string): Promise<FileHandle> {
  await mkdir(dirname(path), { recursive: true, mode: 0o750 })
  return open(path, 'wx', 0o640)
}

/** Whether a path stays in its folder. */
export const isInside = (path: string): boolean =>
  !path.split('/').some(part => part === '' || part === '.' || part === '..' || part.includes('\0'))

/** @throws BadArchive for a path that leaves the folder, or is no plain one */
function insidePath(name: string): string {
  const path = name.slice(name.indexOf('/') + 1)
  if (name.indexOf('/') < 1 || !isInside(path))
    throw new BadArchive(`The archive has a member with the path ${JSON.stringify(name)}, which no backup has.`)
  return path
}

/** @throws BadArchive for one that this release does not read */
export function readManifest(bytes: Buffer): ArchiveManifest {
  let manifest: Partial<ArchiveManifest>
  try {
    manifest = JSON.parse(bytes.toString('utf8')) as Partial<ArchiveManifest>
  } catch (error) {
    throw new BadArchive('The manifest of the archive is no JSON.', error)
  }
  if (manifest.format !== 1)
    throw new BadArchive(
      `The archive has the format ${String(manifest.format)}, and this release reads 1. Restore it with the release that made it, or a newer one.`,
    )
  return manifest as ArchiveManifest
}

function compare(manifest: ArchiveManifest, seen: ReadonlyMap<string, Member>): void {
  for (const { path, size, sha256 } of manifest.files) {
    const member = seen.get(path)
    if (member === undefined) throw new BadArchive(`The archive lacks ${path}, which its manifest names.`)
    if (member.size !== size || member.sha256 !== sha256)
      throw new BadArchive(
        `${path} in the archive is damaged: its SHA-256 is ${member.sha256}, the manifest says ${sha256}.`,
      )
  }
  const named = new Set(manifest.files.map(({ path }) => path))
  for (const path of seen.keys())
    if (!named.has(path)) throw new BadArchive(`The archive has ${path}, which its manifest does not name.`)
}

const MAX_ABOUT = 2 ** 20
const UNTOLD =
  'The archive is of a release that does not write at its beginning what is in it. Prove it instead: that reads all of it.'

/**
 * Reads the beginning of an archive: what it says of itself, not compared with anything yet.
 * @throws BadArchive, and the errors of the disk
 */
export async function readAbout(path: string, passphrase: string, signal: AbortSignal): Promise<About> {
  const extract = tar.extract()
  const enough = new AbortController()
  const both = AbortSignal.any([signal, enough.signal])
  const reading = pipeline(await decrypted(path, passphrase), createGunzip(), extract, { signal: both })
  reading.catch(() => undefined)
  try {
    for await (const entry of extract) {
      if (insidePath(entry.header.name) !== ABOUT) throw new BadArchive(UNTOLD)
      if ((entry.header.size ?? 0) > MAX_ABOUT) throw new BadArchive('What the archive says of itself is too long.')
      return JSON.parse(await textOf(entry)) as About
    }
    throw new BadArchive(UNTOLD)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof BadArchive) throw error
    throw new BadArchive('The archive is damaged or cut short: its beginning cannot be read.', error)
  } finally {
    extract.destroy()
    enough.abort()
  }
}

/**
 * Reads a whole archive and compares each member with the manifest.
 * @param to  where members are written; undefined: they are only read
 * @throws BadArchive, and the errors of the disk; then `to` holds a part
 */
export async function readArchive(
  path: string,
  {
    passphrase,
    to,
    signal,
    told = () => undefined,
  }: {
    readonly passphrase: string
    readonly to?: string
    readonly signal: AbortSignal
    readonly told?: (files: number, bytes: number) => void
  },
): Promise<ReadArchive> {
  const seen = new Map<string, Member>()
  let manifestBytes: Buffer | undefined
  let signature: string | undefined
  let bytes = 0

  async function take(name: string, body: AsyncIterable<Buffer>): Promise<void> {
    const path = insidePath(name)
    if (path === MANIFEST || path === SIGNATURE) {
      const chunks: Buffer[] = []
      let size = 0
      for await (const chunk of body) {
        size += chunk.length
        if (size > MAX_MANIFEST) throw new BadArchive('The manifest of the archive is larger than any backup makes it.')
        chunks.push(chunk)
      }
      if (path === MANIFEST) manifestBytes = Buffer.concat(chunks)
      else signature = Buffer.concat(chunks).toString('utf8')
      return
    }
    if (seen.has(path)) throw new BadArchive(`The archive has ${path} twice.`)
    const hash = createHash('sha256')
    let size = 0
    const file = to === undefined ? undefined : await openNew(join(to, path))
    try {
      for await (const chunk of body) {
        hash.update(chunk)
        size += chunk.length
        await file?.writeFile(chunk)
      }
    } finally {
      await file?.close()
    }
    seen.set(path, { path, size, sha256: hash.digest('hex') })
    told(seen.size, (bytes += size))
  }

  const extract = tar.extract()
  const reading = pipeline(await decrypted(path, passphrase), createGunzip(), extract, { signal })
  reading.catch(() => undefined)
  try {
    for await (const entry of extract) {
      const { name, type } = entry.header
      if (type !== 'file') throw new BadArchive(`The archive has ${JSON.stringify(name)}, which is no plain file.`)
      await take(name, entry as unknown as AsyncIterable<Buffer>)
    }
    await reading
  } catch (error) {
    extract.destroy()
    signal.throwIfAborted()
    if (error instanceof BadArchive) throw error
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EACCES' || code === 'EEXIST') throw error
    throw new BadArchive('The archive is damaged or cut short: it cannot be read to its end.', error)
  }
  if (manifestBytes === undefined)
    throw new BadArchive('The archive has no manifest: it is cut short, or no backup of Gatehouse.')
  const manifest = readManifest(manifestBytes)
  compare(manifest, seen)
  return { manifest, manifestBytes, signature }
}
