import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { listed, OrNull, Text, Time } from '../../core/schemas.ts'
import { RUN_ENDS, RUN_RESULTS } from '../../imports/security/report.ts'
import { STANDINGS } from '../../imports/security/updates.ts'

const Entry = Type.Object({
  name: Text,
  version: Text,
  arch: Text,
  here: OrNull(Type.String({ description: 'The newest older version that is published here; null: new here.' })),
  source: Type.String({ description: 'The source package: those of one come together.' }),
  source_id: OrNull(Text),
  standing: listed(STANDINGS),
  why: OrNull(Text),
  is_dependency: Type.Boolean({ description: 'It comes because an update needs it.' }),
})
const SUMMARY = {
  job_id: Text,
  by: Text,
  started_at: Time,
  ended_at: Time,
  end: listed(RUN_ENDS),
  result: listed(RUN_RESULTS),
  message: Text,
  distributions: Type.Array(Text),
  came_count: Type.Integer(),
  held_count: Type.Integer(),
  missing_count: Type.Integer(),
  bytes: Type.Integer(),
}
const Run = Type.Object({
  ...SUMMARY,
  synchronised: Type.Array(Type.Object({ source_id: Text, label: Text, state: Text, said: OrNull(Text) }), {
    description: 'Another state than `ok`: the older list of the source was used.',
  }),
  parts: Type.Array(
    Type.Object({
      codename: Text,
      frozen: Type.Boolean(),
      came_count: Type.Integer(),
      held_count: Type.Integer(),
      missing_count: Type.Integer(),
      came: Type.Array(Entry),
      held: Type.Array(Entry),
      missing: Type.Array(Entry),
    }),
    { description: 'For each distribution, the first 500 of each list.' },
  ),
})

/** Security updates of what is published here: runs by the clock and by hand, and what they came to. */
export const securityUpdates = contract({
  'GET /import/security-updates': {
    summary: 'Shows how published packages are kept up to date: schedule, the run that goes on, the last one.',
    access: 'any',
    reply: Type.Object({
      schedule: Type.Object({
        enabled: Type.Boolean(),
        hour: Type.Integer(),
        minute: Type.Integer(),
        timezone: Text,
        own_builds: Type.Boolean(),
        max_packages_per_run: Type.Integer(),
        max_runtime_minutes: Type.Integer(),
        next_run: OrNull(Time),
      }),
      running: OrNull(
        Type.Object({
          job_id: Text,
          started_at: OrNull(Time),
          done_count: Type.Integer(),
          total: OrNull(Type.Integer()),
          cancelling: Type.Boolean(),
        }),
      ),
      last_run: OrNull(Run),
      distributions: Type.Array(
        Type.Object({
          codename: Text,
          published: Type.Integer(),
          sources: Type.Array(Text, { description: 'Keys of the sources with its security updates.' }),
          never_synchronised: Type.Array(Text, {
            description: 'Sources of it that were never read: what an update needs from there is missing.',
          }),
          frozen: Type.Boolean(),
        }),
      ),
      not_covered: Type.Array(Text, {
        description: 'Something is published there, and no source of security updates is switched on for it.',
      }),
    }),
  },
  'GET /import/security-updates/available': {
    summary: 'Lists what the next run would bring, and what it would not and why, as sources were synchronised last.',
    access: 'any',
    query: Type.Object({ distribution: Type.Optional(Type.String({ minLength: 1, maxLength: 80 })) }),
    reply: Type.Object({
      distributions: Type.Array(
        Type.Object({
          codename: Text,
          waiting: Type.Integer({ description: 'The next run brings them.' }),
          held: Type.Integer(),
          left_out: Type.Integer(),
          updates: Type.Array(Entry, { description: 'The first 500.' }),
        }),
      ),
    }),
    fails: ['unknown_distribution'],
  },
  'POST /import/security-updates/run': {
    summary: 'Brings security updates of what is published now, as a job.',
    details:
      'Sources are synchronised first. Then every newer version of a published package that a source of security updates of its distribution lists comes in with what it needs, through the gate. The job is of the kind `security.updates`; while an equal one is open, the answer is that one.',
    access: 'maintainer+',
    limit: { bucket: 'import', perMinute: 30 },
    leader: true,
    scoped: 'distribution',
    body: Type.Object({
      distribution: Type.Optional(
        Type.String({ minLength: 1, maxLength: 80, description: 'This one alone; absent: all that are covered.' }),
      ),
    }),
    reply: Type.Object({
      job_id: Text,
      label: Text,
      status: Type.String({ enum: ['running', 'done', 'error', 'cancelled'] }),
      total: Type.Integer(),
      already_running: Type.Boolean(),
    }),
    fails: ['unknown_distribution', 'security_no_source'],
  },
  'GET /import/security-updates/runs': {
    summary:
      'Lists the newest runs of security updates: what came, what is held, what is missing. The newest 100 are kept.',
    access: 'any',
    query: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })) }),
    reply: Type.Object({ runs: Type.Array(Type.Object(SUMMARY)) }),
  },
  'GET /import/security-updates/runs/{id}': {
    summary: 'Shows one run of security updates, package by package with the reason.',
    access: 'any',
    params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 60 }) }),
    reply: Run,
    fails: ['security_run_not_found'],
  },
})
