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
