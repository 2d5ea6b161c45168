import { createHash } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { piecesOf } from '../lib/pieces.ts'
import { sealAge } from './age.ts'
import { MANIFEST, SIGNATURE, type Member } from './archive-manifest.ts'
import { storedGzip } from './stored-gzip.ts'
import { END, fileHeader, padding } from '../lib/tar-writer.ts'

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
    let left = size
    for await (const piece of piecesOf(from)) {
      left -= piece.length
      if (left < 0) break
      hash.update(piece)
      yield piece
    }
    if (left !== 0) throw new Error(`${path} changed while it was read`)
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
  const zipped = storedGzip(tarOf(packing))
  const handle = await open(to, 'wx', 0o600)
  try {
    for await (const piece of passphrase === '' ? zipped : sealAge(zipped, { passphrase })) {
      signal.throwIfAborted()
      await handle.writeFile(piece)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
}
