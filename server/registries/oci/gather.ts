import { Readable } from 'node:stream'
import type { Blob } from '../../core/identity.ts'
import { together, type SpooledFile } from '../../files/spool.ts'
import { MAX_DOCUMENT } from '../../formats/oci/document.ts'
import { refuseAs } from './answers.ts'
import type { OciDeps } from './deps.ts'

/** The manifest with its blobs, as files that have arrived. @throws OciRefusal MANIFEST_BLOB_UNKNOWN */
export async function gather(
  { spool, pool }: Pick<OciDeps, 'spool' | 'pool'>,
  { bytes, name, signal }: { readonly bytes: Buffer; readonly name: string; readonly signal: AbortSignal },
  blobs: ReadonlyMap<string, Blob>,
): Promise<SpooledFile> {
  const beside: SpooledFile[] = []
  try {
    for (const [digest, blob] of blobs) {
      const path = await pool.locate(blob.sha256)
      beside.push(await spool.borrow(path, { filename: digest, blob }))
    }
    const main = await spool.receive(Readable.from([bytes]), {
      filename: name,
      limitBytes: MAX_DOCUMENT,
      setting: 'none',
      signal,
    })
    return together(main, beside)
  } catch (error) {
    await Promise.all(beside.map(file => file.discard()))
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return refuseAs(
      404,
      'MANIFEST_BLOB_UNKNOWN',
      'A blob of the manifest was removed meanwhile. Send or ask for it again.',
    )
  }
}
