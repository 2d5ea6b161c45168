import { Type, type TSchema, type TUnsafe } from '@sinclair/typebox'
import { SEVERITIES, SEVERITY_SOURCES } from '../core/findings.ts'
import { PACKAGE_KINDS, STATES } from '../core/manifest.ts'
import { MARK_KINDS, type SaidMark } from '../core/mark.ts'
import { INSTALL_FACT_KINDS } from '../core/install-facts.ts'
import { STEP_NAMES } from '../core/report.ts'
import type { Page } from './page.ts'
import { PACKAGE_ORDERS } from './queries/search.ts'
import type { PackageDetail, PackageItem } from './view.ts'
import { ArchFilter, listed, oneOf, OrNull, Text, Time } from '../core/schemas.ts'

const Names = Type.Array(Text)
const CveStatus = Type.String({ enum: ['approved', 'pending_review', 'blocked'] })

/** The states as a query value. */
export const StateQuery = oneOf(STATES)
/** What a package is, as a query value. */
export const KindQuery = listed(PACKAGE_KINDS)
export const OrderQuery = oneOf(PACKAGE_ORDERS)

/** A search term: at most 200 characters, searched literally. */
export const Term = Type.String({ maxLength: 200 })

/** `page` and `per_page` of a list query; spread into its object. */
export function pagingQuery(most: number) {
  return {
    page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: most })),
  }
}

/** What lists of packages can be narrowed to; spread into a query. */
export const PACKAGE_QUERY = {
  q: Type.Optional(Term),
  search: Type.Optional(Term),
  state: Type.Optional(StateQuery),
  status: Type.Optional(StateQuery),
  kind: Type.Optional(KindQuery),
  arch: ArchFilter,
  ...pagingQuery(200),
}

/** The schema of a page, typed by what its items are. */
export function pageSchema<T>(item: TSchema): TUnsafe<Page<T>> {
  return Type.Unsafe<Page<T>>(
    Type.Object({
      items: Type.Array(item),
      total: Type.Integer(),
      page: Type.Integer(),
      per_page: Type.Integer(),
      pages: Type.Integer(),
    }),
  )
}

/** A package as answers name it. */
export const NAMED = { name: Text, version: Text, arch: Text, distribution: Text, format: Text }

/** A finding as answers show it. */
export const FindingSchema = Type.Object({
  id: Text,
  package: Text,
  severity: Type.String({ enum: [...SEVERITIES] }),
  severity_source: Type.Optional(
    Type.String({ enum: [...SEVERITY_SOURCES], description: 'Whose word the severity is.' }),
  ),
  severity_said: Type.Optional(Type.String({ description: 'The same in words.' })),
  detected_by: Names,
  fixed_version: OrNull(Text),
  why: Type.Array(Text, {
    description: 'Which file, which rule, which record and data of which day say so, in sentences.',
  }),
})

/** One step of the gate. */
export const StepSchema = Type.Object({
  name: Type.String({ enum: [...STEP_NAMES] }),
  passed: Type.Boolean(),
  verdict: Text,
  message: Text,
  detail: Text,
  warning: Type.Boolean(),
  holds: Type.Boolean({ description: 'Whether the policy asked for a review because of this step.' }),
  took_ms: Type.Optional(Type.Integer({ description: 'Of the step at the gate; absent where it was not measured.' })),
})

/** What a package carries inside, in short. */
const ContentsSchema = Type.Object(
  {
    shipped: Type.Integer(),
    declared: Type.Integer({ description: 'Components that a file only wants: listed, and not judged.' }),
    unopened: Type.Array(Type.Object({ path: Text, size: Type.Integer(), why: Text })),
    more: Type.Optional(Type.Integer({ description: 'How many more were not opened.' })),
    cut: Type.Optional(Type.String({ description: 'Why the rest of the package was not read.' })),
  },
  { description: 'Absent where nothing inside has a name, and all of it was read.' },
)

