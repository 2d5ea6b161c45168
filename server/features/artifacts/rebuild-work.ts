import type { Rebuild, Rebuilt } from '../../catalog/rebuild.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Audit } from '../../record/audit.ts'
import { stepsOf } from '../../work/steps.ts'

export const REBUILD = 'index-rebuild'

export interface RebuildRequest {
  /** Counts what this one sees; all of it is rebuilt. */
  readonly viewer: Viewer
  readonly ip: string
}

/** The database made again from the manifests, as a job. Cut short, the next one or the next start finishes it. */
export const rebuildWork = (
  rebuild: Rebuild,
  audit: Pick<Audit, 'record'>,
): WorkKind<RebuildRequest, never, Omit<Rebuilt, 'broken'> & { readonly unreadable: number }> => ({
  kind: REBUILD,
  name: 'Make the database again from the manifests',
  see: 'maintainer+',
  cancel: 'maintainer+',
  run: async (run, { viewer, ip }) => {
    const steps = stepsOf(run)
    const { broken, manifests, added, changed, removed } = await rebuild(viewer, steps.told)
    await steps.settled()
    const counts = { manifests, added, changed, removed, unreadable: broken.length }
    await audit.record({
      action: 'SYNC_INDEX',
      result: broken.length === 0 ? 'SUCCESS' : 'WARNING',
      user: run.by,
      ip,
      facts: { kind: 'index.rebuilt', ...counts },
    })
    return counts
  },
})
