import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { malformed } from '../../lib/limited.ts'

const Hex = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Word = Type.String({ minLength: 1, maxLength: 300 })
const Size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Index = Type.Integer({ minimum: 0 })
const Fingerprint = Type.String({ pattern: '^[0-9A-F]{40,64}$' })

/** What a site is called, in bundles and file names. */
export const SITE_NAME = '^[a-z0-9][a-z0-9-]{0,39}$'

/** A version as rows of lists: format, codename, name, version, architecture. */
export const RefSchema = Type.Tuple([Word, Word, Word, Word, Word])
export type RefRow = Static<typeof RefSchema>

const PackageSchema = Type.Object({
  ref: RefSchema,
  component: Type.Optional(Word),
  /** First the one that is inspected. Each is a member of the bundle. */
  files: Type.Array(Type.Object({ name: Word, sha256: Hex }), { minItems: 1, maxItems: 100 }),
  /**
   * Needs that only packages of this bundle or assumed ones meet: for each the places of those that do, counted through
   * `packages` and then `assumes`.
   */
  needs: Type.Optional(Type.Array(Type.Array(Index))),
})
export type BundledPackage = Static<typeof PackageSchema>

const DataSchema = Type.Object({
  /** `vulnerability`: a file of a feed; `antivirus`: a file of signatures; others are of later releases. */
  kind: Word,
  /** `osv/Debian/all.zip`, `daily.cvd`. */
  name: Word,
  sha256: Hex,
  /** ISO 8601, where it is known. */
  as_of: Type.Optional(Word),
  /** The distribution that a file of advisories is for, where it does not say so. */
  distribution: Type.Optional(Word),
  /** Whether it holds all of its source. */
  whole: Type.Optional(Type.Boolean()),
})
export type BundledData = Static<typeof DataSchema>

/** The first member of a bundle: what is in it, for whom, and what it builds on. */
export const ManifestSchema = Type.Object({
  format: Type.Literal(1),
  kind: Type.Literal('bundle'),
  /** `north-0003`. */
  name: Word,
  site: Type.String({ pattern: SITE_NAME }),
  /** Counts the bundles for this site from 1. */
  number: Type.Integer({ minimum: 1, maximum: 999_999_999 }),
  created_at: Word,
  /** The release that made it. */
  version: Word,
  /** The installation that made it, and how people call it. */
  sender: Type.Object({ id: Word, name: Word }),
  based_on: Type.Object({
    kind: Type.Union([Type.Literal('all'), Type.Literal('receipt'), Type.Literal('bundle')]),
    /** Bundles up to this one are taken to have arrived; 0: none. */
    number: Type.Integer({ minimum: 0 }),
    /** When the receipt that it answers was made, and the highest number in it: what it lacks of those comes. */
    receipt: Type.Union([Word, Type.Null()]),
    since: Type.Integer({ minimum: 0 }),
    /** It holds less than bundles since then did, by names or distributions: it makes none of them good. */
    partial: Type.Boolean(),
  }),
  packages: Type.Array(PackageSchema),
  /** Packages that it leaves out because the site is taken to have them. */
  assumes: Type.Array(RefSchema),
  data: Type.Array(DataSchema),
  /** Every other member, in the order of the file. */
  files: Type.Array(Type.Object({ sha256: Hex, size: Size })),
})
export type BundleManifest = Static<typeof ManifestSchema>

/** What became of a package that is not published there. */
export const NOT_TAKEN = ['held', 'refused', 'upstream_changed', 'waits'] as const
export const RECEIPT_STATES = ['published', 'pending_review', 'quarantined', 'rejected'] as const