/** One thing that installing a package does. */
export const InstallFactSchema = Type.Object({
  kind: Type.String({ enum: [...INSTALL_FACT_KINDS] }),
  path: Type.String({ description: 'The script, or the file from the root of the package.' }),
  line: Type.Optional(Type.Integer()),
  text: Type.Optional(Text),
  hosts: Type.Optional(Type.Array(Text, { description: 'Hosts that are contacted.' })),
  listens: Type.Optional(Type.Array(Text, { description: 'Where a unit listens.' })),
  said: Type.String({ description: 'The same in words.' }),
})

/** What installing a package does. */
export const InstallSchema = Type.Object(
  {
    scripts: Type.Array(Type.Object({ name: Text, interpreter: Text, lines: Type.Integer(), sha256: Text })),
    facts: Type.Array(InstallFactSchema),
    more: Type.Optional(Type.Integer({ description: 'How many facts there are beyond these.' })),
  },
  { description: 'Absent where installing it only puts plain files in their places, or nobody has looked.' },
)

/** The reports of the gate, step by step. */
export const ValidationSchema = Type.Object({
  passed: Type.Boolean(),
  cve_status: CveStatus,
  deps_missing: Names,
  publication: Text,
  steps: Type.Array(StepSchema),
  contents: Type.Optional(ContentsSchema),
  install: Type.Optional(InstallSchema),
  since: Type.Optional(
    Type.Object(
      { version: Text, said: Text },
      { description: 'What of that is new since the version that clients had before.' },
    ),
  ),
})

/** Whether people should leave a version that is served. */
export const MarkSchema = OrNull(
  Type.Unsafe<SaidMark>(
    Type.Object(
      { kind: Type.String({ enum: [...MARK_KINDS] }), reason: Text },
      {
        description:
          '`yanked`: clients take it only by its exact number. `deprecated`: they warn when they install it.',
      },
    ),
  ),
)

/** One row of a package list. */
export const PackageItemSchema = Type.Unsafe<PackageItem>(
  Type.Object({
    ...NAMED,
    kind: KindQuery,
    status: Type.String({ enum: [...STATES] }),
    cve_status: CveStatus,
    severity: OrNull(Text),
    findings: Type.Integer(),
    warned: Type.Boolean(),
    scanned: Type.Boolean(),
    mark: MarkSchema,
    filename: OrNull(Text),
    size: Type.Integer(),
    sha256: Text,
    summary: Text,
    uploaded_by: Text,
    source: Text,
    created_at: Time,
    updated_at: Time,
  }),
)

/** Everything about one package. */
export const PackageDetailSchema = Type.Unsafe<PackageDetail>(
  Type.Object({
    ...NAMED,
    kind: KindQuery,
    status: Type.String({ enum: [...STATES] }),
    manifest_status: Text,
    cve_status: CveStatus,
    severity: OrNull(Text),
    scanned: Type.Boolean(),
    mark: MarkSchema,
    filename: Text,
    size: Type.Integer(),
    sha256: Text,
    sha512: Text,
    sha1: Text,
    md5: Text,
    signed: OrNull(Type.Object({ key: Text, at: Time, received_sha256: Text })),
    files: Type.Optional(Type.Array(Type.Object({ path: Text, size: Type.Integer(), sha256: Text }))),
    summary: Text,
    description: Text,
    source_package: Text,
    source_version: Text,
    homepage: OrNull(Text),
    maintainer: OrNull(Text),
    section: OrNull(Text),
    license: OrNull(Text),
    installed_size: OrNull(Type.Integer()),
    depends: Names,
    provides: Names,
    conflicts: Names,
    pipeline: Type.Object({ antivirus: Text, cve_scan: Text, gpg: Text, dependencies: Text }),
    validation: ValidationSchema,
    cves: Type.Array(FindingSchema),
    decision: OrNull(Type.Object({})),
    uploaded_by: Text,
    source: Text,
    created_at: Time,
    updated_at: Time,
  }),
)
