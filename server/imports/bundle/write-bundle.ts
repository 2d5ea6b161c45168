import { createHash } from 'node:crypto'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fsyncFolder } from '../../lib/atomic.ts'
import { piecesOf } from '../../lib/pieces.ts'
import { padding } from '../../lib/tar-writer.ts'
import type { Signer } from '../../signing/signer.ts'
import { memberHeader } from './members.ts'
import type { BundleManifest, Receipt } from './manifest.ts'
import { packEnd, packHead } from './signed-head.ts'

export interface Packing {
  readonly manifest: BundleManifest
  readonly signer: Signer
  /** Where the bytes of a member lie. */
  readonly pathOf: (sha256: string) => string
  readonly to: string
  readonly signal: AbortSignal
  /** Called with the bytes of members so far. */
  readonly told: (bytes: number) => Promise<void>
}

/** A file that is not what the database says of it: the bundle would be refused there. */
export class DamagedMember extends Error {
  readonly sha256: string
  constructor(sha256: string) {
    super(`the file ${sha256} is damaged or gone`)
    this.name = 'DamagedMember'
    this.sha256 = sha256
  }
}

async function sign(list: string, name: string, value: BundleManifest | Receipt, signer: Signer): Promise<Buffer> {
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`)
  const signature = await signer.detach(bytes)
  return packHead(list, { name, list: bytes, signature, keys: signer.publicKey('armored').toString('utf8') })
}

/** A whole receipt. */
export async function packReceipt(receipt: Receipt, signer: Signer): Promise<Buffer> {
  const head = await sign('receipt.json', receipt.name, receipt, signer)
  return Buffer.concat([head, packEnd(receipt.name, head)])
}

/** The digest of a list, which names a bundle whatever its file is called. */
export const digestOf = (list: Buffer): string => createHash('sha256').update(list).digest('hex')

/**
 * Writes a bundle. It has its name only once it is whole and on the disk; until then it is `<to>.part`, which is
 * removed when something goes wrong. Holds the list and a piece of one member in memory.
 * @returns the size of the file, and the digest of its list
 * @throws DamagedMember, the errors of the disk, and the reason of `signal`
 */
export async function writeBundle(packing: Packing): Promise<{ readonly size: number; readonly sha256: string }> {
  const { manifest, signer, pathOf, to, signal, told } = packing
  const { name, files } = manifest
  const head = await sign('manifest.json', name, manifest, signer)
  const part = `${to}.part`
  await mkdir(dirname(to), { recursive: true, mode: 0o750 })
  await rm(part, { force: true })
  const handle = await open(part, 'wx', 0o640)
  try {
    await handle.writeFile(head)
    let bytes = 0
    for (const { sha256, size } of files) {
      signal.throwIfAborted()
      await handle.writeFile(memberHeader(name, sha256, size))
      const hash = createHash('sha256')
      let left = size
      const found = await stat(pathOf(sha256)).catch(() => undefined)
      if (found?.size !== size) throw new DamagedMember(sha256)
      for await (const piece of piecesOf(pathOf(sha256))) {
        signal.throwIfAborted()
        if ((left -= piece.length) < 0) throw new DamagedMember(sha256)
        hash.update(piece)
        await handle.writeFile(piece)
        await told((bytes += piece.length))
      }
      if (left !== 0 || hash.digest('hex') !== sha256) throw new DamagedMember(sha256)
      await handle.writeFile(padding(size))
    }
    await handle.writeFile(packEnd(name, head))
    await handle.sync()
    await handle.close()
    await rename(part, to)
    await fsyncFolder(dirname(to))
    return { size: (await stat(to)).size, sha256: digestOf(Buffer.from(`${JSON.stringify(manifest)}\n`)) }
  } catch (error) {
    await handle.close().catch(() => undefined) // why it went wrong matters more
    await rm(part, { force: true })
    throw error
  }
}
