/** The facts about a version that a packument needs beside its blob. */
export interface NpmFacts {
  /** What the registry says of this version in full: its package.json as JSON text, without `dist`. */
  readonly full: string
  /** The same for installing alone, with the fields of the abbreviated form. */
  readonly short: string
  /** Files in the tarball. */
  readonly fileCount: number
  /** Bytes of all of them. */
  readonly unpackedSize: number
  /** Words that a search finds it by. */
  readonly keywords: readonly string[]
  /** What installing it warns of; absent where it is not deprecated. */
  readonly deprecated?: string
  /** The tags that it was published with while clients do not get it: they name it once they do. */
  readonly wantedTags?: readonly string[]
}
