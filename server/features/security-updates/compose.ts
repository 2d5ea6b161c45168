import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { WorkKind } from '../../core/work.ts'
import type { Layout } from '../../files/layout.ts'
import { getFormat } from '../../formats/index.ts'
import { heldSources } from '../../imports/catalogue/source-states.ts'
import { SECURITY_UPDATES, type SecurityDeps } from '../../imports/security/run.ts'
import { securityWork } from '../../imports/security/work.ts'
import { space } from '../../lib/disk-space.ts'
import { securityUpdates } from './contract.ts'
import type { SecurityRouteDeps } from './deps.ts'
import { securityHandlers } from './handlers.ts'
import { dailyBy } from '../../settings/daily.ts'

export interface SecurityNeeds
  extends
    Omit<SecurityRouteDeps, 'formatOf' | 'ownBuilds' | 'held' | 'nextRun' | 'worker'>,
    Pick<SecurityDeps, 'clock' | 'planner' | 'notices' | 'audit' | 'worker' | 'syncMany'> {
  readonly layout: Pick<Layout, 'root'>
  readonly nextRun: (id: string) => string | null
}

const JOB = 'security-updates'

/** Security updates of what is published: their routes, their job, and the one of the night. */
export function composeSecurityUpdates(needs: SecurityNeeds): Feature {
  const { db, settings, layout, worker, nextRun } = needs
  const shared = {
    ...needs,
    formatOf: getFormat,
    ownBuilds: () => settings.now().security_updates.own_builds,
    held: () => heldSources(db),
  }
  const work = securityWork({
    ...shared,
    bounds() {
      const { security_updates: own, mirror, disk } = settings.now()
      return { ...own, min_free_disk_gb: Math.max(mirror.min_free_disk_gb, disk.min_free_disk_gb) }
    },
    freeBytes: async () => (await space(layout.root)).freeBytes,
  })
  return {
    routes: bind(securityUpdates, securityHandlers, { ...shared, nextRun: () => nextRun(JOB) }),
    work: [work as WorkKind],
    jobs: [
      {
        id: JOB,
        name: 'Bring security updates',
        ...dailyBy(settings, 'sync'),
        daily: true,
        work: { kind: SECURITY_UPDATES, request: {} },
        run: () =>
          worker.ask({ kind: SECURITY_UPDATES, target: 'security', request: {}, codenames: 'all', by: 'system' }),
      },
    ],
  }
}
