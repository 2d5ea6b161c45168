import { rm } from 'node:fs/promises'
import { getFormat } from '../../formats/index.ts'
import { refuseUpstream } from '../../formats/upstream-files.ts'
import { Malformed } from '../../lib/limited.ts'
import type { NotSigned, SignedBy, TrustedKeys } from '../../signing/trusted-keys.ts'
import type { DownloadOptions, UpstreamFile } from '../reach/download.ts'
import type { Reach } from '../reach/reach.ts'
import type { Source } from '../source.ts'

/**
 * Fetches a package file of a source, trusted: its index is signed, or else the file itself is.
 * @returns the path of the whole file
 * @throws what `download` throws; upstream_refused for a package without a good signature where the index has none
 */
export type FetchPackage = (source: Source, file: UpstreamFile, options: DownloadOptions) => Promise<string>

export function createFetchPackage({
  reach,
  keysFor,
}: {
  readonly reach: Pick<Reach, 'download'>
  readonly keysFor: (source: Pick<Source, 'keys'>) => Promise<TrustedKeys>
}): FetchPackage {
  async function verify({ format, keys }: Source, path: string): Promise<{ readonly by: SignedBy } | NotSigned> {
    const check = getFormat(format).upstream?.verifyPackage
    if (check === undefined) return { why: 'packages of this format carry no signature of their own' }
    try {
      return await check(path, await keysFor({ keys }))
    } catch (error) {
      if (error instanceof Malformed) return { why: error.why }
      throw error
    }
  }

  return async (source, file, options) => {
    const path = await reach.download(source, file, options)
    if (source.signed) return path
    const signed = await verify(source, path)
    if (!('why' in signed)) return path
    // the bytes are what the index named, so fetching them again would change nothing
    await rm(path, { force: true })
    return refuseUpstream(file.path, signed.isAhead === true ? 'not_yet_valid' : 'untrusted', signed.why)
  }
}
