import { Type } from '@sinclair/typebox'
import { NAMED, pageSchema, pagingQuery, StateQuery, StepSchema, Term } from '../../catalog/schemas.ts'
import type { Numbers, Page } from '../../catalog/page.ts'
import { contract } from '../../core/contract.ts'
import { SEVERITIES } from '../../core/findings.ts'
import { counts, listed, NameVersion, OrNull, Text } from '../../core/schemas.ts'
import { HISTORY_DAYS, type FindingDay } from '../../review/posture-history.ts'
import type { Posture } from '../../review/posture.ts'
import type { ReviewItem } from '../../review/queue.ts'
import {
  AcceptedFindingSchema,
  DecisionSchema,
  Flag,
  PAGE,
  PostureSchema,
  REVIEW_QUERY,
  ReviewItemSchema,
  SeverityName,
  StateName,
  VARIANTS,
  VULNERABILITY,
  WhereQuery,
} from '../../review/schemas.ts'
import type { VersionCves } from '../../review/version-view.ts'
import { VULNERABILITY_ORDERS } from '../../catalog/queries/vulnerabilities.ts'
import type { Vulnerability, VulnerabilityDetail, VulnerabilityOverview } from '../../review/vulnerabilities.ts'

const Judged = Type.Composite([AcceptedFindingSchema, Type.Object({ acceptance: OrNull(DecisionSchema) })])

const AffectedPackageSchema = Type.Object({
  ...NAMED,
  status: StateName,
  severity: SeverityName,
  cve_counts: counts(SEVERITIES),
  total: Type.Integer(),
})

const Sum = OrNull(Type.Integer({ minimum: 0 }))

/** Known vulnerabilities: by vulnerability, by package, and in total. */
export const vulnerabilities = contract({
  'GET /security/vulnerabilities': {
    summary: 'Lists the vulnerabilities over all packages, each once with the packages that have it.',
    access: 'any',
    query: Type.Object({
      q: Type.Optional(Term),
      severity: REVIEW_QUERY.severity,
      kev: Flag,
      fixable: Flag,
      accepted: Flag,
      min_epss: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
      status: Type.Optional(StateQuery),
      distribution: REVIEW_QUERY.distribution,
      format: REVIEW_QUERY.format,
      arch: REVIEW_QUERY.arch,
      package: Type.Optional(Type.String({ maxLength: 300 })),
      sort: Type.Optional(listed<string>(VULNERABILITY_ORDERS)),
      ...pagingQuery(200),
    }),
    details:
      '`summary`, `packages_scanned` and `packages` (the worst 200) are about all packages, whatever the list is narrowed to.',
    reply: Type.Unsafe<VulnerabilityOverview & Numbers & { readonly vulnerabilities: Page<Vulnerability> }>(
      Type.Object({
        summary: counts(SEVERITIES),
        packages_scanned: Type.Integer(),
        vulnerabilities: pageSchema<Vulnerability>(Type.Object(VULNERABILITY)),
        packages: Type.Array(AffectedPackageSchema),
        ...PAGE,
      }),
    ),
  },
  'GET /security/vulnerabilities/{cve}': {
    summary: 'Shows one vulnerability and, by page, the packages that have it.',
    access: 'any',
    params: Type.Object({ cve: Type.String({ minLength: 1, maxLength: 100 }) }),
    query: Type.Object(pagingQuery(200)),
    fails: ['cve_not_found'],
    reply: Type.Unsafe<VulnerabilityDetail>(Type.Object({ ...VULNERABILITY, ...PAGE })),
  },
  'GET /security/packages-posture': {
    summary: 'Counts packages by state, worst finding and distribution, with deadlines and acceptances.',
    access: 'any',
    reply: Type.Unsafe<Posture>(PostureSchema),
  },
  'GET /security/findings-history': {
    summary: 'Shows how many findings were open on each of the last days, by severity.',
    details:
      'Of served and waiting packages: one for each vulnerability in each of them that nobody accepted. Counted once a day in UTC, by the job `posture-history`; a day on which nothing was counted is null throughout, which is not 0. `appeared` and `gone` are since the counted day before: gone are those that were fixed, accepted or rated otherwise, and those whose package left. Distributions that the caller does not see, and those that are no more, count nowhere.',
    access: 'any',
    query: Type.Object({
      days: Type.Optional(Type.Integer({ minimum: 1, maximum: HISTORY_DAYS, description: '30 by default.' })),
      distribution: REVIEW_QUERY.distribution,
    }),
    fails: ['unknown_distribution'],
    reply: Type.Unsafe<{ readonly days: readonly FindingDay[] }>(
      Type.Object({
        days: Type.Array(
          Type.Object({
            date: Type.String({ format: 'date' }),
            open: OrNull(counts(SEVERITIES)),
            appeared: Sum,
            gone: Sum,
            packages: Sum,
            not_looked: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
              description: 'Packages that no engine answered for.',
            }),
          }),
        ),
      }),
    ),
  },
  'GET /security/packages': {
    summary: 'Lists the packages that have findings, the worst first.',
    access: 'maintainer+',
    query: Type.Object({ ...REVIEW_QUERY, status: Type.Optional(StateQuery) }),
    reply: Type.Unsafe<Numbers & { readonly packages: readonly ReviewItem[] }>(
      Type.Object({ packages: Type.Array(ReviewItemSchema), ...PAGE }),
    ),
  },
  'GET /security/packages/{name}/{version}/cve': {
    summary:
      'Lists the vulnerabilities of one version. If it exists more than once: of the published one, with the others under `variants`.',
    access: 'any',
    params: NameVersion,
    query: WhereQuery,
    fails: ['package_not_found', 'version_not_found', 'unknown_distribution'],
    reply: Type.Unsafe<VersionCves>(
      Type.Object({
        ...NAMED,
        package: Text,
        status: StateName,
        cve_status: Text,
        severity: OrNull(SeverityName),
        total: Type.Integer(),
        counts: counts(SEVERITIES),
        cve_counts: counts(SEVERITIES),
        cves: Type.Array(Judged),
        cve_results: Type.Array(Judged),
        has_structured_data: Type.Boolean(),
        scan: OrNull(StepSchema),
        variants: VARIANTS,
      }),
    ),
  },
})
