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
  files: Type.Array(Type.Object({ name: Word, sha256: Hex }), { minItems: 1, maxItems: 300 }),
  /**
   * Needs that only packages of this bundle or assumed ones meet: for each the places of those that do, counted through
   * `packages` and then `assumes`.
   */
  needs: Type.Optional(Type.Array(Type.Array(Index))),
  /** Of a version of a registry: when clients could get it first. */
  published_at: Type.Optional(Word),
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

/** The most tags of one name, and of a bundle; and the most marks. */
export const MOST_TAGS_OF_NAME = 2_000
const MOST_TAGS = 200_000
const MOST_MARKS = 200_000

/** What is said of a version outside its files. Nothing of it: no mark, or one that was there is taken away. */
export const MarkSchema = Type.Object({
  deprecated: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 })),
  yanked: Type.Optional(Type.Object({ reason: Type.String({ maxLength: 1_000 }) })),
})
export type CarriedMark = Static<typeof MarkSchema>

/** Each `of` is a place, counted through `packages` and then `assumes`. */
const WordsSchema = Type.Object({
  /** `at`: when it was moved there, ISO 8601. */
  tags: Type.Array(Type.Object({ of: Index, tag: Word, at: Word }), { maxItems: MOST_TAGS }),
  marks: Type.Array(Type.Object({ of: Index, mark: MarkSchema }), { maxItems: MOST_MARKS }),
  /** Every tag that the name of a version has there: others that came from there are gone. Absent: not said. */
  sets: Type.Optional(
    Type.Array(Type.Object({ of: Index, tags: Type.Array(Word, { maxItems: MOST_TAGS }) }), { maxItems: MOST_TAGS }),
  ),
})
export type BundledWords = Static<typeof WordsSchema>

