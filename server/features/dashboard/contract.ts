import { Type } from '@sinclair/typebox'
import { pagingQuery } from '../../catalog/schemas.ts'
import { contract } from '../../core/contract.ts'
import { EnrichedSchema, GateFlowSchema, HistorySchema, StatsSchema, SummarySchema } from './schemas.ts'

/** The routes of the dashboard. Every role reads it, so it leaves out logins, accounts and addresses. */
export const dashboard = contract({
  'GET /dashboard/summary': {
    summary: 'Shows the number of packages, held packages, findings by severity and recent activity.',
    access: 'any',
    reply: SummarySchema,
  },
  'GET /dashboard/stats': {
    summary: 'Counts packages, bytes, uploads and decisions, and says what needs somebody, for 30 days.',
    access: 'any',
    reply: StatsSchema,
  },
  'GET /dashboard/stats/enriched': {
    summary: 'Shows findings by day, the largest and newest packages, missed deadlines and each distribution.',
    access: 'any',
    reply: EnrichedSchema,
  },
  'GET /dashboard/gate': {
    summary: 'Counts what each step of the gate made of the packages that came in on the last `days` days.',
    details:
      'By the stored reports of the packages that are still here: 30 days unless `days` says how many, in UTC, today included. A file that is no package, or not the bytes that were meant, is refused before anything is stored and counts nowhere. `unavailable` are those that a step could not look at, or not at all of them; `scripts` is told of only where installing does more than to put plain files in their places.',
    access: 'any',
    query: Type.Object({ days: Type.Optional(Type.Integer({ minimum: 1, maximum: 365 })) }),
    reply: GateFlowSchema,
  },
  'GET /dashboard/history': {
    summary: 'Counts what happened on each of the last `days` days, and lists events, newest first.',
    details:
      '`history` is about all packages, and 30 days unless `days` says how many; those before `counted_since` were not counted, and their zeros are none. `items` are a page of all events, of one `package` where it is given.',
    access: 'any',
    query: Type.Object({
      ...pagingQuery(200),
      package: Type.Optional(Type.String({ maxLength: 200 })),
      days: Type.Optional(Type.Integer({ minimum: 1, maximum: 365 })),
    }),
    reply: HistorySchema,
  },
  'GET /dashboard/events': {
    summary: 'Streams live events. The first is `hello`; Last-Event-ID, or `last_event_id`, resumes a stream.',
    access: 'any',
    query: Type.Object({ last_event_id: Type.Optional(Type.String({ maxLength: 60 })) }),
    reply: 'events',
  },
})
