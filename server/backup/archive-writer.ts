import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip } from 'node:zlib'
import tar from 'tar-stream'
import { MANIFEST, SIGNATURE, type Member } from './archive-manifest.ts'

/** 64 MB for scrypt, where age takes 256 by default: a small machine makes backups, too. age reads any up to 22. */
const SCRYPT_WORK_FACTOR = 16

/** Encrypts as `age --passphrase` does. Source: age-encryption.org/v1. */
async function encrypted(plain: Readable, passphrase: string): Promise<Readable> {
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  encrypter.setPassphrase(passphrase)
  encrypter.setScryptWorkFactor(SCRYPT_WORK_FACTOR)
  const sealed = await encrypter.encrypt(Readable.toWeb(plain) as ReadableStream<Uint8Array>)
  return Readable.fromWeb(sealed as Parameters<typeof Readable.fromWeb>[0])
}

/** Adds one file; @returns its digest. @throws Error when it changed meanwhile */
async function add(
  pack: tar.Pack,
  { from, name, size }: { from: string; name: string; size: number },
): Promise<string> {
  const hash = createHash('sha256')
  const digesting = new Transform({
    transform: (chunk: Buffer, _, done) => {
      hash.update(chunk)
      done(null, chunk)
    },
  })
  const entry = pack.entry({ name, size, mode: 0o640, mtime: new Date(0) })
  await pipeline(createReadStream(from, { highWaterMark: 256 * 1024 }), digesting, entry)
  return hash.digest('hex')
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

/**
 * Writes an archive: tar in gzip, whose members are stored, since packages are compressed already. It is on the disk
 * when this resolves. @throws the errors of the disk, and the reason of `signal`; then `to` is there in part
 */
export async function writeArchive(packing: Packing): Promise<void> {
  const { folder, paths, name, to, passphrase, signal, conclude, told } = packing
  const pack = tar.pack()
  const gzip = createGzip({ level: constants.Z_NO_COMPRESSION, chunkSize: 256 * 1024 })
  const zipped = pipeline(pack, gzip, { signal })
  const body = passphrase === '' ? gzip : await encrypted(gzip, passphrase)
  const written = pipeline(body, createWriteStream(to, { mode: 0o600, flags: 'wx' }), { signal })
  const fill = async (): Promise<void> => {
    const members: Member[] = []
    let bytes = 0
    for (const path of paths) {
      signal.throwIfAborted()
      const from = join(folder, path)
      const { size } = await stat(from)
      members.push({ path, size, sha256: await add(pack, { from, name: `${name}/${path}`, size }) })
      told(members.length, (bytes += size))
    }
    const [manifest, signature] = await conclude(members)
    pack.entry({ name: `${name}/${MANIFEST}`, mode: 0o640, mtime: new Date(0) }, manifest)
    if (signature !== undefined)
      pack.entry({ name: `${name}/${SIGNATURE}`, mode: 0o640, mtime: new Date(0) }, signature)
    pack.finalize()
  }
  const filled = fill().catch((error: Error) => {
    pack.destroy(error)
    throw error
  })
  const ends = await Promise.allSettled([filled, zipped, written])
  const failed = ends.find(end => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason as Error
  const handle = await open(to, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