/** The first member of a bundle: what is in it, for whom, and what it builds on. */
export const ManifestSchema = Type.Object({
  /** 2: it carries registries. Releases that know only distributions read 1 alone, and refuse it whole. */
  format: Type.Union([Type.Literal(1), Type.Literal(2)]),
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
  /** Tags and marks of versions of registries; there with format 2, and only there. */
  registries: Type.Optional(WordsSchema),
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
  /** Tags of registries there: format, codename, name, tag, version. Absent: it is of an earlier release. */
  tags: Type.Optional(Type.Array(Type.Tuple([Word, Word, Word, Word, Word]))),
  /** Those of hosted registries that came in bundles of the sender: format, codename, name, tag. */
  brought_tags: Type.Optional(Type.Array(Type.Tuple([Word, Word, Word, Word]))),
  /** Marks that came in bundles. */
  marks: Type.Optional(Type.Array(Type.Object({ ref: RefSchema, mark: MarkSchema }))),
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

function needFormat(value: unknown, what: 'bundle' | 'receipt'): void {
  const { format, kind } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  if (kind !== what) malformed(`it is no ${what}`)
  if (format !== 1 && !(what === 'bundle' && format === 2))
    malformed(
      `it has the format ${String(format).slice(0, 20)}, and this release reads ${what === 'bundle' ? '1 and 2' : '1'}; take a newer release`,
    )
}

function firstFault(value: unknown, schema: typeof ManifestSchema | typeof ReceiptSchema, what: string): never {
  const [fault] = [...Value.Errors(schema, value)]
  return malformed(`the list of the ${what} is wrong at ${fault?.path ?? '/'}`)
}

/** A name as a file of a package may have: no way out of a folder, and nothing that no file system takes. */
const isPlainPath = (name: string): boolean =>
  // eslint-disable-next-line no-control-regex -- they are what is refused
  !/[\\\x00-\x1f\x7f]/.test(name) && name.split('/').every(part => part !== '' && part !== '.' && part !== '..')

/** @throws Malformed for tags and marks of what the bundle does not name, and for too many */
function needWords({ format, registries, packages, assumes }: BundleManifest): void {
  if ((registries !== undefined) !== (format === 2)) malformed('its format and what it says of registries differ')
  if (registries === undefined) return
  const refOf = (of: number): RefRow =>
    refAt({ packages, assumes }, of) ?? malformed('it says something of a version that it does not name')
  const tags = new Map<string, Set<string>>()
  for (const { of, tag, at } of registries.tags) {
    const [ref, codename, name] = refOf(of)
    if (Number.isNaN(Date.parse(at))) malformed(`its date of the tag ${JSON.stringify(tag)} is none`)
    const key = `${ref} ${codename} ${name}`
    const seen = tags.get(key) ?? new Set()
    if (seen.has(tag)) malformed(`it names the tag ${JSON.stringify(tag)} of ${name} twice`)
    tags.set(key, seen.add(tag))
    if (seen.size > MOST_TAGS_OF_NAME) malformed(`it has more than ${MOST_TAGS_OF_NAME} tags of ${name}`)
  }
  const whole = new Set<string>()
  let named = 0
  for (const { of, tags: all } of registries.sets ?? []) {
    const [ref, codename, name] = refOf(of)
    const key = `${ref} ${codename} ${name}`
    if (whole.has(key)) malformed(`it says twice which tags ${name} has`)
    whole.add(key)
    named += all.length
    if (named > MOST_TAGS) malformed(`it names more than ${MOST_TAGS} tags`)
    const missing = [...(tags.get(key) ?? [])].find(tag => !all.includes(tag))
    if (missing !== undefined) malformed(`it has the tag ${JSON.stringify(missing)} of ${name}, and says it is gone`)
  }
  const marked = new Set<number>()
  for (const { of } of registries.marks) {
    refOf(of)
    if (marked.has(of)) malformed('it marks a version twice')
    marked.add(of)
  }
}

/** @throws Malformed for one that this release does not read */
export function readManifest(bytes: Buffer): BundleManifest {
  const value = parse(bytes, 'bundle')
  needFormat(value, 'bundle')
  if (!Value.Check(ManifestSchema, value)) return firstFault(value, ManifestSchema, 'bundle')
  const members = new Set(value.files.map(({ sha256 }) => sha256))
  if (members.size !== value.files.length) malformed('the list of the bundle names a member twice')
  for (const { files } of value.packages)
    for (const { name, sha256 } of files) {
      if (!members.has(sha256)) malformed(`the list of the bundle has no member for ${JSON.stringify(name)}`)
      if (value.format === 2 && !isPlainPath(name))
        malformed(`the list of the bundle calls a file ${JSON.stringify(name)}`)
    }
  for (const { published_at: at } of value.packages)
    if (at !== undefined && Number.isNaN(Date.parse(at))) malformed('the list of the bundle has a date that is none')
  needWords(value)
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

/** The version that a place of a bundle means. */
export const refAt = (
  { packages, assumes }: Pick<BundleManifest, 'packages' | 'assumes'>,
  of: number,
): RefRow | undefined => packages[of]?.ref ?? assumes[of - packages.length]

/** The distributions and registries that a bundle brings something of. */
export function codenamesIn(manifest: BundleManifest): string[] {
  const { packages, registries = { tags: [], marks: [] } } = manifest
  const said = [...registries.tags, ...registries.marks, ...(registries.sets ?? [])].flatMap(
    ({ of }) => refAt(manifest, of)?.[1] ?? [],
  )
  return [...new Set([...packages.map(({ ref }) => ref[1]), ...said])]
}

/** A version as one text, for sets. */
export const keyOfRow = (ref: RefRow): string => ref.join(' ')

/** A mark as one text, for comparing. */
export const keyOfMark = ({ deprecated, yanked }: CarriedMark): string =>
  JSON.stringify([deprecated ?? null, yanked?.reason ?? null])

/** `openssl 3.0.18-1 (amd64, bookworm)`, for people. */
export const printRow = ([, codename, name, version, arch]: RefRow): string =>
  `${name} ${version} (${arch}, ${codename})`
