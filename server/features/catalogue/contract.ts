import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { FormatFilter, OrNull, Text, Time } from '../../core/schemas.ts'
import { SYNC_STATES } from '../../imports/source.ts'

const SourceKey = Type.String({ minLength: 1, maxLength: 80, description: 'The key of a source, or its number.' })
const BySource = Type.Object({ source_id: SourceKey })
const ByJob = Type.Object({ id: Type.String({ minLength: 1, maxLength: 60 }) })

const Version = Type.Object({
  version: Text,
  arch: Text,
  source_id: Text,
  distro: Text,
  component: OrNull(Text),
  security: Type.Boolean(),
  size: Type.Integer(),
  module: OrNull(Text),
  hidden: Type.Boolean({ description: 'Of a stream of a module that clients see only when they ask for it.' }),
})

/** A name with its newest version; what its format does not say is empty. */
const Hit = Type.Object({
  name: Text,
  version: Text,
  arch: Text,
  format: Text,
  section: Text,
  group_name: Text,
  summary: Text,
  description: Text,
  depends: Text,
  requires: Text,
  provides: Text,
  size: Type.Integer(),
  installed_size: Type.Integer(),
  sha256: Text,
  filename: Text,
  rpm_url: OrNull(Text),
  url: Text,
  license: Text,
  maintainer: Text,
  distro: Text,
  source_id: Text,
  synced_at: OrNull(Time),
  security: Type.Boolean(),
  versions: Type.Array(Version, { description: 'Of all sources, the newest first; 50 at most.' }),
  version_count: Type.Integer(),
  sources: Type.Array(Text),
})

const Source = Type.Object({
  id: Type.Integer(),
  source_id: Text,
  label: Text,
  format: Type.String({ description: '`apt`, `rpm` or `apk`.' }),
  distro: Text,
  arch: Text,
  component: Text,
  security: Type.Boolean(),
  enabled: Type.Boolean(),
  retired: Type.Boolean(),
  codenames: Type.Array(Text),
  last_sync: OrNull(Time),
  pkg_count: Type.Integer(),
  status: Type.String({ enum: ['never', 'ok', 'error'] }),
  error: OrNull(Text),
  state: Type.String({ enum: [...SYNC_STATES] }),
  last_attempt: OrNull(Time),
  failures: Type.Integer({ description: 'Tries in a row that did not succeed.' }),
  upstream_date: OrNull(Time),
  valid_until: OrNull(Time),
  signed_by: Type.Array(Text),
  mirror: OrNull(Text),
  added: Type.Integer(),
  removed: Type.Integer(),
  bytes: Type.Integer(),
  notes: Type.Array(Text),
})

const JOB = {
  job_id: Text,
  label: Text,
  status: Type.String({ enum: ['running', 'done', 'error', 'cancelled'] }),
  total: Type.Integer(),
}
const Job = Type.Object({
  ...JOB,
  target: Text,
  done_count: Type.Integer(),
  error_count: Type.Integer({ description: 'Sources that failed; the job is `done` all the same.' }),
  started_at: OrNull(Time),
  finished_at: OrNull(Time),
  log_count: Type.Integer(),
  cancelling: Type.Boolean(),
})
const Jobs = Type.Object({ jobs: Type.Array(Job) })
const Begun = Type.Object({ ...JOB, already_running: Type.Boolean() })

const START = { access: 'maintainer+', limit: { bucket: 'import', perMinute: 10 }, leader: true } as const
const LINES = 'Lines are `level|text`; the last one is always `done|DONE`. Whoever leaves stops nothing.'
const LAST = 'done|DONE'

