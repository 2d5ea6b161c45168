import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { PACKAGE_KINDS, STATES, type PackageKind, type State } from '../../core/manifest.ts'

/** The result for one package of an upload. `refused`: it is not kept; `code` and `detail` say why. */
export type PackageOutcome =
  | {
      readonly filename: string
      readonly name: string
      readonly version: string
      readonly arch: string
      readonly kind: PackageKind
      readonly status: State | 'already_imported'
      readonly state: State
      readonly indexed?: false
    }
  | { readonly filename: string; readonly status: 'refused'; readonly code: string; readonly detail: string }

/** The result for everything that one announcement names. */
export interface UploadedTogether {
  readonly source: string
  readonly version: string
  readonly distribution: string
  readonly signed_by: { readonly name: string; readonly fingerprint: string }
  readonly packages: readonly PackageOutcome[]
}

/** A waiting file, or, for the announcement, the results of its packages. */
export type Incoming = { readonly filename: string; readonly sha256: string; readonly upload?: UploadedTogether }

const Text = Type.String()
const Outcome = Type.Object({
  filename: Text,
  status: Type.String({ enum: [...STATES, 'already_imported', 'refused'] }),
  name: Type.Optional(Text),
  version: Type.Optional(Text),
  arch: Type.Optional(Text),
  kind: Type.Optional(Type.String({ enum: [...PACKAGE_KINDS] })),
  state: Type.Optional(Type.String({ enum: [...STATES] })),
  indexed: Type.Optional(Type.Literal(false)),
  code: Type.Optional(Text),
  detail: Type.Optional(Text),
})

/** Uploads with dput: file by file, the .changes last. */
export const developerUploads = contract({
  'PUT /incoming/{codename}/{filename}': {
    summary:
      'Takes one file of a dput upload. The signed .changes comes last and takes all files it names through the gate.',
    details: 'Authenticate with HTTP Basic, with an API token as the password.',
    access: 'uploader+',
    scoped: 'upload',
    also: 'basic',
    root: true,
    limit: { bucket: 'incoming', perMinute: 600 },
    upload: 'data',
    status: 201,
    reply: Type.Unsafe<Incoming>(
      Type.Object({
        filename: Text,
        sha256: Text,
        upload: Type.Optional(
          Type.Object({
            source: Text,
            version: Text,
            distribution: Text,
            signed_by: Type.Object({ name: Text, fingerprint: Text }),
            packages: Type.Array(Outcome),
          }),
        ),
      }),
    ),
    fails: [
      'bad_path',
      'upload_incomplete',
      'upload_too_large',
      'storage_full',
      'uploads_stopped',
      'incoming_full',
      'unknown_distribution',
      'distribution_retired',
      'outside_distribution',
      'format_not_active',
      'wrong_format',
      'bad_package',
      'announcement_unsigned',
      'announcement_untrusted',
      'announcement_misdirected',
      'announcement_incomplete',
      'announcement_refused',
      'key_not_for',
    ],
  },
})
