import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'

/** One layer of an image. */
export interface ImageLayer {
  /** `layer-1-sha256-0123456789ab`: findings in it have this before `!` in their path. */
  readonly name: string
  readonly digest: string
  readonly bytes: number
  /** `run`, `copy`, `add`, `other`; null where the config does not say it of each layer. */
  readonly step: string | null
  readonly made_by: string | null
  /** Other versions of the registry that have it. */
  readonly shared_with: number
}

/** A manifest that an index names. */
export interface ImageOfIndex {
  readonly digest: string
  readonly bytes: number
  /** `linux/arm64`; null where the index does not say it. */
  readonly platform: string | null
  /** Null while it is not here. */
  readonly status: string | null
  readonly arch: string | null
}

/** What an image, index or artifact is made of. */
export interface ImageView {
  readonly digest: string
  readonly kind: 'image' | 'index' | 'artifact'
  readonly media_type: string
  /** `linux/amd64`; null where it has none. */
  readonly platform: string | null
  /** The user that it runs as, empty for root; null where nothing says it. */
  readonly runs_as: string | null
  /** By whom it is signed, in a sentence; null where nobody looked. */
  readonly signed: string | null
  /** `signed`, `unknown_key`, `not_verified`, `not_signed`, as the step of signatures says. */
  readonly signature: string | null
  /** Bottom first. */
  readonly layers: readonly ImageLayer[]
  readonly images: readonly ImageOfIndex[]
}

const Text = Type.String()
const TextOrNull = Type.Union([Text, Type.Null()])
const Count = Type.Integer({ minimum: 0 })

/** What container images are made of. */
export const images = contract({
  'GET /registries/{name}/packages/{package}/versions/{version}/image': {
    summary:
      'Shows what a version of a registry for container images is made of: its layers, or the images of an index.',
    details:
      'How each layer was made is what the config of the image says (`history`), and null where it does not say it of each. `shared_with` counts other versions of the same registry that have the layer.',
    access: 'any',
    params: Type.Object({
      name: Type.String({ minLength: 1, maxLength: 80 }),
      package: Type.String({ minLength: 1, maxLength: 400 }),
      version: Type.String({ minLength: 1, maxLength: 400 }),
    }),
    reply: Type.Unsafe<ImageView>(
      Type.Object({
        digest: Text,
        kind: Text,
        media_type: Text,
        platform: TextOrNull,
        runs_as: TextOrNull,
        signed: TextOrNull,
        signature: TextOrNull,
        layers: Type.Array(
          Type.Object({
            name: Text,
            digest: Text,
            bytes: Count,
            step: TextOrNull,
            made_by: TextOrNull,
            shared_with: Count,
          }),
        ),
        images: Type.Array(
          Type.Object({ digest: Text, bytes: Count, platform: TextOrNull, status: TextOrNull, arch: TextOrNull }),
        ),
      }),
    ),
    fails: ['registry_not_found', 'version_not_found'],
  },
})
