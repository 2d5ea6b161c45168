import { Type, type TProperties, type TSchema } from '@sinclair/typebox'
import type { Page } from '../../catalog/page.ts'
import { VERSION_FACTS } from '../../catalog/version-facts.ts'
import { STEP_RESULTS } from '../../catalog/queries/gate-flow.ts'
import { SEVERITIES } from '../../core/findings.ts'
import { STATES } from '../../core/manifest.ts'
import { STEP_NAMES } from '../../core/report.ts'
import { counts, listed, OrNull, Text, Time } from '../../core/schemas.ts'
import { FactsSchema } from '../../record/audit-schema.ts'
import { BreachSchema, DecisionRowSchema } from '../../review/schemas.ts'
import type { ActivityDay } from './activity.ts'
import type { HistoryItem, Summary } from './dashboard.ts'
import type { Enriched } from './enriched.ts'
import type { GateFlow } from './gate-flow.ts'
import type { Stats } from './stats.ts'

const Day = Type.String({ format: 'date' })
const Count = Type.Integer()

const Item = Type.Object({
  timestamp: Time,
  action: Text,
  result: Text,
  user: Text,
  package: Type.Optional(Text),
  version: Type.Optional(Text),
  distribution: Type.Optional(Text),
  detail: Text,
  facts: FactsSchema,
})

const NUMBERS: TProperties = {
  packages: Count,
  artifacts: Count,
  published: Count,
  pending_reviews: Count,
  quarantined: Count,
  rejected: Count,
  not_looked: Count,
  cve_findings: counts([...SEVERITIES, 'total']),
}

export const SummarySchema = Type.Unsafe<Summary>(Type.Object({ ...NUMBERS, recent_activity: Type.Array(Item) }))

const Group = (name: string): TSchema =>
  Type.Array(Type.Object({ [name]: Text, packages: Count, published: Count, bytes: Count }))

const Import = Type.Object({ name: Text, package: Text, version: Text, format: Text, ...VERSION_FACTS })

export const StatsSchema = Type.Unsafe<Stats>(
  Type.Object({
    packages: counts(['total', 'total_size_bytes', 'deps_missing_count', 'imports_today']),
    artifacts: Count,
    by_state: counts(STATES),
    by_distribution: Group('distribution'),
    by_format: Group('format'),
    storage: Type.Object({ blobs: Count, bytes: Count, size_mb: Type.Number() }),
    uploads_per_day: Type.Array(Type.Object({ day: Day, count: Count })),
    activity: Type.Array(Type.Object({ date: Day, imports: Count, failures: Count })),
    counted_since: Day,
    recent_imports: Type.Array(Import),
    alerts: Type.Array(
      Type.Object({
        kind: listed(['overdue', 'waiting', 'not_looked', 'antivirus']),
        level: listed(['error', 'warning', 'info']),
        count: OrNull(Count),
        message: Text,
      }),
    ),
    clamav: Type.Object({
      available: Type.Boolean(),
      enabled: Type.Boolean(),
      set_up: Type.Boolean(),
      daemon_running: Type.Boolean(),
      version: OrNull(Text),
      db_version: OrNull(Text),
      db_date: OrNull(Text),
    }),
    vulnerabilities: Type.Array(
      Type.Object({ severity: listed(SEVERITIES), cves: Count, fixable: Count, exploited: Count }),
    ),
    security_posture: counts(['scanned', 'total', ...SEVERITIES]),
    security_review: Type.Object({
      pending_review: Count,
      blocked: Count,
      quarantined: Count,
      accepted_risk: Count,
      exception: Count,
      upgrade_required: Count,
      expiring_soon: Type.Array(DecisionRowSchema),
      total_decisions: Count,
    }),
  }),
)

export const EnrichedSchema = Type.Unsafe<Enriched>(
  Type.Object({
    generated_at: Time,
    cve_trends: Type.Array(
      Type.Object({
        date: Day,
        total: Count,
        ...Object.fromEntries(SEVERITIES.map((severity): [string, TSchema] => [severity, Count])),
      }),
    ),
    top_packages: Type.Object({
      by_versions: Type.Array(Type.Object({ name: Text, format: Text, versions: Count })),
      by_size: Type.Array(Import),
      recently_added: Type.Array(Import),
    }),
    sla_overdue: Type.Array(BreachSchema),
    distributions: Type.Array(
      Type.Object({
        distribution: Text,
        package_count: Count,
        version_count: Count,
        latest_import: Time,
        cve_totals: counts(SEVERITIES),
      }),
    ),
    summary: Type.Object(NUMBERS),
  }),
)

export const GateFlowSchema = Type.Unsafe<GateFlow>(
  Type.Object({
    days: Count,
    since: Time,
    arrived: Count,
    uploaded: Count,
    imported: Count,
    states: counts(STATES),
    steps: Type.Array(
      Type.Object({
        name: listed(STEP_NAMES),
        ...Object.fromEntries(STEP_RESULTS.map((result): [string, TSchema] => [result, Count])),
      }),
    ),
  }),
)

/** A page of events, and what happened by day. */
export interface History extends Page<HistoryItem> {
  readonly history: readonly ActivityDay[]
  /** Days before this one were not counted: their zeros are none. */
  readonly counted_since: string
  readonly days: number
}

export const HistorySchema = Type.Unsafe<History>(
  Type.Object({
    items: Type.Array(Item),
    total: Count,
    page: Count,
    per_page: Count,
    pages: Count,
    history: Type.Array(
      Type.Object({ date: Day, imports: Count, failures: Count, decisions: Count, cve_scans: Count }),
    ),
    counted_since: Day,
    days: Count,
  }),
)
