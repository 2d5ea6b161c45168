import { Type, type TProperties } from '@sinclair/typebox'
import type { Numbers, Page } from '../../catalog/page.ts'
import { NAMED, pageSchema, pagingQuery, Term } from '../../catalog/schemas.ts'
import { SnapshotSchema } from '../../catalog/snapshot.ts'
import type { NamedVersion } from '../../catalog/view.ts'
import { contract } from '../../core/contract.ts'
import type { Severity } from '../../core/findings.ts'
import type { State } from '../../core/manifest.ts'
import { listed, NameVersion, OrNull, Text, Time } from '../../core/schemas.ts'
import type { VersionDecision } from '../../review/version-view.ts'
import type { DecisionRow, DecisionView } from '../../review/history.ts'
import type { ReviewItem } from '../../review/queue.ts'
import {
  BreachSchema,
  DECISION,
  DecisionRowSchema,
  DecisionSchema,
  Flag,
  REVIEW_QUERY,
  PAGE,
  ReviewItemSchema,
  SeverityName,
  Sla,
  StateName,
  VARIANTS,
  Where,
  WhereQuery,
} from '../../review/schemas.ts'
import type { SlaCheck } from '../../review/deadlines.ts'
import type { ManyPreview } from '../../review/bulk/preview.ts'
import { DecideMany, ManyPreviewSchema, PreviewMany, SentSchema } from './many-schemas.ts'
import type { Refused } from './several.ts'

const Word = Type.Optional(Type.String({ maxLength: 100 }))

const WRITE_FAILS = [
  'unknown_distribution',
  'package_not_found',
  'version_not_found',
  'ambiguous_version',
  'not_possible',
  'outside_distribution',
] as const

/** A package that an act may have brought into another state. */
interface MovedView extends NamedVersion {
  readonly previous_status: State
  readonly published: boolean
  /** What clients see of it now. */
  readonly publication: string
  readonly updated_at: string
}
/** A decision with what became of one package. */
export interface DecidedView extends DecisionView, MovedView {
  readonly package: string
  readonly new_status: State
  readonly message: string
  readonly cves: readonly string[]
}
interface QuarantinedView extends MovedView {
  readonly package: string
  readonly message: string
}
/** What a scan of one package found, and what became of it. */
export interface RescannedView extends MovedView {
  readonly cve_scan: string
  readonly said: string
  readonly findings: number
  readonly severity: Severity | null
  readonly new: readonly string[]
  readonly gone: readonly string[]
}

/** What became of the first package, with all of them and those that were refused. */
export type Several<View> = View & { readonly packages: readonly View[]; readonly errors: readonly Refused[] }
export type DecideReply = Several<DecidedView>

const Errors = Type.Array(Type.Object({ distribution: Text, arch: Text, code: Text, error: Text }))
const several = <View>(members: TProperties) =>
  Type.Unsafe<Several<View>>(Type.Object({ ...members, packages: Type.Array(Type.Object(members)), errors: Errors }))
const EVERY = { all: Type.Optional(Type.Boolean()) }
const PlaceQuery = Type.Object({ ...WhereQuery.properties, ...EVERY })
const IN_SEVERAL =
  'A version that lies in several places is refused unless `distribution` and `arch` name one, or `all=true` means each: then `packages` has them all, and `errors` those that were refused.'

/** The packages that wait, and how many are in quarantine. */
export interface ReviewQueue extends Numbers {
  readonly blocked_count: number
  readonly review_count: number
  /** What the console asks of a reason. */
  readonly min_reason_chars: number
  readonly packages: Page<ReviewItem>
}

/** A check of deadlines, also in the words of existing clients. */
export interface SlaReply extends Omit<SlaCheck, 'near'> {
  readonly status: 'ok'
  readonly expired: number
  readonly expiring_soon: number
  readonly notified: boolean
  readonly expired_list: SlaCheck['breaches']
  readonly expiring_list: SlaCheck['near']
}

const Due = Type.Array(BreachSchema)

