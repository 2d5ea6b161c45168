import { addBlob, type Repository } from '../../catalog/queries/oci.ts'
import { whereBlobBelongs } from '../../catalog/queries/store.ts'
import type { SpooledFile } from '../../files/spool.ts'
import type { OciDeps } from './deps.ts'

/** Keeps a blob whose bytes have arrived, for the manifest that names it. */
export type KeepBlob = (repository: Repository, file: SpooledFile) => Promise<void>

export const createKeepBlob =
  ({ db, catalog, pool, clock }: Pick<OciDeps, 'db' | 'catalog' | 'pool' | 'clock'>): KeepBlob =>
  (repository, file) =>
    catalog.holdBlobs([file], async () => {
      // bytes that only refused versions have stay out of reach
      const isRefused = (await whereBlobBelongs(db, file.blob.sha256)) === 'quarantine'
      await (isRefused ? pool.quarantine(file) : pool.add(file))
      await addBlob(db, repository, file.blob, clock.now())
    })
