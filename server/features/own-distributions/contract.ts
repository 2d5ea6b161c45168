import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'

/** A distribution as its maker or an admin defines it. */
export interface DefinitionView {
  readonly codename: string
  readonly format: string
  readonly label: string
  readonly architectures: readonly string[]
  readonly components: readonly string[]
  readonly suite: string
  readonly origin: string
  readonly release_label: string
  readonly version: string | null
  readonly description_line: string
  /** Null: its packages are not scanned for vulnerabilities. */
  readonly scanner: string | null
  readonly based_on: string | null
  /** The last day of free security updates, `YYYY-MM-DD`. */
  readonly end_of_life: string | null
  /** A retired distribution is served but takes no packages. */
  readonly retired: boolean
  readonly builtin: boolean
}

const OrNull = (text = Type.String()) => Type.Union([text, Type.Null()])
const Line = Type.Optional(Type.String({ minLength: 1, maxLength: 200 }))
const Names = Type.Array(Type.String({ minLength: 1, maxLength: 40 }), { minItems: 1, maxItems: 20 })
const Codename = Type.Object({ codename: Type.String({ maxLength: 80 }) })

const FIELDS = {
  label: Line,
  architectures: Type.Optional(Names),
  components: Type.Optional(Names),
  suite: Line,
  origin: Line,
  release_label: Line,
  version: Line,
  description_line: Line,
  scanner: Type.Optional(OrNull(Type.String({ minLength: 1, maxLength: 60 }))),
  end_of_life: Type.Optional(OrNull(Type.String({ minLength: 10, maxLength: 10 }))),
}
const View = Type.Unsafe<DefinitionView>(
  Type.Object({
    codename: Type.String(),
    format: Type.String(),
    label: Type.String(),
    architectures: Type.Array(Type.String()),
    components: Type.Array(Type.String()),
    suite: Type.String(),
    origin: Type.String(),
    release_label: Type.String(),
    version: OrNull(),
    description_line: Type.String(),
    scanner: OrNull(),
    based_on: OrNull(),
    end_of_life: OrNull(),
    retired: Type.Boolean(),
    builtin: Type.Boolean(),
  }),
)
const limit = { bucket: 'distributions', perMinute: 5 }

/** Own distributions of an admin, and changes to the default set. */
export const ownDistributions = contract({
  'GET /distributions/{codename}/definition': {
    summary:
      'Shows the definition of a distribution: architectures, components, fields of its index, scanner, end of life.',
    access: 'any',
    params: Codename,
    reply: View,
    fails: ['distribution_not_found'],
  },
  'POST /distributions/': {
    summary:
      'Adds a distribution. Missing fields follow `based_on`, or the format. With `scanner` null its packages are not scanned.',
    leader: true,
    access: 'admin',
    limit,
    body: Type.Object(
      {
        codename: Type.String({ minLength: 1, maxLength: 80 }),
        format: Type.Optional(Type.String({ minLength: 1, maxLength: 40 })),
        based_on: Type.Optional(Type.String({ minLength: 1, maxLength: 80 })),
        ...FIELDS,
      },
      { additionalProperties: false },
    ),
    reply: View,
    status: 201,
    fails: ['bad_distribution', 'distribution_exists'],
  },
  'PATCH /distributions/{codename}': {
    summary: 'Changes a distribution. An architecture or component can be removed only when it has no packages.',
    leader: true,
    access: 'admin',
    params: Codename,
    body: Type.Object(FIELDS, { additionalProperties: false }),
    reply: View,
    fails: ['distribution_not_found', 'bad_distribution', 'distribution_in_use'],
  },
  'DELETE /distributions/{codename}': {
    summary: 'Removes a distribution of your own that has no packages.',
    leader: true,
    access: 'admin',
    params: Codename,
    reply: 'none',
    status: 204,
    fails: ['distribution_not_found', 'distribution_builtin', 'distribution_in_use'],
  },
  'POST /distributions/{codename}/retire': {
    summary: 'Retires a distribution: it takes no more packages and stays served as it is.',
    leader: true,
    access: 'admin',
    limit,
    params: Codename,
    reply: View,
    fails: ['distribution_not_found'],
  },
  'POST /distributions/{codename}/reactivate': {
    summary: 'Lets a retired distribution take packages again.',
    leader: true,
    access: 'admin',
    limit,
    params: Codename,
    reply: View,
    fails: ['distribution_not_found'],
  },
})
