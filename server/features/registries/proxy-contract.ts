import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { listed } from '../../core/schemas.ts'

/** A version of an upstream that clients do not get. */
export interface HiddenVersion {
  readonly package: string
  readonly version: string
  readonly arch: string
  /**
   * `malicious`; `blocked`, `review`, `license`: by the policy; `lookalike`: by its name; `young`; `unjudged`: it was
   * listed just now; `here`: its package waits here, or was refused.
   */
  readonly because: string
  readonly said: string
  readonly published_at: string | null
  readonly seen_at: string
  /** When it is old enough; null where it is not hidden for its age, or has no date. */
  readonly ripe_at: string | null
  /** The state of its package here; null where its bytes never came. */
  readonly status: string | null
  /** One that holds; what is malicious, or waits here for what an engine said, stays hidden all the same. */
  readonly waiver: { readonly reason: string; readonly by: string; readonly expires_at: string } | null
}

/** A version that a person lets through. */
export interface WaiverView {
  readonly package: string
  readonly version: string
  readonly reason: string
  readonly by: string
  readonly at: string
  readonly expires_at: string
  readonly expired: boolean
}

/** A name that was asked for through a proxy. */
export interface AskedNameView {
  readonly package: string
  /**
   * `answered`; `missing`: the upstream has no such name; `failed`: it could not be asked when it was asked last;
   * `refused`: it gave no usable answer, or its address is not asked; `reserved`: the name belongs to the house, and
   * nothing was asked outside.
   */
  readonly outcome: string
  readonly versions: number
  /** When the upstream last answered about it; null: never. */
  readonly checked_at: string | null
  /** When it was asked last. */
  readonly tried_at: string
  /** Why it said nothing then; null where it did. */
  readonly said: string | null
  /** A name of the house, or a pattern of names, that it looks like, where the caller sees the registry that has it. */
  readonly looks_like: { readonly name: string; readonly registry: string } | null
}

const Text = Type.String()
const OrNull = Type.Union([Text, Type.Null()])
const Count = Type.Integer({ minimum: 0 })
const Name = Type.Object({ name: Type.String({ minLength: 1, maxLength: 80 }) })
const Page = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
}
const Search = Type.Optional(Type.String({ maxLength: 200 }))
const Paged = { name: Text, total: Count, page: Count, per_page: Count }
const Of = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 80 }),
  package: Type.String({ minLength: 1, maxLength: 400 }),
  version: Type.String({ minLength: 1, maxLength: 400 }),
})

const Hidden = Type.Object({
  package: Text,
  version: Text,
  arch: Text,
  because: Text,
  said: Text,
  published_at: OrNull,
  seen_at: Text,
  ripe_at: OrNull,
  status: OrNull,
  waiver: Type.Union([Type.Object({ reason: Text, by: Text, expires_at: Text }), Type.Null()]),
})
const Waiver = Type.Object({
  package: Text,
  version: Text,
  reason: Text,
  by: Text,
  at: Text,
  expires_at: Text,
  expired: Type.Boolean(),
})
const Asked = Type.Object({
  package: Text,
  outcome: Text,
  versions: Count,
  checked_at: OrNull,
  tried_at: Text,
  said: OrNull,
  looks_like: Type.Union([Type.Object({ name: Text, registry: Text }), Type.Null()]),
})

interface PageOf {
  readonly name: string
  readonly total: number
  readonly page: number
  readonly per_page: number
}

const limit = { bucket: 'registries', perMinute: 30 }
const FAILS = ['registry_not_found', 'not_a_proxy', 'outside_distribution'] as const

/** What a registry that reads through hides, and what a person lets through all the same. */
export const proxies = contract({
  'GET /registries/{name}/hidden': {
    summary: 'Lists the versions of an upstream that clients do not get, and why.',
    details:
      'Newest first, as they were judged when their names were last asked for, without those that a waiver lets through. Versions that the policy would hold come in when a client asks for their exact file, and wait for a review then.',
    access: 'any',
    params: Name,
    query: Type.Object({
      q: Search,
      because: Type.Optional(
        listed<string>(['malicious', 'blocked', 'review', 'license', 'lookalike', 'young', 'unjudged', 'here']),
      ),
      ...Page,
    }),
    reply: Type.Unsafe<PageOf & { readonly hidden: readonly HiddenVersion[] }>(
      Type.Object({ ...Paged, hidden: Type.Array(Hidden) }),
    ),
    fails: ['registry_not_found', 'not_a_proxy'],
  },
  'GET /registries/{name}/asked': {
    summary: 'Lists the names that somebody asked for through a registry, and what its upstream said of them.',
    details:
      '`outcome` is `answered`, `missing`, `failed`, `refused` or `reserved`: a reserved name belongs to the house and was not asked for outside; it is listed for those who see a registry that has it. `looks_like` names what belongs to a registry of the same format and could be meant: other separators, letters that look alike, a letter more, less or other, a scope as a word, a word such as `node-` around it. It is a mark and stops nothing, unless the registry has the rule `hold_lookalikes`.',
    access: 'any',
    params: Name,
    query: Type.Object({
      q: Search,
      lookalike: Type.Optional(Type.Boolean({ description: 'Only names that look like one of the house.' })),
      ...Page,
    }),
    reply: Type.Unsafe<PageOf & { readonly asked: readonly AskedNameView[] }>(
      Type.Object({ ...Paged, asked: Type.Array(Asked) }),
    ),
    fails: ['registry_not_found', 'not_a_proxy'],
  },
  'GET /registries/{name}/waivers': {
    summary: 'Lists the versions that a person lets through, with those whose time is over.',
    access: 'any',
    params: Name,
    query: Type.Object(Page),
    reply: Type.Unsafe<PageOf & { readonly waivers: readonly WaiverView[] }>(
      Type.Object({ ...Paged, waivers: Type.Array(Waiver) }),
    ),
    fails: ['registry_not_found', 'not_a_proxy'],
  },
  'PUT /registries/{name}/packages/{package}/versions/{version}/waiver': {
    summary: 'Lets a version of an upstream through for some days, although its age or the policy hides it.',
    details:
      'It still passes the gate when it is first asked for: what an engine refuses there, or could not look at, waits for a person. Nothing lets a version through that a record names as malicious. A version that came in meanwhile stays when the time is over.',
    access: 'maintainer+',
    scoped: 'distribution',
    limit,
    params: Of,
    body: Type.Object(
      {
        reason: Type.String({ minLength: 1, maxLength: 500 }),
        expires_in_days: Type.Integer({ minimum: 1, maximum: 365 }),
      },
      { additionalProperties: false },
    ),
    reply: Type.Unsafe<WaiverView>(Waiver),
    fails: [...FAILS, 'bad_registry', 'waiver_of_malicious'],
  },
  'DELETE /registries/{name}/packages/{package}/versions/{version}/waiver': {
    summary: 'Lets a version no longer through. What came in meanwhile stays.',
    access: 'maintainer+',
    scoped: 'distribution',
    limit,
    params: Of,
    reply: 'none',
    status: 204,
    fails: [...FAILS, 'waiver_not_found'],
  },
})