/** The upstream catalogue: searching it, and keeping it up to date. */
export const catalogue = contract({
  'GET /import/search': {
    summary: 'Searches the packages of the import sources by name and summary.',
    details:
      'The name itself comes first, then names that begin so, that have it inside, and words of the summary; short before long. One result for each name, with its versions of all sources.',
    access: 'any',
    query: Type.Object({
      q: Type.String({ minLength: 1, maxLength: 200 }),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
      source_id: Type.Optional(SourceKey),
      format: FormatFilter,
      distro: Type.Optional(
        Type.String({ minLength: 1, maxLength: 80, description: 'The beginning: `jammy` is also `jammy-updates`.' }),
      ),
    }),
    reply: Type.Object({ query: Text, count: Type.Integer(), results: Type.Array(Hit) }),
    fails: ['catalogue_empty', 'source_not_synchronised', 'source_not_found', 'search_too_slow'],
  },
  'GET /import/sync-status': {
    summary: 'Shows each import source: when it was synchronised last, how that ended, and the way out.',
    access: 'any',
    reply: Type.Object({ sources: Type.Array(Source) }),
  },
  'GET /import/sync-schedule': {
    summary: 'Shows when the clock synchronises the import sources.',
    access: 'any',
    reply: Type.Object({
      schedule: Text,
      cron: Type.String({ description: 'Six fields: the first are seconds.' }),
      enabled: Type.Boolean(),
      timezone: Text,
      next_run: OrNull(Time),
      security_sources: Type.Array(Type.Object({ id: Text, label: Text })),
    }),
  },
  'POST /import/sync/start': {
    summary: 'Synchronises every import source that is switched on, as a job.',
    ...START,
    reply: Begun,
  },
  'POST /import/sync/start/{target}': {
    summary: 'Synchronises the sources of a format, those with security updates, or one source, as a job.',
    ...START,
    params: Type.Object({ target: Type.String({ minLength: 1, maxLength: 80 }) }),
    reply: Begun,
    fails: ['bad_sync_target'],
  },
  'POST /import/sync': {
    summary: 'Synchronises every import source that is switched on, and streams what the job says.',
    details: LINES,
    access: 'maintainer+',
    limit: { bucket: 'import-sync', perMinute: 3 },
    leader: true,
    reply: 'events',
    lastLine: LAST,
  },
  'POST /import/sync/{source_id}': {
    summary: 'Synchronises one import source, as a job.',
    ...START,
    params: BySource,
    reply: Type.Object({ job_id: Text, source_id: Text, status: Text, already_running: Type.Boolean() }),
    fails: ['source_not_found'],
  },
  'POST /import/sources/{id}/sync': {
    summary: 'Synchronises one import source, and streams how far it is.',
    details:
      'The data of each event is `{status, count, message}`: `running` with the entries read so far, at the end a state such as `ok` with the packages that the catalogue holds.',
    ...START,
    params: Type.Object({ id: SourceKey }),
    reply: 'events',
    fails: ['source_not_found'],
  },
  'POST /import/sync-security': {
    summary: 'Synchronises the import sources of security updates, and streams what the job says.',
    details: LINES,
    ...START,
    reply: 'events',
    lastLine: LAST,
  },
  'GET /import/sync/jobs': {
    summary: 'Lists the newest synchronisations, at most 20.',
    access: 'any',
    reply: Jobs,
  },
  'GET /import/sync/jobs/active': {
    summary: 'Lists the synchronisations that are running or wait for their turn.',
    access: 'any',
    reply: Jobs,
  },
  'GET /import/sync/jobs/{id}': {
    summary: 'Shows one synchronisation.',
    access: 'any',
    params: ByJob,
    reply: Job,
    fails: ['job_not_found'],
  },
  'POST /import/sync/jobs/{id}/cancel': {
    summary: 'Cancels a synchronisation. The catalogue keeps what was synchronised whole.',
    access: 'maintainer+',
    limit: { bucket: 'import', perMinute: 10 },
    params: ByJob,
    reply: Type.Object({ job_id: Text, cancelled: Type.Boolean(), status: Text, message: Text }),
    fails: ['job_not_found'],
  },
  'GET /import/sync/jobs/{id}/stream': {
    summary: 'Streams what a synchronisation says, from its first line, then live.',
    details: LINES,
    access: 'any',
    params: ByJob,
    query: Type.Object({
      from_index: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: 'Lines to leave out.' }),
      ),
    }),
    reply: 'events',
    lastLine: LAST,
    fails: ['job_not_found'],
  },
})
