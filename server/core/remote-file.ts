/** The algorithms by which upstreams name bytes, the strongest first. */
export const DIGESTS = ['sha512', 'sha256', 'sha1', 'md5'] as const
export type DigestName = (typeof DIGESTS)[number]

/** A file as an index promises it. */
export interface RemoteFile {
  /** Where its bytes are, whole. */
  readonly url: string
  readonly filename: string
  /** In bytes, where the index says it. */
  readonly size?: number
  /** In lower-case hex. */
  readonly digests: Readonly<Partial<Record<DigestName, string>>>
}

const LENGTHS: Readonly<Record<DigestName, number>> = { sha512: 128, sha256: 64, sha1: 40, md5: 32 }

/** Whether a text is a digest by this algorithm, in lower-case hex. */
export const isDigest = (name: DigestName, text: string): boolean =>
  text.length === LENGTHS[name] && /^[0-9a-f]+$/.test(text)
