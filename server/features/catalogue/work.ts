import { countByCodename } from '../../catalog/queries/counts.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Run, Telling, WorkKind } from '../../core/work.ts'
import type { Db } from '../../db/db.ts'
import type { SyncResult } from '../../imports/catalogue/outcome.ts'
import { CLOCK_SUSPECT, heldSources, suspectClock } from '../../imports/catalogue/source-states.ts'
import type { SyncMany } from '../../imports/catalogue/sync-many.ts'
import type { Source } from '../../imports/source.ts'
import { isClockSuspect, isOfClock } from '../../imports/trust/judge.ts'
import type { Audit } from '../../record/audit.ts'
import { sourcesOf, type TargetDeps } from './targets.ts'

export const SYNC = 'import.sync'

export interface SyncRequest {
  /** `all`, `security`, `daily`, the word of a format, or the key of a source. */
  readonly target: string
  /** Keys of sources of the target that are left out: who asked may not see them. */
  readonly without?: readonly string[]
}

/** The sources that have ended, in their order: a run that goes on later asks the others alone. */
interface Cursor {
  readonly ended: readonly SyncResult[]
}

export interface SyncReport {
  readonly target: string
  readonly sources: readonly SyncResult[]
  readonly failed: number
  readonly added: number
  readonly removed: number
  readonly bytes: number
}

export interface SyncWorkDeps extends TargetDeps {
  readonly db: Db
  readonly sources: () => Promise<readonly Source[]>
  readonly syncMany: SyncMany
  readonly audit: Pick<Audit, 'record'>
}

/** Lines about how far a large source is come after so many entries. */
const TOLD_ENTRIES = 20_000

const counted = (n: number, what: string): string => `${n.toLocaleString('en')} ${what}${n === 1 ? '' : 's'}`
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(bytes < 1e6 ? 2 : 1)} MB`

/** What a job says at the end of a source. */
export function lineOf({ label }: Pick<Source, 'label'>, result: SyncResult): Telling {
  const { state, said, changed, packages, added, removed, bytes, source_id: source } = result
  const data = { source_id: source, state, packages, count: packages }
  if (state !== 'ok') return { level: 'warning', message: `${label}: ${said ?? state}`, data }
  const news = changed ? `${added.toLocaleString('en')} new, ${removed.toLocaleString('en')} gone` : 'unchanged'
  return { level: 'info', message: `${label}: ${counted(packages, 'package')}, ${news}, ${megabytes(bytes)}.`, data }
}

const sum = (results: readonly SyncResult[], of: (one: SyncResult) => number): number =>
  results.reduce((total, one) => total + of(one), 0)

function reportOf(target: string, sources: readonly SyncResult[]): SyncReport {
  return {
    target,
    sources,
    failed: sources.filter(({ state }) => state !== 'ok').length,
    added: sum(sources, one => one.added),
    removed: sum(sources, one => one.removed),
    bytes: sum(sources, one => one.bytes),
  }
}

/** Where many sources of a format complain of dates, the reason is here: says so instead of that they are bad. */
async function blameClock(
  db: Db,
  run: Pick<Run<Cursor>, 'step'>,
  ended: readonly SyncResult[],
  chosen: readonly Source[],
): Promise<readonly SyncResult[]> {
  const formatOf = new Map(chosen.map(({ key, format }) => [key, format]))
  const suspect = new Set<SyncResult>()
  for (const results of Map.groupBy(ended, one => formatOf.get(one.source_id)).values())
    if (isClockSuspect(results.map(({ state }) => state)))
      for (const one of results) if (isOfClock(one)) suspect.add(one)
  if (suspect.size === 0) return ended
  const told = ended.map(one =>
    suspect.has(one) ? { ...one, state: 'clock_suspect' as const, said: CLOCK_SUSPECT } : one,
  )
  await suspectClock(
    db,
    [...suspect].map(one => one.source_id),
  )
  await run.step({ cursor: { ended: told }, say: [{ level: 'error', message: CLOCK_SUSPECT }] })
  return told
}

/** Asks the sources that have not ended in an earlier run. */
async function synchronise(
  { db, syncMany }: SyncWorkDeps,
  run: Run<Cursor>,
  chosen: readonly Source[],
): Promise<readonly SyncResult[]> {
  const ended = [...(run.cursor?.ended ?? [])]
  const rest = chosen.filter(({ key }) => !ended.some(one => one.source_id === key))
  const total = chosen.length
  await run.step({ done: ended.length, total })
  let telling: Promise<unknown> = Promise.resolve()
  await syncMany(rest, {
    signal: run.signal,
    // a run that is no longer ours writes nothing
    within: tx => run.step({}, tx),
    read: ({ label, key }, entries) => {
      if (entries % TOLD_ENTRIES !== 0) return
      const say: Telling[] = [
        {
          level: 'info',
          message: `${label}: ${counted(entries, 'entry').replace('entrys', 'entries')} read.`,
          data: { source_id: key, count: entries },
        },
      ]
      telling = telling.then(() => run.step({ say })).catch(() => undefined) // the signal ends a run that is not ours
    },
    ended: async (source, result) => {
      ended.push(result)
      await telling
      await run.step({ cursor: { ended }, done: ended.length, say: [lineOf(source, result)] })
    },
  })
  return blameClock(db, run, ended, chosen)
}

/** Brings the catalogue up to date. A source that fails is told in the result, and the job goes on. */
export const syncWork = (deps: SyncWorkDeps): WorkKind<SyncRequest, Cursor, SyncReport> => ({
  kind: SYNC,
  name: 'Synchronise import sources',
  see: 'any',
  cancel: 'maintainer+',
  // one source by itself need not wait for all of them
  limit: 4,
  run: async (run, { target, without = [] }) => {
    const { db, sources, audit } = deps
    const inUse = {
      held: await heldSources(db),
      codenames: new Set((await countByCodename(db, ALL_SEEING)).keys()),
    }
    const chosen = sourcesOf(target, await sources(), deps, inUse).filter(({ key }) => !without.includes(key))
    if (chosen.length === 0) {
      const message = 'No source of these is switched on, so nothing was synchronised.'
      await run.step({ total: 0, say: [{ level: 'warning', message }] })
      return reportOf(target, [])
    }
    const report = reportOf(target, await synchronise(deps, run, chosen))
    const failed = report.sources.filter(({ state }) => state !== 'ok').map(one => one.source_id)
    const isSecurity = target === 'security' || target === 'daily'
    const [some, all] = isSecurity ? (['PARTIAL', 'ERROR'] as const) : (['WARNING', 'FAILURE'] as const)
    await audit.record({
      action: isSecurity ? 'SECURITY_SYNC' : 'SYNC',
      result: failed.length === 0 ? 'SUCCESS' : failed.length === report.sources.length ? all : some,
      user: run.by,
      facts: {
        kind: 'sources.synchronised',
        target,
        sources: report.sources.length,
        failed,
        added: report.added,
        removed: report.removed,
      },
    })
    return report
  },
})
