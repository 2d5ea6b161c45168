import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Jobs, WorkKind } from '../../core/work.ts'
import type { Audit } from '../../record/audit.ts'
import type { Licensing } from '../../settings/licensing.ts'
import type { Settings } from '../../settings/store.ts'
import { retention } from './contract.ts'
import { retentionHandlers, type RetentionRouteDeps } from './handlers.ts'
import { AUDIT, auditWork, VERSIONS, versionsWork } from './work.ts'

export interface RetentionNeeds extends Omit<RetentionRouteDeps, 'jobs' | 'cutsAudit'> {
  readonly audit: Pick<Audit, 'owe' | 'cut'>
  readonly settings: Pick<Settings, 'now'>
  readonly licensing: Pick<Licensing, 'allowed'>
  readonly worker: Jobs
}

/** How many versions stay, and how long the audit log: the rules, their runs, and those of the night. */
export function composeRetention(needs: RetentionNeeds): Feature {
  const { db, catalog, audit, settings, licensing, repositories, worker } = needs
  const cutsAudit = (): boolean => licensing.allowed() === 'all'
  const ask = (kind: string, request: Readonly<Record<string, unknown>>): Promise<unknown> =>
    worker.ask({ kind, request, codenames: 'all', by: 'system' })
  return {
    routes: bind(retention, retentionHandlers, { ...needs, jobs: worker, cutsAudit }),
    work: [
      versionsWork({ db, catalog, repositories: repositories.seenBy(ALL_SEEING) }),
      auditWork({ audit, days: () => settings.now().retention.audit_days }),
    ] as WorkKind[],
    jobs: [
      {
        id: 'version-retention',
        name: 'Remove versions that the retention rules leave behind',
        when: () => '0 2 * * *',
        daily: true,
        run: () => ask(VERSIONS, {}),
      },
      {
        id: 'audit-retention',
        name: 'Remove old files of the audit log',
        when: () => (cutsAudit() ? '0 2 * * *' : undefined),
        daily: true,
        run: async () => {
          if (cutsAudit()) await ask(AUDIT, { accept_broken: false })
        },
      },
    ],
  }
}
