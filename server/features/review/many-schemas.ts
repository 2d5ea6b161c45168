import { Type } from '@sinclair/typebox'
import { Term } from '../../catalog/schemas.ts'
import { SEVERITIES } from '../../core/findings.ts'
import { counts, listed, OrNull, Text, Time } from '../../core/schemas.ts'
import { SCANS } from '../../catalog/queries/review-selection.ts'
import { MOST } from '../../review/bulk/preview.ts'
import { NO_SEVERITY } from '../../review/bulk/view.ts'
import { Flag, SeverityName } from '../../review/schemas.ts'

const Word = Type.Optional(Type.String({ maxLength: 100 }))
const WORDS = { decision: Word, action: Word }
const NamedSchema = { name: Text, version: Text, distribution: Text, arch: Text }
const Part = Type.String({ minLength: 1, maxLength: 300 })

/** Which packages, and the decision that is thought of. */
export const PreviewMany = Type.Object({
  ...WORDS,
  packages: Type.Optional(
    Type.Array(Type.Object({ name: Part, version: Part, distribution: Part, arch: Part }), {
      minItems: 1,
      maxItems: 500,
    }),
  ),
  filter: Type.Optional(
    Type.Object({
      q: Type.Optional(Term),
      distribution: Word,
      format: Word,
      arch: Word,
      severity: Type.Optional(listed<string>([...SEVERITIES])),
      kev: Flag,
      fixable: Flag,
      overdue: Flag,
      assigned_to: Word,
    }),
  ),
})

/** The decision about a selection. */
export const DecideMany = Type.Object({
  ...WORDS,
  selection: Type.String({ minLength: 1, maxLength: 100 }),
  justification: Type.Optional(Type.String({ maxLength: 4_000 })),
  comment: Type.Optional(Type.String({ maxLength: 4_000 })),
  confirmed: Type.Optional(Type.Array(Type.Integer({ minimum: 0 }), { maxItems: MOST })),
  expires_at: Type.Optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()])),
  expires_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_650 })),
})

export const SentSchema = Type.Object({ job_id: Text, begins_at: Time, total: Type.Integer(), message: Text })

export const ManyPreviewSchema = Type.Object({
  selection: Text,
  expires_at: Time,
  decision: Text,
  publishes: Type.Boolean(),
  total: Type.Integer(),
  decidable: Type.Integer(),
  by_severity: counts([...SEVERITIES, ...NO_SEVERITY]),
  not_scanned: counts(['any', ...SCANS]),
  kev: Type.Integer(),
  overdue: Type.Integer(),
  malicious: Type.Integer(),
  own: Type.Integer(),
  remarked: Type.Array(
    Type.Object({
      key: Type.Integer(),
      ...NamedSchema,
      severity: OrNull(SeverityName),
      overdue: Type.Boolean(),
      kev: Type.Boolean(),
      malicious: Type.Boolean(),
    }),
  ),
  remarked_count: Type.Integer(),
  left_out: Type.Array(Type.Object({ ...NamedSchema, code: Text, error: Text })),
  left_out_by_code: Type.Record(Text, Type.Integer()),
  clients: Type.Array(
    Type.Object({
      distribution: Text,
      new: Type.Integer(),
      newer: Type.Integer(),
      older: Type.Integer(),
      held_back: Type.Boolean(),
    }),
  ),
  min_reason_chars: Type.Integer(),
  undo_seconds: Type.Integer(),
})
