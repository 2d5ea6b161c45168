import { addBlob, findBlobIn, type Repository } from '../../../catalog/queries/oci.ts'
import type { Blob } from '../../../core/identity.ts'
import type { Descriptor } from '../../../formats/oci/descriptor.ts'
import type { OciDocument } from '../../../formats/oci/document.ts'
import { refuseUpstream } from '../../../formats/upstream-files.ts'
import { inLanes } from '../../../lib/in-lanes.ts'
import { createKeyedLock } from '../../../lib/keyed-lock.ts'
import { printBytes } from '../../../lib/limited.ts'
import type { OciDeps } from '../deps.ts'
import { createKeepBlob } from '../keep-blob.ts'
import type { FarRepository, OciUpstream } from './upstream.ts'

/** The blobs of manifests that come in. They wait as pushed ones do: a pull that broke off goes on from there. */
export interface Parts {
  /** One blob: what any repository of the registry has is not fetched again. @throws as `OciUpstream.blob` */
  bring(at: FarRepository, part: Descriptor, signal: AbortSignal): Promise<Blob>
  /** Config and layers by their digests, as those are written; without layers that clients fetch from elsewhere. */
  bringAll(at: FarRepository, document: OciDocument, signal: AbortSignal): Promise<ReadonlyMap<string, Blob>>
}

/** Of one image, as docker does. */
const AT_ONCE = 3
/** More than images may unpack to. */
const MOST_BYTES = 32 * 2 ** 30

const repositoryOf = ({ registry, name }: FarRepository): Repository => ({ codename: registry.codename, name })

export function createParts(
  deps: Pick<OciDeps, 'db' | 'catalog' | 'pool' | 'clock' | 'settings'> & { readonly far: Pick<OciUpstream, 'blob'> },
): Parts {
  const { db, catalog, pool, clock, settings, far } = deps
  const keep = createKeepBlob(deps)
  const lock = createKeyedLock()

  /** Gives the repository what another one has. @returns false where that is not to be had any more */
  const share = (repository: Repository, blob: Blob): Promise<boolean> =>
    catalog.holdBlobs([{ blob }], async () => {
      if ((await pool.has(blob.sha256)) !== 'pool') return false
      await addBlob(db, repository, blob, clock.now())
      return true
    })

  const bring: Parts['bring'] = (at, part, signal) => {
    const { codename } = at.registry
    // two images with one base fetch it once
    return lock.run(`${codename} ${part.digest}`, async () => {
      signal.throwIfAborted()
      const repository = repositoryOf(at)
      const known = await findBlobIn(db, codename, part.digest)
      if (known !== undefined && known.size !== part.size)
        refuseUpstream(part.digest, 'wrong_size', `it has ${known.size} bytes, its manifest says ${part.size}`)
      if (known !== undefined && (await share(repository, known))) return known
      const limitBytes = settings.now().validation.max_upload_size_mb * 1024 * 1024
      const file = await far.blob(at, part, { limitBytes, signal })
      try {
        await keep(repository, file)
      } finally {
        await file.discard()
      }
      return file.blob
    })
  }

  return {
    bring,
    async bringAll(at, { config, layers }, signal) {
      const all = [...(config === undefined ? [] : [config]), ...layers.filter(({ urls }) => urls === undefined)]
      const parts = [...new Map(all.map(part => [part.digest, part])).values()]
      const bytes = parts.reduce((sum, { size }) => sum + size, 0)
      if (bytes > MOST_BYTES)
        refuseUpstream(at.name, 'too_large', `its blobs have ${bytes} bytes, the most is ${printBytes(MOST_BYTES)}`)
      const blobs = new Map<string, Blob>()
      await inLanes(AT_ONCE, parts, async part => blobs.set(part.digest, await bring(at, part, signal)))
      // in the order of the manifest
      return new Map(parts.flatMap(({ digest }) => (blobs.has(digest) ? [[digest, blobs.get(digest) as Blob]] : [])))
    },
  }
}
