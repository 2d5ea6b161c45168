import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { AUDIT_ACTIONS, AUDIT_RESULTS, type StoredEntry } from '../../record/audit.ts'
import type { ChainReport, Cut, Replaced } from '../../record/audit-chain.ts'
import { FactsSchema } from '../../record/audit-schema.ts'
import type { FileDigest } from '../../record/audit-file.ts'
import type { Page } from '../../catalog/page.ts'
import { listed, Moment, OrNull } from '../../core/schemas.ts'

const Text = Type.Optional(Type.String({ maxLength: 200 }))

const Entry = Type.Object({
  timestamp: Type.String({ format: 'date-time' }),
  id: Type.String(),
  action: Type.String({ enum: [...AUDIT_ACTIONS] }),
  result: Type.String(),
  user: Type.String(),
  package: Text,
  version: Text,
  distribution: Text,
  detail: Type.String(),
  facts: FactsSchema,
  ip: Text,
  request_id: Text,
  prev: Type.String(),
  hash: Type.String(),
  validation_steps: Type.Array(Type.Unknown()),
  cve_status: OrNull(Type.String()),
  repo_format: OrNull(Type.String()),
})

const FILTER = {
  package: Text,
  action: Type.Optional(listed(AUDIT_ACTIONS)),
  result: Type.Optional(listed(AUDIT_RESULTS)),
  arrivals: Type.Optional(
    Type.Unsafe<'taken' | 'stopped'>({
      ...listed(['taken', 'stopped']),
      description: 'Uploads and imports only: packages that came in, or that were stopped as they came.',
    }),
  ),
  user: Text,
  q: Text,
  request_id: Text,
  from: Moment,
  to: Moment,
}

/** An entry with what existing clients read: the state a package came to and the format, where it is about one. */
export interface ShownEntry extends StoredEntry {
  /** A line of the log has none: the package's own detail has them. */
  readonly validation_steps: readonly never[]
  readonly cve_status: string | null
  readonly repo_format: string | null
}

/** The chain, and the files as existing clients read them. */
export interface Integrity extends Omit<ChainReport, 'files' | 'cut' | 'replaced'> {
  readonly checked_at: string
  readonly file_count: number
  readonly files: readonly FileDigest[]
  readonly total: number
  /** What retention removed last; null: nothing. */
  readonly cut: Cut | null
  /** The newest restore that replaced the log; null: none did. */
  readonly replaced: Replaced | null
}

/** The audit log, read back. */
export const audit = contract({
  'GET /artifacts/audit/logs': {
    summary:
      'Lists audit entries, newest first, or with `sort=asc` oldest first. `q` searches package, user and detail; `from` and `to` are days or times, both included.',
    access: 'auditor+',
    query: Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
      per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
      ...FILTER,
      sort: Type.Optional(listed(['asc', 'desc'])),
    }),
    reply: Type.Unsafe<Page<ShownEntry>>(
      Type.Object({
        items: Type.Array(Entry),
        total: Type.Integer(),
        page: Type.Integer(),
        per_page: Type.Integer(),
        pages: Type.Integer(),
      }),
    ),
    fails: ['bad_request'],
  },
  'GET /artifacts/audit/export': {
    summary:
      'Exports the audit log, or what the filters of the list leave of it, as one JSON list or as CSV; newest entry first.',
    details:
      'In CSV, a cell that a spreadsheet would run as a formula (one that begins with `=`, `+`, `-` or `@`) has an apostrophe before it.',
    access: 'auditor+',
    query: Type.Object({ ...FILTER, format: Type.Optional(listed(['json', 'csv'])) }),
    reply: 'file',
    types: ['application/json', 'text/csv'],
    fails: ['bad_request'],
  },
  'GET /artifacts/audit/export/archive': {
    summary: 'Exports the audit log as it lies on disk: a gzipped tar with one file of JSON lines for each day.',
    details:
      'Only lines about what the caller may see are in it; with all of them, each line still names the digest of the one before it.',
    access: 'auditor+',
    reply: 'file',
    types: ['application/gzip'],
  },
  'GET /artifacts/audit/export/user/{username}': {
    summary: 'Exports what one user did: `username`, `exported_at`, `entries`, newest first, and their `count`.',
    access: 'auditor+',
    params: Type.Object({ username: Type.String({ minLength: 1, maxLength: 200 }) }),
    reply: 'file',
    types: ['application/json'],
  },
  'GET /artifacts/audit/integrity': {
    summary: 'Verifies the hash chain of the audit log: no line was changed, inserted or removed.',
    details:
      'What retention removed is no fault where the log records it: `cut` says what, when and by which rule. A restore keeps the log; where it could not, `replaced` says so.',
    access: 'auditor+',
    reply: Type.Unsafe<Integrity>(
      Type.Object({
        ok: Type.Boolean(),
        checked_at: Type.String({ format: 'date-time' }),
        file_count: Type.Integer(),
        total: Type.Integer(),
        files: Type.Array(
          Type.Object({ file: Type.String(), sha256: Type.String(), size: Type.Integer(), lines: Type.Integer() }),
        ),
        lines: Type.Integer(),
        cut: OrNull(
          Type.Object({
            at: Type.String({ format: 'date-time' }),
            by: Type.String(),
            days: Type.Integer(),
            files: Type.Integer(),
            lines: Type.Integer(),
            last_day: Type.String(),
            hash: Type.String(),
            broken: Type.Integer({ description: 'Places at which the removed part was changed, which was accepted.' }),
          }),
        ),
        replaced: OrNull(
          Type.Object(
            {
              at: Type.String({ format: 'date-time' }),
              by: Type.String(),
              of: Type.String({ format: 'date-time' }),
              aside: Type.Optional(Type.String({ description: 'Below REPOS_ROOT.' })),
            },
            {
              description:
                'The newest restore that put the log of a backup in the place of the one that was there. Lines from `of` to `at` are in the other one alone.',
            },
          ),
        ),
        broken: Type.Array(Type.Object({ file: Type.String(), line: Type.Integer(), why: Type.String() })),
      }),
    ),
  },
})
