import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip } from 'node:zlib'
import { sealAge } from './age.ts'
import { MANIFEST, SIGNATURE, type Member } from './archive-manifest.ts'
import { END, fileHeader, padding } from './tar-writer.ts'

const PIECE = 256 * 1024

/** The bytes of one file, in pieces. A piece is used up before the next one is asked for. @throws where it changed */
async function* piecesOf(path: string, size: number): AsyncGenerator<Buffer> {
  if (size <= PIECE) {
    const bytes = await readFile(path)
    if (bytes.length !== size) throw new Error(`${path} changed while it was read`)
    return yield bytes
  }
  const handle = await open(path)
  try {
    for (let at = 0; at < size;) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE, size - at))
      const { bytesRead } = await handle.read(piece, 0, piece.length, at)
      if (bytesRead === 0) throw new Error(`${path} changed while it was read`)
      yield piece.subarray(0, bytesRead)
      at += bytesRead
    }
  } finally {
    await handle.close()
  }
}

/** Joins small pieces: each one that goes on costs several turns. */
async function* inLargePieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let size = 0
  for await (const piece of pieces) {
    waiting.push(piece)
    size += piece.length
    if (size < PIECE) continue
    yield waiting.length === 1 ? piece : Buffer.concat(waiting, size)
    waiting = []
    size = 0
  }
  yield Buffer.concat(waiting, size)
}

export interface Packing {
  /** The folder that becomes the archive. */
  readonly folder: string
  /** Its files, relative. */
  readonly paths: readonly string[]
  /** The archive's one folder. */
  readonly name: string
  readonly to: string
  /** Empty: the archive is not encrypted. */
  readonly passphrase: string
  readonly signal: AbortSignal
  /** The last members, from what the others are. The second one is its signature, where there is a key. */
  readonly conclude: (members: readonly Member[]) => Promise<readonly [string, string | undefined]>
  /** Called after each member with the bytes so far. */
  readonly told: (files: number, bytes: number) => void
}

async function* tarOf({ folder, paths, name, signal, conclude, told }: Packing): AsyncGenerator<Buffer> {
  const members: Member[] = []
  let bytes = 0
  for (const path of paths) {
    signal.throwIfAborted()
    const from = join(folder, path)
    const { size } = await stat(from)
    const hash = createHash('sha256')
    yield fileHeader(`${name}/${path}`, size)
    for await (const piece of piecesOf(from, size)) {
      hash.update(piece)
      yield piece
    }
    yield padding(size)
    members.push({ path, size, sha256: hash.digest('hex') })
    told(members.length, (bytes += size))
  }
  const [manifest, signature] = await conclude(members)
  for (const [path, text] of [
    [MANIFEST, manifest],
    [SIGNATURE, signature],
  ] as const) {
    if (text === undefined) continue
    const body = Buffer.from(text)
    yield fileHeader(`${name}/${path}`, body.length)
    yield body
    yield padding(body.length)
  }
  yield END
}

/**
 * Writes an archive: tar in gzip, whose members are stored, since packages are compressed already. It is on the disk
 * when this resolves. @throws the errors of the disk, and the reason of `signal`; then `to` is there in part
 */
export async function writeArchive(packing: Packing): Promise<void> {
  const { to, passphrase, signal } = packing
  const gzip = createGzip({ level: constants.Z_NO_COMPRESSION, chunkSize: PIECE })
  const zipped = pipeline(inLargePieces(tarOf(packing)), gzip, { signal })
  const body = passphrase === '' ? gzip : sealAge(gzip as AsyncIterable<Buffer>, { passphrase })
  const written = pipeline(body, createWriteStream(to, { mode: 0o600, flags: 'wx' }), { signal })
  const ends = await Promise.allSettled([zipped, written])
  const failed = ends.find(end => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason as Error
  const handle = await open(to, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
