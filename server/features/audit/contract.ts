import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { AUDIT_ACTIONS, type AuditEntry } from '../../record/audit.ts'
import type { ChainReport } from '../../record/audit-chain.ts'
import { FactsSchema } from '../../record/audit-schema.ts'
import type { Page } from '../../catalog/page.ts'

const Text = Type.Optional(Type.String({ maxLength: 200 }))
// a day, or a moment; both in UTC unless an offset is given
const Moment = Type.Optional(
  Type.String({
    maxLength: 40,
    pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2})?)?$',
  }),
)

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
  prev: Type.String(),
})

/** The audit log, read back. */
export const audit = contract({
  'GET /artifacts/audit/logs': {
    summary:
      'Lists audit entries, newest first. `q` searches package, user and detail; `from` and `to` are days or times, both included.',
    access: 'auditor+',
    query: Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
      per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
      package: Text,
      action: Text,
      result: Text,
      user: Text,
      q: Text,
      from: Moment,
      to: Moment,
    }),
    reply: Type.Unsafe<Page<AuditEntry>>(
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
  'GET /artifacts/audit/integrity': {
    summary: 'Verifies the hash chain of the audit log: no line was changed, inserted or removed.',
    access: 'auditor+',
    reply: Type.Unsafe<ChainReport>(
      Type.Object({
        ok: Type.Boolean(),
        files: Type.Integer(),
        lines: Type.Integer(),
        broken: Type.Array(Type.Object({ file: Type.String(), line: Type.Integer(), why: Type.String() })),
      }),
    ),
  },
})
