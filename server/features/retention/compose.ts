import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Jobs, WorkKind } from '../../core/work.ts'
import { getFormat } from '../../formats/index.ts'
import type { Audit } from '../../record/audit.ts'
import type { Licensing } from '../../settings/licensing.ts'
import type { Settings } from '../../settings/store.ts'
import { retention } from './contract.ts'
import { retentionHandlers, type RetentionRouteDeps } from './handlers.ts'
import { AUDIT, auditWork, IMPORTED, importedWork, VERSIONS, versionsWork } from './work.ts'

export interface RetentionNeeds extends Omit<RetentionRouteDeps, 'jobs' | 'cutsAudit' | 'formatOf' | 'importDays'> {
  readonly audit: Pick<Audit, 'owe' | 'cut'>
  readonly settings: Pick<Settings, 'now'>
  readonly licensing: Pick<Licensing, 'allowed'>
  readonly worker: Jobs
}

/** How many versions stay, and how long imported ones and the audit log: rules, runs, and those of the night. */
export function composeRetention(needs: RetentionNeeds): Feature {
  const { db, catalog, audit, settings, licensing, repositories, worker } = needs
  const cutsAudit = (): boolean => licensing.allowed() === 'all'
  const hour = (): string => {
    const { retention_hour: h, retention_minute: m } = settings.now().clock
    return `${m} ${h} * * *`
  }
  const ask = (kind: string, request: Readonly<Record<string, unknown>>): Promise<unknown> =>
    worker.ask({ kind, request, codenames: 'all', by: 'system' })
  const imported = { formatOf: getFormat, importDays: () => settings.now().retention.import_cleanup_days }
  return {
    routes: bind(retention, retentionHandlers, { ...needs, ...imported, jobs: worker, cutsAudit }),
    work: [
      versionsWork({ db, catalog, repositories: repositories.seenBy(ALL_SEEING) }),
      importedWork({ ...needs, ...imported }),
      auditWork({ audit, days: () => settings.now().retention.audit_days }),
    ] as WorkKind[],
    jobs: [
      {
        id: 'version-retention',
        name: 'Remove versions that the retention rules leave behind',
        when: hour,
        daily: true,
        work: { kind: VERSIONS, request: {} },
        run: () => ask(VERSIONS, {}),
      },
      {
        id: 'import-retention',
        name: 'Remove imported versions that nothing needs any longer',
        when: () => (cutsAudit() ? hour() : undefined),
        daily: true,
        work: { kind: IMPORTED, request: {} },
        run: async () => {
          if (cutsAudit()) await ask(IMPORTED, {})
        },
      },
      {
        id: 'audit-retention',
        name: 'Remove old files of the audit log',
        when: () => (cutsAudit() ? hour() : undefined),
        daily: true,
        work: { kind: AUDIT, request: { accept_broken: false } },
        run: async () => {
          if (cutsAudit()) await ask(AUDIT, { accept_broken: false })
        },
      },
    ],
  }
}
