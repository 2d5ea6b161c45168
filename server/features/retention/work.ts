import type { WorkKind } from '../../core/work.ts'
import type { CutMade } from '../../record/audit-cut.ts'
import type { Audit } from '../../record/audit.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { cleanImported, type ImportedCleaned, type ImportedDeps } from './imported.ts'
import { clean, type Cleaned, type RetentionDeps } from './retention.ts'
import { listRules } from './store.ts'

export const VERSIONS = 'retention'
export const AUDIT = 'audit-retention'
export const IMPORTED = 'import-retention'

export interface VersionsRequest {
  /** One distribution; absent: all that have a rule. */
  readonly codename?: string
  readonly ip?: string
}

/** Removal of the versions that the rules leave behind, one distribution after the other. */
export const versionsWork = (
  deps: RetentionDeps,
): WorkKind<VersionsRequest, readonly Cleaned[], readonly Cleaned[]> => ({
  kind: VERSIONS,
  name: 'Remove versions that the retention rules leave behind',
  see: 'maintainer+',
  cancel: 'maintainer+',
  run: async (run, { codename, ip }) => {
    const rules = codename === undefined ? await listRules(deps.db) : [{ codename }]
    const done: Cleaned[] = [...(run.cursor ?? [])]
    for (const one of rules) {
      if (done.some(earlier => earlier.codename === one.codename)) continue
      const cleaned = await clean(deps, one.codename, {
        dryRun: false,
        by: run.by,
        ...(ip === undefined ? {} : { ip }),
        viewer: ALL_SEEING,
        signal: run.signal,
        removed: ({ name, version, arch }) =>
          run.step({ say: [{ level: 'info', message: `${name} ${version} (${one.codename}, ${arch}) was removed.` }] }),
      })
      done.push(cleaned)
      await run.step({ cursor: done, done: done.length, total: rules.length })
    }
    return done
  },
})

export interface AuditRequest {
  readonly accept_broken: boolean
  readonly ip?: string
}

/** What a run removed of the audit log, and by which rule. */
export interface AuditCleaned extends CutMade {
  readonly days: number
  readonly message: string
}

/** What was done, in a sentence. */
export function cutSentence({ files, lines, last_day: last }: CutMade, days: number): string {
  if (files === 0) return `No file of the audit log is older than ${days} days.`
  return `${files} ${files === 1 ? 'file' : 'files'} of the audit log with ${lines} lines, up to ${last ?? ''}, ${files === 1 ? 'was' : 'were'} removed; its chain still verifies.`
}

/** Removal of old audit files. A run that is cut short is finished by the next. */
export const auditWork = ({
  audit,
  days,
}: {
  readonly audit: Pick<Audit, 'cut'>
  readonly days: () => number
}): WorkKind<AuditRequest, never, AuditCleaned> => ({
  kind: AUDIT,
  name: 'Remove old files of the audit log',
  see: 'auditor+',
  cancel: 'admin',
  run: async (run, { accept_broken: acceptsBroken, ip }) => {
    const kept = days()
    const made = await audit.cut({ days: kept, by: run.by, ip, acceptsBroken, signal: run.signal })
    const message = cutSentence(made, kept)
    await run.step({ say: [{ level: 'info', message }] })
    return { ...made, days: kept, message }
  },
})

export interface ImportedRequest {
  readonly ip?: string
}

/** Removal of imported versions that newer ones took the place of. A run that is cut short is finished by the next. */
export const importedWork = (deps: ImportedDeps): WorkKind<ImportedRequest, never, ImportedCleaned> => ({
  kind: IMPORTED,
  name: 'Remove imported versions that nothing needs any longer',
  see: 'maintainer+',
  cancel: 'maintainer+',
  run: async (run, { ip }) => {
    let done = 0
    const cleaned = await cleanImported(deps, {
      dryRun: false,
      by: run.by,
      ...(ip === undefined ? {} : { ip }),
      signal: run.signal,
      removed: ({ codename, name, version, arch }) =>
        run.step({
          done: ++done,
          say: [{ level: 'info', message: `${name} ${version} (${codename}, ${arch}) was removed.` }],
        }),
    })
    await run.step({ done, total: done, say: [{ level: 'info', message: cleaned.message }] })
    return cleaned
  },
})
