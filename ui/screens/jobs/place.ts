import { href } from '../../routes.svelte.ts'
import type { Job } from './words.ts'

/** Where a job is about: the import itself, the sources; for others its log. */
export function placeOf({ kind, job_id: id }: Pick<Job, 'kind' | 'job_id'>): string {
  if (kind === 'import') return href('import', { basket: '1', job: id })
  if (kind === 'import.sync') return href('import', { tab: 'sources' })
  if (kind === 'bundle-make') return href('import', { tab: 'bundles', view: 'make', job: id })
  if (kind === 'bundle-import') return href('import', { tab: 'bundles', view: 'take', job: id })
  if (kind === 'bundle-copy') return href('import', { tab: 'bundles' })
  if (kind === 'security.updates') return href('import', { tab: 'security' })
  if (kind === 'mirror') return href('import', { tab: 'mirror' })
  if (kind === 'adopt') return href('import', { tab: 'adopt' })
  return href('jobs', { log: id })
}