/** What a site has and what became of the bundles that came; small, for the way back. */
export const ReceiptSchema = Type.Object({
  format: Type.Literal(1),
  kind: Type.Literal('receipt'),
  name: Word,
  site: Type.String({ pattern: SITE_NAME }),
  created_at: Word,
  version: Word,
  /** The installation it is for: the sender of the bundles. */
  sender: Type.Object({ id: Word }),
  /** The highest number that was taken; 0: none. */
  number: Type.Integer({ minimum: 0 }),
  bundles: Type.Array(
    Type.Object({
      number: Type.Integer({ minimum: 1 }),
      sha256: Hex,
      taken_at: Word,
      packages: Size,
      published: Size,
      already: Size,
      held: Size,
      refused: Size,
      /** Are there with other bytes; absent: none. */
      upstream_changed: Type.Optional(Size),
      waits: Size,
      /** Numbers that it builds on and that had not come. */
      missing: Type.Array(Type.Integer({ minimum: 1 })),
      not_published: Type.Array(
        Type.Object({
          ref: RefSchema,
          outcome: Type.Union(NOT_TAKEN.map(one => Type.Literal(one))),
          why: Type.String({ maxLength: 1_000 }),
        }),
      ),
    }),
  ),
  /** Everything there, with the digest of its first file as it came. */
  packages: Type.Array(
    Type.Object({ ref: RefSchema, sha256: Hex, state: Type.Union(RECEIPT_STATES.map(one => Type.Literal(one))) }),
  ),
  /** Digests of the files that the data there were loaded from. */
  data: Type.Array(Hex),
})
export type Receipt = Static<typeof ReceiptSchema>

/** A pinned key as people write it: upper case without spaces. */
export const FingerprintSchema = Fingerprint

/** `north-0003` */
export const bundleName = (site: string, number: number): string => `${site}-${String(number).padStart(4, '0')}`

export const BUNDLE_ENDING = '.bundle.tar'
export const RECEIPT_ENDING = '.receipt.tar'

function parse(bytes: Buffer, what: string): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    return malformed(`the list of the ${what} is no JSON`, error)
  }
}

function needFormat(value: unknown, what: string): void {
  const { format, kind } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  if (kind !== what) malformed(`it is no ${what}`)
  if (format !== 1)
    malformed(`it has the format ${String(format).slice(0, 20)}, and this release reads 1; take a newer release`)
}

function firstFault(value: unknown, schema: typeof ManifestSchema | typeof ReceiptSchema, what: string): never {
  const [fault] = [...Value.Errors(schema, value)]
  return malformed(`the list of the ${what} is wrong at ${fault?.path ?? '/'}`)
}

/** @throws Malformed for one that this release does not read */
export function readManifest(bytes: Buffer): BundleManifest {
  const value = parse(bytes, 'bundle')
  needFormat(value, 'bundle')
  if (!Value.Check(ManifestSchema, value)) return firstFault(value, ManifestSchema, 'bundle')
  const members = new Set(value.files.map(({ sha256 }) => sha256))
  if (members.size !== value.files.length) malformed('the list of the bundle names a member twice')
  for (const { files } of value.packages)
    for (const { name, sha256 } of files)
      if (!members.has(sha256)) malformed(`the list of the bundle has no member for ${JSON.stringify(name)}`)
  for (const { name, sha256 } of value.data)
    if (!members.has(sha256)) malformed(`the list of the bundle has no member for ${JSON.stringify(name)}`)
  if (value.name !== bundleName(value.site, value.number) || Number.isNaN(Date.parse(value.created_at)))
    malformed('the name or the date of the bundle is wrong')
  return value
}

/** @throws Malformed for one that this release does not read */
export function readReceipt(bytes: Buffer): Receipt {
  const value = parse(bytes, 'receipt')
  needFormat(value, 'receipt')
  if (!Value.Check(ReceiptSchema, value)) return firstFault(value, ReceiptSchema, 'receipt')
  if (Number.isNaN(Date.parse(value.created_at))) malformed('the date of the receipt is wrong')
  return value
}

/** A version as one text, for sets. */
export const keyOfRow = (ref: RefRow): string => ref.join(' ')

/** `openssl 3.0.18-1 (amd64, bookworm)`, for people. */
export const printRow = ([, codename, name, version, arch]: RefRow): string =>
  `${name} ${version} (${arch}, ${codename})`
