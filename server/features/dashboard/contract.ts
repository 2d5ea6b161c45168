import { Type } from '@sinclair/typebox'
import { pageSchema, pagingQuery } from '../../catalog/schemas.ts'
import { contract } from '../../core/contract.ts'
import { SEVERITIES } from '../../core/findings.ts'
import { STATES } from '../../core/manifest.ts'
import { FactsSchema } from '../../record/audit-schema.ts'
import type { HistoryItem, Stats, Summary } from './dashboard.ts'
import { counts } from '../../core/schemas.ts'

const Item = Type.Object({
  timestamp: Type.String({ format: 'date-time' }),
  action: Type.String(),
  result: Type.String(),
  user: Type.String(),
  package: Type.Optional(Type.String()),
  version: Type.Optional(Type.String()),
  distribution: Type.Optional(Type.String()),
  detail: Type.String(),
  facts: FactsSchema,
})
const Group = (name: string) =>
  Type.Array(
    Type.Object({ [name]: Type.String(), packages: Type.Integer(), published: Type.Integer(), bytes: Type.Integer() }),
  )

/** The routes of the dashboard. Every role reads it, so it leaves out logins, accounts and addresses. */
export const dashboard = contract({
  'GET /dashboard/summary': {
    summary: 'Shows the number of packages, held packages, findings by severity and recent activity.',
    access: 'any',
    reply: Type.Unsafe<Summary>(
      Type.Object({
        packages: Type.Integer(),
        artifacts: Type.Integer(),
        published: Type.Integer(),
        pending_reviews: Type.Integer(),
        quarantined: Type.Integer(),
        rejected: Type.Integer(),
        not_looked: Type.Integer(),
        cve_findings: counts([...SEVERITIES, 'total']),
        recent_activity: Type.Array(Item),
      }),
    ),
  },
  'GET /dashboard/stats': {
    summary: 'Counts packages and bytes by distribution, format and state, and uploads per day for 30 days.',
    access: 'any',
    reply: Type.Unsafe<Stats>(
      Type.Object({
        packages: Type.Integer(),
        artifacts: Type.Integer(),
        by_state: counts(STATES),
        by_distribution: Group('distribution'),
        by_format: Group('format'),
        storage: Type.Object({ blobs: Type.Integer(), bytes: Type.Integer(), size_mb: Type.Number() }),
        uploads_per_day: Type.Array(Type.Object({ day: Type.String({ format: 'date' }), count: Type.Integer() })),
      }),
    ),
  },
  'GET /dashboard/history': {
    summary: 'Lists events of packages and distributions, newest first.',
    access: 'any',
    query: Type.Object({ ...pagingQuery(200), package: Type.Optional(Type.String({ maxLength: 200 })) }),
    reply: pageSchema<HistoryItem>(Item),
  },
  'GET /dashboard/events': {
    summary: 'Streams live events. The first is `hello`; Last-Event-ID, or `last_event_id`, resumes a stream.',
    access: 'any',
    query: Type.Object({ last_event_id: Type.Optional(Type.String({ maxLength: 60 })) }),
    reply: 'events',
  },
})
