import { digestInTag, HOLDS_SIGNATURES } from '../../core/signature-types.ts'
import type { SignedBeside } from '../format.ts'
import { isFileSystem, type OciDocument } from './document.ts'
import type { OciFacts } from './facts.ts'

/** The tags of signatures and attestations; there are others, as of bills of materials. */
const SIGNS = /\.(?:sig|att)$/

/** What clients find by the tags of cosign. */
export const tagsAbout = (version: string): readonly string[] =>
  ['sig', 'att'].map(kind => `${version.replace(':', '-')}.${kind}`)

/** The digests that a manifest is about, by its own word and by its tag. */
export function digestsAbout(subject: string | undefined, tag: string | undefined): readonly string[] {
  const tagged = tag !== undefined && SIGNS.test(tag) ? digestInTag(tag) : undefined
  return [subject, tagged].filter(digest => digest !== undefined)
}

/** Whether a manifest holds nothing that clients unpack, as its media types say; the bytes may say otherwise. */
export const hasNoFiles = ({ layers }: Pick<OciDocument, 'layers'>): boolean =>
  layers.length > 0 && !layers.some(isFileSystem)

/** Signatures of images, as cosign keeps them beside. */
export const ociSigning: SignedBeside<OciFacts> = {
  isSubject({ kind, layers, opaque }) {
    if (kind !== 'image') return kind === 'index'
    // what is no archive, and does not say that it is one, is nothing that somebody runs
    return !hasNoFiles({ layers }) || new Set(layers.map(({ digest }) => digest)).size !== opaque.length
  },
  tagsOf: tagsAbout,
  filesOf: ({ layers }) =>
    layers
      .filter(({ mediaType }) => HOLDS_SIGNATURES.includes(mediaType))
      .map(({ mediaType, digest, size, annotations = {} }) => ({ mediaType, digest, size, annotations })),
}
