import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { MeanwhileSchema, OrNull, Text } from '../../core/schemas.ts'
import { MEDIUM_FAILS, OnMedium } from '../../machine/protocol.ts'

const Coverage = Type.Object({
  distribution: Type.String(),
  label: Type.String(),
  coverage: Type.String({ description: '`covered`, `partial`, `not_covered`, `no_data`, `stale` or `failed`.' }),
  said: Type.String(),
  data_at: OrNull(Text),
})
const Language = Type.Omit(Type.Composite([Type.Object({ ecosystem: Type.String() }), Coverage]), [
  'distribution',
  'label',
])
const Engine = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  ok: Type.Boolean(),
  version: OrNull(Text),
  data_version: OrNull(Text),
  data_at: OrNull(Text),
  age_days: Type.Union([Type.Integer(), Type.Null()]),
  error: Type.Optional(Type.String()),
  distributions: Type.Array(Coverage),
  languages: Type.Array(Language),
})
const Counts = Type.Record(Type.String(), Type.Integer())
const Source = Type.Object({
  name: Type.String(),
  kind: Type.String(),
  as_of: Type.String({ description: 'The newest change in the data; empty where nothing says it.' }),
  imported_at: Type.String(),
  records: Type.Integer(),
  rows: Type.Integer(),
  skipped: Counts,
})
const Intel = Type.Object(
  { date: Type.String(), entries: Type.Integer(), imported_at: Type.String() },
  { additionalProperties: true },
)

const FAILS = [
  'bad_request',
  'missing_field',
  'upload_incomplete',
  'upload_too_large',
  'storage_full',
  'uploads_stopped',
  'bad_database',
  'older_database',
  'import_running',
  'unknown_distribution',
] as const

/** What an import did. */
const Imported = Type.Object({
  status: Type.String({ description: '`imported` or `unchanged`.' }),
  generation: Type.Integer(),
  took_ms: Type.Integer(),
  signature: Type.String({ description: '`verified`, `not_checked` (no key is pinned) or `none`.' }),
  records: Type.Integer(),
  rows: Type.Integer(),
  sources: Type.Array(Source),
  notes: Type.Array(Type.String()),
})
const WHICH = {
  force: Type.Optional(Type.Boolean({ description: 'Take older data than what is loaded.' })),
  distribution: Type.Optional(
    Type.String({
      maxLength: 80,
      description: 'For an updateinfo.xml that does not say which distribution it is for.',
    }),
  ),
}

/** The fields of a form with vulnerability data; a query says the same. */
export const DATA_FORM = Type.Object({
  force: Type.Optional(Type.Boolean()),
  distribution: Type.Optional(Type.String({ maxLength: 80 })),
})

/** The engines that look for vulnerabilities and malware, and their data. */
export const engines = contract({
  'GET /security/engines': {
    summary:
      'Lists the engines: whether each answers, the date of its data, and its coverage of each distribution and language.',
    access: 'any',
    reply: Type.Object({
      engines: Type.Array(Engine),
      max_age_days: Type.Integer(),
      when_unavailable: MeanwhileSchema,
      warning: OrNull(Text),
      database: Type.Object({
        generation: Type.Union([Type.Integer(), Type.Null()]),
        created: OrNull(Text),
        signature: OrNull(Text),
        ecosystems: Type.Array(Type.Object({ name: Type.String(), rows: Type.Integer(), sources: Counts })),
        sources: Type.Array(Source),
      }),
      intel: Type.Object({ epss: Type.Union([Intel, Type.Null()]), kev: Type.Union([Intel, Type.Null()]) }),
      feeds: Type.Array(
        Type.Object({
          url: Type.String(),
          source: Type.String(),
          checked_at: Type.String(),
          error: Type.Optional(Type.String()),
        }),
      ),
      import: Type.Object({
        running: Type.Boolean(),
        since: OrNull(Text),
        last: Type.Union([Type.Object({ at: Type.String(), ok: Type.Boolean(), said: Type.String() }), Type.Null()]),
      }),
    }),
  },
  'GET /security/grype/status': {
    summary: 'Shows whether grype is installed and answers, and the age of its database.',
    access: 'any',
    reply: Type.Object({
      available: Type.Boolean(),
      version: OrNull(Text),
      built_at: OrNull(Text),
      schema: OrNull(Text),
      status: Type.String({ enum: ['valid', 'stale', 'unavailable', 'not_installed'] }),
      age_hours: OrNull(Type.Integer()),
      stale: Type.Boolean(),
      stale_threshold_hours: Type.Integer(),
      error: OrNull(Text),
    }),
  },
  'GET /security/feeds/status': {
    summary: 'Shows the age of the data on exploited vulnerabilities (KEV) and exploit probabilities (EPSS).',
    access: 'any',
    reply: Type.Object({
      ttl_hours: Type.Integer(),
      kev: Type.Object({
        available: Type.Boolean(),
        fetched_at: OrNull(Text),
        total: Type.Integer(),
        catalog_version: OrNull(Text),
        age_hours: OrNull(Type.Integer()),
        fresh: Type.Boolean(),
      }),
      epss: Type.Object({
        available: Type.Boolean(),
        updated_at: OrNull(Text),
        count: Type.Integer(),
        age_hours: OrNull(Type.Integer()),
        fresh: Type.Boolean(),
      }),
    }),
  },
  'POST /security/database': {
    summary: 'Imports vulnerability data: a bundle, or one file of a feed.',
    details:
      'A bundle is made with `npm run vulndb -- make`. Files of feeds are recognised by their content: OSV all.zip, Debian tracker JSON, Alpine secdb JSON, updateinfo.xml, KEV JSON, EPSS CSV. Send it as the body itself, or as `file` of multipart/form-data with the fields `force` and `distribution`.',
    access: 'admin',
    upload: 'data',
    form: DATA_FORM,
    limit: { bucket: 'database', perMinute: 30 },
    query: Type.Object({ ...WHICH, filename: Type.Optional(Type.String({ maxLength: 255 })) }),
    reply: Imported,
    fails: FAILS,
  },
  'POST /security/database/medium': {
    summary: 'Imports vulnerability data from a stick in the machine: a bundle, or one file of a feed.',
    access: 'admin',
    limit: { bucket: 'database', perMinute: 30 },
    body: Type.Object({ ...OnMedium, ...WHICH }, { additionalProperties: false }),
    reply: Imported,
    fails: [
      ...MEDIUM_FAILS,
      'upload_too_large',
      'storage_full',
      'bad_database',
      'older_database',
      'import_running',
      'unknown_distribution',
    ],
  },
  'POST /security/database/fetch': {
    summary: 'Fetches the vulnerability data of security.feeds now, as the daily job does.',
    access: 'admin',
    limit: { bucket: 'database', perMinute: 30 },
    reply: Type.Object({
      asked: Type.Integer(),
      fetched: Type.Integer(),
      failed: Type.Array(Type.Object({ source: Type.String(), why: Type.String() })),
    }),
  },
})
