import {
  countArtifacts,
  countBlobs,
  countFindings,
  countNotLooked,
  countStates,
  listGroups,
  uploadsPerDay,
  type Group,
} from '../../catalog/queries/counts.ts'
import type { Severity } from '../../core/findings.ts'
import { STATES, type State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import { cachedByViewer, tenthOfTheTime } from '../../lib/cached.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Audit, AuditAction, AuditEntry } from '../../record/audit.ts'

/** Acts that every role may see: on packages, not on accounts, keys or settings. */
const SHOWN_ACTIONS: readonly AuditAction[] = [
  'UPLOAD',
  'DELETE',
  'IMPORT',
  'SYNC',
  'SECURITY_DECISION',
  'QUARANTINE',
  'RESCAN',
  'INIT_DISTS',
  'SYNC_INDEX',
]

/** An audit entry without address and chain. */
export type HistoryItem = Pick<
  AuditEntry,
  'timestamp' | 'action' | 'result' | 'user' | 'package' | 'version' | 'distribution' | 'detail' | 'facts'
>

export interface Summary {
  /** In the pool: published and waiting, as `GET /packages/` counts. */
  readonly packages: number
  readonly artifacts: number
  readonly published: number
  readonly pending_reviews: number
  readonly quarantined: number
  readonly rejected: number
  readonly cve_findings: Readonly<Record<Severity | 'total', number>>
  /** Of `packages`: those that no vulnerability engine answered for. */
  readonly not_looked: number
  readonly recent_activity: readonly HistoryItem[]
}

interface Sum {
  readonly packages: number
  readonly published: number
  readonly bytes: number
}
export interface Stats {
  readonly packages: number
  readonly artifacts: number
  readonly by_state: Readonly<Record<State, number>>
  readonly by_distribution: readonly (Sum & { readonly distribution: string })[]
  readonly by_format: readonly (Sum & { readonly format: string })[]
  readonly storage: { readonly blobs: number; readonly bytes: number; readonly size_mb: number }
  readonly uploads_per_day: readonly { readonly day: string; readonly count: number }[]
}

export interface DashboardDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'recent' | 'search'>
  readonly clock: Clock
}

export interface HistoryQuery {
  readonly page: number
  readonly perPage: number
  readonly package?: string
}

export interface Dashboard {
  summary(viewer: Viewer): Promise<Summary>
  stats(viewer: Viewer): Promise<Stats>
  history(
    viewer: Viewer,
    query: HistoryQuery,
  ): Promise<{ readonly items: readonly HistoryItem[]; readonly total: number }>
}

const RECENT = 10
const DAYS = 30

function historyItem({
  timestamp,
  action,
  result,
  user,
  package: name,
  version,
  distribution,
  detail,
  facts,
}: AuditEntry): HistoryItem {
  return {
    timestamp,
    action,
    result,
    user,
    detail,
    ...(name === undefined ? {} : { package: name }),
    ...(version === undefined ? {} : { version }),
    ...(distribution === undefined ? {} : { distribution }),
    ...(facts === undefined ? {} : { facts }),
  }
}

function sumBy<Key extends 'codename' | 'format'>(
  groups: readonly Group[],
  key: Key,
): { readonly of: string; readonly sum: Sum }[] {
  const sums = new Map<string, { packages: number; published: number; bytes: number }>()
  for (const group of groups) {
    const sum = sums.get(group[key]) ?? { packages: 0, published: 0, bytes: 0 }
    sum.packages += group.packages
    sum.published += group.state === 'published' ? group.packages : 0
    sum.bytes += group.bytes
    sums.set(group[key], sum)
  }
  return [...sums].map(([of, sum]) => ({ of, sum }))
}

const inPool = (counts: Readonly<Record<State, number>>): number => counts.published + counts.pending_review

/**
 * The numbers behind the dashboard. Many consoles poll at once: viewers with the same access share an answer. Over
 * 100,000 packages a summary costs 40 ms, the statistics 150 ms.
 */
export function createDashboard({ db, audit, clock }: DashboardDeps): Dashboard {
  const summary = cachedByViewer({
    clock,
    ms: tenthOfTheTime,
    read: async viewer => {
      const [states, findings, artifacts, notLooked] = await Promise.all([
        countStates(db, viewer),
        countFindings(db, viewer),
        countArtifacts(db, viewer),
        countNotLooked(db, viewer),
      ])
      return {
        packages: inPool(states),
        artifacts,
        published: states.published,
        pending_reviews: states.pending_review,
        quarantined: states.quarantined,
        rejected: states.rejected,
        not_looked: notLooked,
        cve_findings: { ...findings, total: Object.values(findings).reduce((a, b) => a + b, 0) },
      }
    },
  })
  const stats = cachedByViewer({
    clock,
    ms: tenthOfTheTime,
    read: async (viewer): Promise<Stats> => {
      const [groups, artifacts, storage, perDay] = await Promise.all([
        listGroups(db, viewer),
        countArtifacts(db, viewer),
        countBlobs(db, viewer),
        uploadsPerDay(db, viewer, { days: DAYS, today: clock.now() }),
      ])
      const byState = Object.fromEntries(
        STATES.map(state => [state, groups.filter(g => g.state === state).reduce((n, g) => n + g.packages, 0)]),
      ) as Record<State, number>
      return {
        packages: inPool(byState),
        artifacts,
        by_state: byState,
        by_distribution: sumBy(groups, 'codename').map(({ of, sum }) => ({ distribution: of, ...sum })),
        by_format: sumBy(groups, 'format').map(({ of, sum }) => ({ format: of, ...sum })),
        storage: { blobs: storage.blobs, bytes: storage.bytes, size_mb: Math.round(storage.bytes / 104_857.6) / 10 },
        uploads_per_day: perDay,
      }
    },
  })
  return {
    summary: async viewer => {
      const [numbers, recent] = await Promise.all([summary(viewer), audit.recent(viewer, SHOWN_ACTIONS, RECENT)])
      return { ...numbers, recent_activity: recent.map(historyItem) }
    },
    stats,
    history: async (viewer, query) => {
      const { items, total } = await audit.search(viewer, { ...query, actions: SHOWN_ACTIONS })
      return { items: items.map(historyItem), total }
    },
  }
}
