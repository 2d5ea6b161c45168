import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { Text } from '../../core/schemas.ts'
import { UploadResultSchema, type UploadReply } from './result.ts'

/** An error as any route answers it. */
export interface Refused {
  readonly code: string
  readonly detail: unknown
  readonly facts?: Readonly<Record<string, unknown>>
}

/** The answer for one file: what `POST /upload/` would have answered. */
export interface FileAnswer {
  readonly filename: string
  readonly status: number
  readonly body: UploadReply | Refused
}

/** The answers of a batch. */
export interface BatchReply {
  readonly distribution: string
  readonly taken: number
  readonly refused: number
  readonly files: readonly FileAnswer[]
  /** Why the files behind the last answer were not read. */
  readonly stopped?: Refused & { readonly status: number }
}

const RefusedSchema = Type.Object({
  code: Text,
  detail: Type.Unknown(),
  facts: Type.Optional(Type.Record(Text, Type.Unknown())),
})

const BatchSchema = Type.Unsafe<BatchReply>(
  Type.Object({
    distribution: Text,
    taken: Type.Integer({ description: 'Files whose package is known here now, in whatever state.' }),
    refused: Type.Integer(),
    files: Type.Array(
      Type.Object({
        filename: Text,
        status: Type.Integer({ description: 'The status that POST /upload/ would have answered with.' }),
        body: Type.Union([UploadResultSchema, RefusedSchema]),
      }),
    ),
    stopped: Type.Optional(
      Type.Object(
        { status: Type.Integer(), ...RefusedSchema.properties },
        { description: 'Why reading ended early: files behind the last answer were not taken.' },
      ),
    ),
  }),
)

/** The most files of one request. */
export const MOST_FILES = 1_000

/** The fields of a form with many packages. */
export const BATCH_FORM = Type.Object({
  distribution: Type.Optional(Text),
  component: Type.Optional(Text),
  sha256sums: Type.Optional(Text),
})

/** Many packages in one request. */
export const batches = contract({
  'POST /upload/batch': {
    summary: 'Uploads many packages in one request, each through the gate, with one publication for all.',
    details: `Send multipart/form-data with \`distribution\`, optionally \`component\` and \`sha256sums\` (lines of sha256sum), then up to ${MOST_FILES} files; or a tar without folders (Content-Type: application/x-tar) with \`distribution\` in the query and optionally SHA256SUMS as its first file. The answer is 200 with one entry for each file in their order, also when some were refused. It counts as one upload.`,
    access: 'uploader+',
    scoped: 'upload',
    limit: { bucket: 'upload', perMinute: 20, settings: 'upload_limits' },
    upload: 'packages',
    form: BATCH_FORM,
    query: Type.Object({
      distribution: Type.Optional(Type.String({ maxLength: 200 })),
      component: Type.Optional(Type.String({ maxLength: 200 })),
    }),
    reply: BatchSchema,
    fails: [
      'bad_request',
      'bad_archive',
      'batch_full',
      'upload_incomplete',
      'storage_full',
      'uploads_stopped',
      'missing_field',
      'unknown_distribution',
      'distribution_retired',
      'registry_takes_no_uploads',
      'bad_component',
      'outside_distribution',
    ],
  },
})
