import { Type } from '@sinclair/typebox'
import { SEVERITIES } from '../core/findings.ts'
import { STATES } from '../core/manifest.ts'
import { FindingSchema, NAMED, pagingQuery, Term } from '../catalog/schemas.ts'
import { ArchFilter, counts, DistributionFilter, FormatFilter, listed, OrNull, Text, Time } from '../core/schemas.ts'
import { REVIEW_ORDERS } from '../catalog/queries/reviews.ts'

/** A severity in an answer. */
export const SeverityName = Type.String({ enum: [...SEVERITIES] })
/** A state in an answer. */
export const StateName = Type.String({ enum: [...STATES] })
/** `page`, `per_page`, `pages`, `total`: beside the list, under the name that the contract gives it. */
export const PAGE = { total: Type.Integer(), page: Type.Integer(), per_page: Type.Integer(), pages: Type.Integer() }

const DaysLeft = Type.Union([Type.Integer(), Type.Null()], {
  description: 'A day that has begun counts: 30 days show 30, the last hours 1. 0 and less: it is over.',
})
export const Sla = Type.Object({
  due_at: OrNull(Time),
  days_remaining: DaysLeft,
  breached: Type.Boolean(),
  has_sla: Type.Boolean(),
  expires_at: OrNull(Time),
  remaining_days: DaysLeft,
  expired: Type.Boolean(),
  warning: Type.Boolean(),
})

export const AcceptedFindingSchema = Type.Composite([FindingSchema, Type.Object({ accepted: Type.Boolean() })])

export const ReviewItemSchema = Type.Object({
  ...NAMED,
  package: Text,
  status: StateName,
  cve_status: Text,
  severity: OrNull(SeverityName),
  findings: Type.Integer(),
  open_findings: Type.Integer(),
  counts: counts(SEVERITIES),
  epss: OrNull(Type.Number()),
  kev: Type.Boolean(),
  scanned: Type.Boolean(),
  fixable: Type.Integer(),
  cves: Type.Array(AcceptedFindingSchema),
  since: OrNull(Type.Object({ version: Text, said: Text })),
  reasons: Type.Array(Text),
  held_at: OrNull(Time),
  sla: Sla,
  assigned_to: OrNull(Text),
  uploaded_by: Text,
  source: Text,
  summary: Text,
  sha256: Text,
  size: Type.Integer(),
  created_at: Time,
  updated_at: Time,
})

const AffectedSchema = Type.Object({
  ...NAMED,
  status: StateName,
  component: Text,
  severity: SeverityName,
  fixed_version: OrNull(Text),
  accepted: Type.Boolean(),
  accepted_until: OrNull(Time),
  first_seen: Time,
})

export const VULNERABILITY = {
  id: Text,
  cve_id: Text,
  severity: SeverityName,
  epss: OrNull(Type.Number()),
  kev: Type.Boolean(),
  fixable: Type.Boolean(),
  summary: OrNull(Text),
  aliases: Type.Array(Text),
  detected_by: Type.Array(Text),
  fixed_versions: Type.Array(Text),
  package_count: Type.Integer(),
  published_count: Type.Integer(),
  open_count: Type.Integer(),
  first_seen: Time,
  packages: Type.Array(AffectedSchema),
}

export const DECISION = {
  decision: Text,
  action: Type.String({ enum: ['approve', 'reject'] }),
  justification: Text,
  comment: Text,
  cve: OrNull(Text),
  decided_by: Text,
  decided_at: Time,
  expires_at: OrNull(Time),
  expired: Type.Boolean(),
  due_at: OrNull(Time),
}
export const DecisionSchema = Type.Object(DECISION)
export const DecisionRowSchema = Type.Object({
  ...NAMED,
  ...DECISION,
  id: Type.Integer(),
  package: Text,
  status: Type.String({ enum: ['active', 'expired'] }),
  expires_in_days: OrNull(Type.Integer()),
  target_version: Type.Null(),
  cve_ids: Type.Array(Text),
  assigned_to: OrNull(Text),
  assigned_to_type: OrNull(Type.Literal('user')),
  assigned_at: Type.Null(),
  resolved_at: Type.Null(),
  resolved_by: Type.Null(),
  resolution_note: Type.Null(),
  sla: Sla,
})

/** A waiting package and its deadline. */
export const BreachSchema = Type.Object({
  name: Text,
  version: Text,
  arch: Text,
  distribution: Text,
  severity: SeverityName,
  held_at: Time,
  due_at: Time,
  assigned_to: OrNull(Text),
})

export const PostureSchema = Type.Object({
  generated_at: Time,
  total_packages: Type.Integer(),
  by_status: counts(STATES),
  by_severity: counts([...SEVERITIES, 'none', 'not_looked']),
  findings: counts([...SEVERITIES, 'total', 'open', 'accepted', 'kev', 'fixable']),
  review: Type.Object({
    waiting: Type.Integer(),
    overdue: Type.Integer(),
    due_within_7_days: Type.Integer(),
    unassigned: Type.Integer(),
    oldest_held_at: OrNull(Time),
  }),
  exceptions: Type.Object({ standing: Type.Integer(), ending_within_30_days: Type.Integer() }),
  by_distribution: Type.Array(
    Type.Object({
      distribution: Text,
      packages: Type.Integer(),
      with_findings: Type.Integer(),
      waiting: Type.Integer(),
      worst: OrNull(SeverityName),
      kev: Type.Integer(),
      not_looked: Type.Integer(),
    }),
  ),
  sla_days: Type.Record(Text, Type.Integer()),
  last_scanned_at: OrNull(Time),
})

/** The same version elsewhere. */
export const VARIANTS = Type.Array(Type.Object({ distribution: Text, arch: Text, status: StateName }))

/** A yes or no in a query. */
export const Flag = Type.Optional(Type.Boolean())

/** An unknown one is refused with `unknown_distribution`. */
const CodenameQuery = Type.Optional(Type.String({ minLength: 1, maxLength: 80 }))
/** Where a version lies, in the query or in the body; needed when it lies in more than one place. */
export const Where = { distribution: CodenameQuery, arch: Type.Optional(Type.String({ maxLength: 80 })) }
export const WhereQuery = Type.Object({ ...Where, distribution: DistributionFilter })

/** What review lists can be narrowed to. */
export const REVIEW_QUERY = {
  q: Type.Optional(Term),
  distribution: DistributionFilter,
  format: FormatFilter,
  arch: ArchFilter,
  severity: Type.Optional(listed<string>(['critical', 'high', 'medium', 'low', 'negligible', 'unknown'])),
  kev: Flag,
  fixable: Flag,
  sort: Type.Optional(listed<string>(REVIEW_ORDERS)),
  ...pagingQuery(200),
}