/** Decisions under both names. */
export interface DecisionPage extends Page<DecisionRow> {
  readonly decisions: readonly DecisionRow[]
  /** How many are in this answer. */
  readonly count: number
}
const DECISIONS_REPLY = Type.Unsafe<DecisionPage>(
  Type.Object({
    items: Type.Array(DecisionRowSchema),
    decisions: Type.Array(DecisionRowSchema),
    count: Type.Integer(),
    ...PAGE,
  }),
)

const MOVED = {
  ...NAMED,
  status: StateName,
  cve_status: Text,
  previous_status: StateName,
  published: Type.Boolean(),
  publication: Text,
  updated_at: Time,
}

/** The review queue and what reviewers do with it. */
export const review = contract({
  'GET /security/review-queue': {
    summary: 'Lists the packages held for review, the most urgent deadline first.',
    access: 'any', // the endpoint table's reading; some forms say auditor+
    query: Type.Object({ ...REVIEW_QUERY, assigned_to: Word, overdue: Flag }),
    details: '`blocked_count` and `review_count` are about all packages, whatever the list is narrowed to.',
    reply: Type.Unsafe<ReviewQueue>(
      Type.Object({
        blocked_count: Type.Integer(),
        review_count: Type.Integer(),
        min_reason_chars: Type.Integer(),
        packages: pageSchema<ReviewItem>(ReviewItemSchema),
        ...PAGE,
      }),
    ),
  },
  'POST /security/review-queue/preview': {
    summary: 'Shows what a decision about many held packages would do, and keeps the selection for an hour.',
    details:
      '`filter` means every package that matches it, on all pages; `packages` names them. The selection keeps each as it was seen: what is changed afterwards is left out. `remarked` ones are published only when `confirmed` has their `key`.',
    access: 'maintainer+',
    scoped: 'distribution',
    body: PreviewMany,
    fails: ['missing_decision', 'bad_decision', 'too_many_selected'],
    reply: Type.Unsafe<ManyPreview>(ManyPreviewSchema),
  },
  'POST /security/review-queue/decide': {
    summary: 'Decides on a selection as one job, which waits first: cancelled before `begins_at`, nothing is decided.',
    details:
      'The reason has at least `review.min_reason_chars` characters. Its log has a line for each package; its result says which were left out, and why.',
    access: 'maintainer+',
    scoped: 'distribution',
    status: 202,
    body: DecideMany,
    fails: [
      'missing_decision',
      'bad_decision',
      'missing_justification',
      'short_justification',
      'bad_expiry',
      'selection_not_found',
      'selection_used',
      'nothing_selected',
    ],
    reply: SentSchema,
  },
  'GET /security/packages/{name}/{version}/decision': {
    summary: 'Shows the decision on a version, its deadline, its acceptances and all earlier decisions.',
    access: 'any',
    params: NameVersion,
    query: WhereQuery,
    fails: ['package_not_found', 'version_not_found', 'unknown_distribution'],
    reply: Type.Unsafe<VersionDecision>(
      Type.Object({
        ...NAMED,
        status: StateName,
        cve_status: Text,
        manifest: SnapshotSchema,
        decision: OrNull(DecisionSchema),
        sla: Sla,
        held_at: OrNull(Time),
        held_for: OrNull(Text),
        assigned_to: OrNull(Text),
        exceptions: Type.Array(DecisionSchema),
        history: Type.Array(DecisionSchema),
        variants: VARIANTS,
      }),
    ),
  },
  'POST /security/packages/{name}/{version}/decide': {
    summary: 'Decides on one version in one distribution, or with `cve` on vulnerabilities of it.',
    details: `\`approve\`, \`accepted\`, \`accept_risk\`, \`exception\` and \`false_positive\` publish; \`reject\` and \`upgrade_required\` do not. ${IN_SEVERAL}`,
    access: 'maintainer+',
    scoped: 'distribution',
    params: NameVersion,
    query: PlaceQuery,
    body: Type.Object({
      ...Where,
      ...EVERY,
      decision: Word,
      action: Word,
      justification: Type.Optional(Type.String({ maxLength: 4_000 })),
      comment: Type.Optional(Type.String({ maxLength: 4_000 })),
      cve: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
      cves: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 500 })),
      expires_at: Type.Optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()])),
      expires_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_650 })),
      seen_at: Type.Optional(Type.String({ format: 'date-time' })),
    }),
    fails: [
      ...WRITE_FAILS,
      'already_decided',
      'four_eyes',
      'finding_not_found',
      'missing_decision',
      'bad_decision',
      'missing_justification',
      'bad_expiry',
    ],
    reply: several<DecidedView>({
      ...MOVED,
      ...DECISION,
      package: Text,
      cves: Type.Array(Text),
      new_status: StateName,
      message: Text,
    }),
  },
  'POST /security/packages/{name}/{version}/assign': {
    summary: 'Assigns a held version to a maintainer or admin; without a name to nobody.',
    access: 'maintainer+',
    scoped: 'distribution',
    params: NameVersion,
    query: WhereQuery,
    body: Type.Object({
      ...Where,
      assignee: Type.Optional(OrNull(Type.String({ maxLength: 200 }))),
      assigned_to: Type.Optional(OrNull(Type.String({ maxLength: 200 }))),
    }),
    fails: [...WRITE_FAILS, 'bad_assignee'],
    reply: Type.Object({ ...NAMED, status: StateName, cve_status: Text, assigned_to: OrNull(Text), updated_at: Time }),
  },
  'POST /security/packages/{name}/{version}/quarantine': {
    summary: 'Quarantines one version in one distribution at once.',
    details: IN_SEVERAL,
    access: 'maintainer+',
    scoped: 'distribution',
    params: NameVersion,
    query: PlaceQuery,
    body: Type.Object({
      ...Where,
      ...EVERY,
      reason: Type.Optional(Type.String({ maxLength: 4_000 })),
      justification: Type.Optional(Type.String({ maxLength: 4_000 })),
      comment: Type.Optional(Type.String({ maxLength: 4_000 })),
    }),
    fails: WRITE_FAILS,
    reply: several<QuarantinedView>({ ...MOVED, package: Text, message: Text }),
  },
  'POST /security/packages/{name}/{version}/rescan': {
    summary: 'Rescans one version with the current vulnerability data and applies the policy again.',
    details: IN_SEVERAL,
    access: 'maintainer+',
    scoped: 'distribution',
    params: NameVersion,
    query: PlaceQuery,
    body: Type.Object({ ...Where, ...EVERY }),
    fails: WRITE_FAILS,
    reply: several<RescannedView>({
      ...MOVED,
      cve_scan: Text,
      said: Text,
      findings: Type.Integer(),
      severity: OrNull(SeverityName),
      new: Type.Array(Text),
      gone: Type.Array(Text),
    }),
  },
  'POST /security/check-sla': {
    summary: 'Notifies about every missed deadline that was not notified before.',
    access: 'admin',
    reply: Type.Unsafe<SlaReply>(
      Type.Object({
        status: Type.Literal('ok'),
        checked: Type.Integer(),
        breached: Type.Integer(),
        told: Type.Integer(),
        breaches: Due,
        expired: Type.Integer(),
        expiring_soon: Type.Integer(),
        notified: Type.Boolean(),
        expired_list: Due,
        expiring_list: Due,
      }),
    ),
  },
  'GET /security/decisions': {
    summary: 'Lists all decisions, newest first, also on packages that were deleted since.',
    access: 'any',
    query: Type.Object({
      q: Type.Optional(Term),
      cve: Word,
      package: Type.Optional(Type.String({ maxLength: 300 })),
      decided_by: Word,
      action: Type.Optional(listed<string>(['approve', 'reject'])),
      standing: Flag,
      ...pagingQuery(200),
    }),
    reply: DECISIONS_REPLY,
  },
  'GET /security/decisions/mine': {
    summary: 'Lists the decisions about packages that are assigned to the caller, newest first.',
    access: 'any',
    query: Type.Object(pagingQuery(200)),
    reply: DECISIONS_REPLY,
  },
  'GET /security/decisions/unassigned': {
    summary: 'Lists the decisions about packages that are assigned to nobody, newest first.',
    access: 'any',
    query: Type.Object(pagingQuery(200)),
    reply: DECISIONS_REPLY,
  },
})
