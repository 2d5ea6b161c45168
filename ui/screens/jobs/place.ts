import { href } from '../../routes.svelte.ts'
import type { Job } from './words.ts'

/** Where a job is about: the import itself, the sources; for others its log. */
export function placeOf({ kind, job_id: id }: Pick<Job, 'kind' | 'job_id'>): string {
  if (kind === 'import') return href('import', { basket: '1', job: id })
  if (kind === 'import.sync') return href('import', { tab: 'sources' })
  if (kind === 'adopt') return href('import', { tab: 'adopt' })
  return href('jobs', { log: id })
}
