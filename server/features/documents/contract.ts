import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { OrNull } from '../../core/schemas.ts'
import type { DocumentCard, DocumentList } from './documents.ts'

const Codename = Type.Object({ codename: Type.String({ maxLength: 80 }) })
const Params = Type.Object({ codename: Type.String({ maxLength: 80 }), kind: Type.String({ maxLength: 40 }) })
const Key = Type.Object({
  component: Type.Optional(Type.String({ maxLength: 80 })),
  arch: Type.Optional(Type.String({ maxLength: 40 })),
  name: Type.Optional(Type.String({ maxLength: 40 })),
})
const Card = Type.Unsafe<DocumentCard>(
  Type.Object({
    kind: Type.String(),
    component: Type.String(),
    arch: Type.String(),
    name: Type.String(),
    sha256: Type.String(),
    size: Type.Integer(),
    entries: Type.Integer(),
    by: Type.String(),
    at: Type.String({ format: 'date-time' }),
  }),
)
const List = Type.Unsafe<DocumentList>(
  Type.Object({
    codename: Type.String(),
    documents: Type.Array(Card),
    kinds: Type.Array(
      Type.Object({
        kind: Type.String(),
        label: Type.String(),
        file: Type.String(),
        keys: Type.Array(Type.String()),
        name: OrNull(Type.Object({ label: Type.String(), hint: Type.String() })),
        without: Type.String(),
      }),
    ),
    notes: Type.Array(Type.String()),
  }),
)
const limit = { bucket: 'documents', perMinute: 60 }

/** A document stands in a form alone: the query names it. */
export const DOCUMENT_FORM = Type.Object({})

/** The documents of a distribution: metadata that come with a set of packages. */
export const documents = contract({
  'GET /distributions/{codename}/documents': {
    summary: 'Lists the documents served with the tree, the kinds it can have, and problems with them.',
    access: 'any',
    params: Codename,
    reply: List,
    fails: ['distribution_not_found'],
  },
  'PUT /distributions/{codename}/documents/{kind}': {
    summary: 'Adds a document to the tree, or replaces the one with the same key.',
    details:
      'Kinds for .deb: `translation` (component, name: the language), `appstream` (component, arch), `icons` (component, name: the size; a .tar.gz). For .rpm: `modules`, `group`, `updateinfo` (arch). Send it uncompressed, at most 64 MB, as the body itself or as `file` of multipart/form-data.',
    leader: true,
    access: 'maintainer+',
    limit,
    params: Params,
    query: Key,
    upload: 'data',
    form: DOCUMENT_FORM,
    reply: Card,
    fails: [
      'distribution_not_found',
      'unknown_document',
      'bad_document',
      'documents_full',
      'upload_too_large',
      'upload_incomplete',
      'uploads_stopped',
    ],
  },
  'DELETE /distributions/{codename}/documents/{kind}': {
    summary: 'Removes a document from the tree.',
    leader: true,
    access: 'maintainer+',
    limit,
    params: Params,
    query: Key,
    reply: List,
    fails: ['distribution_not_found', 'unknown_document', 'bad_document', 'document_not_found'],
  },
  'POST /distributions/{codename}/documents/copy': {
    summary:
      'Copies the documents of another distribution of the same format, replacing those with the same key. Promotion copies packages only.',
    leader: true,
    access: 'maintainer+',
    limit: { bucket: 'distributions', perMinute: 5 },
    params: Codename,
    body: Type.Object({ from_distribution: Type.String({ maxLength: 80 }) }),
    reply: List,
    fails: ['distribution_not_found', 'other_format', 'same_distribution', 'outside_distribution', 'documents_full'],
  },
})
