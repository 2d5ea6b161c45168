import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { listed, OrNull, Text, Time } from '../../core/schemas.ts'
import type { MirrorReport } from '../../imports/mirror/report.ts'
import { STANDINGS } from '../../imports/mirror/compare.ts'

const SourceKey = Type.String({ minLength: 1, maxLength: 80, description: 'The key of a source, or its number.' })
const BySource = Type.Object({ source_id: SourceKey })
const ByJob = Type.Object({ id: Type.String({ minLength: 1, maxLength: 60 }) })
const ByCodename = Type.Object({ codename: Type.String({ minLength: 1, maxLength: 80 }) })

const Patterns = (description: string) =>
  Type.Array(
    Type.String({
      pattern: '^!?[A-Za-z0-9*?][A-Za-z0-9*?+._:/@~-]{0,99}$',
      rule: 'a name in which * and ? stand for any, with ! before it to leave out',
    }),
    { maxItems: 200, description },
  )
const RULE = {
  names: Patterns('`nginx*`; with `!` before it, what is left out. Empty: every name.'),
  sections: Patterns('Sections or groups, as names.'),
  priorities: Type.Array(Type.String({ pattern: '^[a-z]{1,20}$', rule: 'a priority such as required or optional' }), {
    maxItems: 10,
    description: 'Priorities of Debian: `required`, `important`, `standard`, `optional`, `extra`. Empty: all.',
  }),
  newest: OrNull(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: 'So many versions of each name and architecture; null: all.',
    }),
  ),
  security_only: Type.Boolean({
    description: 'Only versions that a source of security updates of the distribution lists, too.',
  }),
  distributions: Type.Array(Type.String({ minLength: 1, maxLength: 80 }), {
    maxItems: 50,
    description: 'Into these alone; empty: every distribution that the source is for.',
  }),
}

const JOB = {
  job_id: Text,
  label: Text,
  status: Type.String({ enum: ['running', 'done', 'error', 'cancelled'] }),
  total: Type.Integer(),
}
const Job = Type.Object({
  ...JOB,
  source_id: Text,
  distribution: Text,
  done_count: Type.Integer(),
  added_count: Type.Integer(),
  pending_count: Type.Integer(),
  blocked_count: Type.Integer(),
  skipped_count: Type.Integer(),
  error_count: Type.Integer(),
  started_at: OrNull(Time),
  finished_at: OrNull(Time),
  log_count: Type.Integer(),
  cancelling: Type.Boolean(),
  error: OrNull(Text),
})

/** The end of a run; its fields stand in `MirrorReport`. */
const Report = Type.Unsafe<MirrorReport>(Type.Object({}, { additionalProperties: true }))
const Source = Type.Object({
  id: Text,
  label: Text,
  format: Text,
  enabled: Type.Boolean({ description: 'The clock mirrors it.' }),
  available: Type.Boolean({ description: 'The source itself is switched on.' }),
  distributions: Type.Array(Text),
  rule: Type.Object(RULE),
  last_job: OrNull(Job),
  report: OrNull(Report),
})
const Schedule = Type.Object({
  enabled: Type.Boolean(),
  hour: Type.Integer(),
  minute: Type.Integer(),
  timezone: Text,
  max_packages_per_run: Type.Integer(),
  max_runtime_minutes: Type.Integer(),
  min_free_disk_gb: Type.Integer(),
  next_run: OrNull(Time),
})
const Frozen = Type.Object({ reason: Text, frozen_by: Text, frozen_at: Time })
const Switches = Type.Record(Type.String(), Type.Boolean())

const CHANGE = { access: 'maintainer+', limit: { bucket: 'import', perMinute: 30 } } as const

