import { Type } from '@sinclair/typebox'
import { NAMED } from '../../catalog/schemas.ts'
import type { NamedVersion } from '../../catalog/view.ts'
import { contract } from '../../core/contract.ts'
import { NameVersion, OrNull, Text, Time } from '../../core/schemas.ts'
import { VEX_STATUSES, type VexStatus } from '../../core/vex.ts'
import { StateName, WhereQuery } from '../../review/schemas.ts'

/** A statement about a vulnerability, and whether the package has a finding of it. */
export interface StatementView {
  readonly vulnerability: string
  readonly aliases: readonly string[]
  readonly status: VexStatus
  /** Package URLs; empty: the package and everything in it. */
  readonly components: readonly string[]
  readonly said: string | null
  readonly at: string
  /** The findings of the package that it speaks of. */
  readonly findings: readonly string[]
}

export interface VexDocumentView {
  readonly sha256: string
  readonly format: string
  readonly id: string
  readonly author: string
  readonly issued: string
  readonly sent_by: string
  readonly sent_at: string
  /** Null while nobody has taken its word: it closes nothing. */
  readonly accepted_by: string | null
  readonly accepted_at: string | null
  /** The findings that its word closes now. */
  readonly closes: readonly string[]
  readonly statements: readonly StatementView[]
}

export interface VexList extends NamedVersion {
  readonly documents: readonly VexDocumentView[]
}

export interface VexChange extends VexList {
  readonly previous_status: string
  readonly message: string
}

const Document = Type.Object({
  sha256: Text,
  format: Text,
  id: Text,
  author: Text,
  issued: Time,
  sent_by: Text,
  sent_at: Time,
  accepted_by: OrNull(Text),
  accepted_at: OrNull(Time),
  closes: Type.Array(Text),
  statements: Type.Array(
    Type.Object({
      vulnerability: Text,
      aliases: Type.Array(Text),
      status: Type.Union(VEX_STATUSES.map(status => Type.Literal(status))),
      components: Type.Array(Text),
      said: OrNull(Text),
      at: Time,
      findings: Type.Array(Text),
    }),
  ),
})
const LIST = { ...NAMED, status: StateName, cve_status: Text, documents: Type.Array(Document) }
const Change = Type.Unsafe<VexChange>(Type.Object({ ...LIST, previous_status: StateName, message: Text }))

const DocumentParams = Type.Object({ ...NameVersion.properties, sha256: Type.String({ maxLength: 64 }) })
const FAILS = ['unknown_distribution', 'package_not_found', 'version_not_found', 'ambiguous_version'] as const
const WRITE_FAILS = [...FAILS, 'outside_distribution'] as const

/** The document stands in a form alone. */
export const VEX_FORM = Type.Object({})

/** What suppliers say of the vulnerabilities of a package. */
export const supplierVex = contract({
  'GET /security/packages/{name}/{version}/vex': {
    summary: "Lists the suppliers' VEX documents beside a version, and the findings that their word closes.",
    access: 'any',
    params: NameVersion,
    query: WhereQuery,
    fails: FAILS,
    reply: Type.Unsafe<VexList>(Type.Object(LIST)),
  },
  'POST /security/packages/{name}/{version}/vex': {
    summary: "Puts a supplier's VEX document beside one version in one distribution.",
    details:
      'OpenVEX 0.2, CycloneDX 1.4 to 1.6 or CSAF 2.0 and 2.1, as JSON, at most 8 MB, as the body itself or as `file` of multipart/form-data. Statements of `not_affected` and `fixed` about the package, or about components in it, close its findings; the latest statement counts. Sent by a maintainer or an admin, the document counts at once; sent by an uploader or with a token for uploads, or where `review.four_eyes` asks for another person, it closes nothing until somebody accepts it. Of the document the statements about the package, its author, date and digest are kept.',
    access: 'uploader+',
    scoped: 'upload',
    limit: { bucket: 'vex', perMinute: 60 },
    params: NameVersion,
    query: WhereQuery,
    upload: 'data',
    form: VEX_FORM,
    status: 201,
    fails: [...WRITE_FAILS, 'bad_vex', 'upload_too_large', 'upload_incomplete'],
    reply: Change,
  },
  'POST /security/packages/{name}/{version}/vex/{sha256}/accept': {
    summary: 'Takes the word of a document: the findings that it closes count no longer.',
    access: 'maintainer+',
    scoped: 'distribution',
    params: DocumentParams,
    query: WhereQuery,
    fails: [...WRITE_FAILS, 'vex_not_found', 'four_eyes'],
    reply: Change,
  },
  'DELETE /security/packages/{name}/{version}/vex/{sha256}': {
    summary: 'Removes a document: the findings that it closed count again, by the policy of today.',
    access: 'maintainer+',
    scoped: 'distribution',
    params: DocumentParams,
    query: WhereQuery,
    fails: [...WRITE_FAILS, 'vex_not_found'],
    reply: Change,
  },
})
