import type { Job } from '../../core/feature.ts'
import type { OciDeps } from './deps.ts'
import { removeUnnamedBlobs } from '../../catalog/queries/oci.ts'
import type { Uploads } from './uploads.ts'

/** So long a blob may wait for the manifest that names it, and an upload for its next piece. */
const WAIT_MS = 24 * 60 * 60 * 1000

/** Removes blobs that no manifest names and uploads that nobody goes on with, after a day. */
export async function collectBlobs(
  { db, outbox, clock }: Pick<OciDeps, 'db' | 'outbox' | 'clock'>,
  uploads: Pick<Uploads, 'sweep'>,
): Promise<{ readonly removed: number }> {
  const before = new Date(clock.now().getTime() - WAIT_MS)
  await uploads.sweep(before)
  const digests = await db.tx(async tx => {
    const gone = await removeUnnamedBlobs(tx, before)
    // whoever has the same bytes keeps them: the debt looks where they belong
    for (const digest of gone) await outbox.owe(tx, `blob:${digest}`)
    return gone
  })
  outbox.nudge()
  return { removed: digests.length }
}

/** The collection by the clock. */
export const collectJob = (deps: Pick<OciDeps, 'db' | 'outbox' | 'clock'>, uploads: Pick<Uploads, 'sweep'>): Job => ({
  id: 'registry-blobs',
  name: 'Remove blobs of registries that no manifest names',
  when: () => '50 * * * *',
  listed: true,
  run: () => collectBlobs(deps, uploads),
})