/** Mirrors: whole sources through the gate, piece by piece. */
export const mirror = contract({
  'GET /import/mirror/sources': {
    summary: 'Lists the sources that can be mirrored: by what rule, and how the last run ended.',
    access: 'any',
    reply: Type.Object({ sources: Type.Array(Source) }),
  },
  'POST /import/mirror/sources': {
    summary: 'Switches which sources the clock mirrors; those that are not named stay as they are.',
    ...CHANGE,
    body: Type.Object({ sources: Switches }),
    reply: Type.Object({ sources: Switches }),
    fails: ['mirror_source_unknown'],
  },
  'PATCH /import/mirror/sources/{source_id}': {
    summary: 'Says what of a source is mirrored: by name, section, priority, newest versions, security updates.',
    details: 'What comes in brings what it needs, also where the rule leaves that out. Fields that are absent stay.',
    ...CHANGE,
    params: BySource,
    body: Type.Partial(Type.Object(RULE)),
    reply: Type.Object({ source_id: Text, rule: Type.Object(RULE) }),
    fails: ['source_not_found', 'mirror_not_for'],
  },
  'GET /import/mirror/schedule': {
    summary: 'Shows when the clock mirrors, and how much one run may bring.',
    access: 'any',
    reply: Schedule,
  },
  'POST /import/mirror/schedule': {
    summary: 'Changes when the clock mirrors, and how much one run may bring.',
    access: 'admin',
    limit: { bucket: 'import', perMinute: 30 },
    body: Type.Object({
      enabled: Type.Optional(Type.Boolean()),
      hour: Type.Optional(Type.Integer()),
      minute: Type.Optional(Type.Integer()),
      timezone: Type.Optional(Type.String({ maxLength: 100 })),
      max_packages_per_run: Type.Optional(Type.Integer()),
      max_runtime_minutes: Type.Optional(Type.Integer()),
      min_free_disk_gb: Type.Optional(Type.Integer()),
    }),
    reply: Schedule,
    fails: ['bad_setting'],
  },
  'POST /import/mirror/start/{source_id}': {
    summary: 'Mirrors a source now, as a job, also one that the clock does not mirror.',
    details:
      'It brings what the rule of the source wants and what is not here, each with what it needs, until a bound of the schedule is met; the next run goes on there. One mirror runs at a time: while one of this source runs, the answer is that one.',
    ...CHANGE,
    leader: true,
    params: BySource,
    query: Type.Object({
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 100_000, description: 'Packages, instead of the schedule.' }),
      ),
    }),
    reply: Type.Object({ ...JOB, already_running: Type.Boolean() }),
    fails: ['source_not_found', 'mirror_no_distribution', 'mirror_source_off', 'mirror_frozen', 'mirror_running'],
  },
  'GET /import/mirror/jobs': {
    summary: 'Lists the newest mirrors, at most 20.',
    access: 'any',
    reply: Type.Object({ jobs: Type.Array(Job) }),
  },
  'GET /import/mirror/jobs/{id}': {
    summary: 'Shows one mirror.',
    access: 'any',
    params: ByJob,
    reply: Job,
    fails: ['job_not_found'],
  },
  'POST /import/mirror/jobs/{id}/cancel': {
    summary: 'Cancels a mirror. What it has brought stays, and the next run goes on behind it.',
    ...CHANGE,
    params: ByJob,
    reply: Type.Object({ job_id: Text, cancelled: Type.Boolean(), status: Text, message: Text }),
    fails: ['job_not_found'],
  },
  'GET /import/mirror/jobs/{id}/stream': {
    summary: 'Streams what a mirror says, from its first line, then live.',
    details: 'Lines are `level|text`; the last one is always `done|DONE`. Whoever leaves stops nothing.',
    access: 'any',
    params: ByJob,
    query: Type.Object({
      from_index: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: 'Lines to leave out.' }),
      ),
    }),
    reply: 'events',
    lastLine: 'done|DONE',
    fails: ['job_not_found'],
  },
  'GET /import/mirror/distributions': {
    summary: 'Lists the distributions that sources can be mirrored into, and which are frozen.',
    access: 'any',
    reply: Type.Object({
      distributions: Type.Array(Type.Object({ codename: Text, sources: Type.Array(Text), frozen: OrNull(Frozen) })),
    }),
  },
  'POST /import/mirror/distributions/{codename}/freeze': {
    summary: 'Freezes a distribution: no mirror and no security update adds to it.',
    details: 'Uploads, imports and promotions still do. A second freeze changes nothing.',
    ...CHANGE,
    scoped: 'distribution',
    params: ByCodename,
    body: Type.Object({ reason: Type.Optional(Type.String({ maxLength: 300 })) }),
    reply: Type.Object({ codename: Text, frozen: OrNull(Frozen) }),
    fails: ['unknown_distribution'],
  },
  'DELETE /import/mirror/distributions/{codename}/freeze': {
    summary: 'Ends the freeze of a distribution.',
    ...CHANGE,
    scoped: 'distribution',
    params: ByCodename,
    reply: Type.Object({ codename: Text, frozen: OrNull(Frozen) }),
    fails: ['unknown_distribution'],
  },
  'GET /import/mirror/distributions/{codename}/compare': {
    summary: 'Compares a distribution with the sources that are mirrored into it, as they were synchronised last.',
    details:
      'What the next runs would bring: `new` names, `newer` and `older` versions; `changed`, what is published here with other bytes than its source lists for the same version and is never replaced; and `gone`, what came from there and is listed there no longer. `packages` has the first 1,000, the counts all.',
    access: 'any',
    params: ByCodename,
    reply: Type.Object({
      codename: Text,
      sources: Type.Array(Text),
      frozen: OrNull(Frozen),
      difference: Type.Object({
        new: Type.Integer(),
        newer: Type.Integer(),
        older: Type.Integer(),
        changed: Type.Integer(),
        gone: Type.Integer(),
      }),
      packages: Type.Array(
        Type.Object({
          source_id: Text,
          name: Text,
          version: Text,
          arch: Text,
          here: OrNull(Text),
          standing: listed(STANDINGS),
        }),
      ),
    }),
    fails: ['unknown_distribution', 'mirror_not_mirrored'],
  },
})
