import type { Distribution } from '../core/distributions.ts'
import type { RelPath } from '../core/identity.ts'
import type { Signer } from '../signing/signer.ts'
import type { PublishedEntry } from './format.ts'

/** One file of a tree as its root names it. Digests lower-case hex. */
export interface ListedFile { readonly path: RelPath; readonly size: number; readonly sha256: string; readonly sha512: string }

/** An index of one architecture: every entry's text, one after the other, in the order of names. */
export interface IndexPlan {
  /** `amd64`, with the neutral architectures in it. */
  readonly arch: string
  /** `main/binary-amd64/Packages`: the plain form; compressed forms stand beside it with their ending. */
  readonly path: RelPath
}

/** A file of file lists that follows at its own pace. */
export interface ContentsPlan { readonly arch: string; readonly path: RelPath }

/** How a format lays out its signed tree. Pure: it reads its arguments and returns text; `publish/` owns the disk. */
export interface TreeWriter {
  indexes(distribution: Distribution): readonly IndexPlan[]
  contents(distribution: Distribution): readonly ContentsPlan[]
  /** One entry's text in the index. @param file  where clients fetch it, relative to the repository's root */
  render(entry: PublishedEntry, file: string): string
  /** The files a client starts from, made last: the root names every other file. @returns path → bytes */
  root(files: readonly ListedFile[], distribution: Distribution, made: { readonly signer: Signer; readonly at: Date }): Promise<ReadonlyMap<RelPath, string>>
  /** Proves what `root` made: signatures by the active keys, over exactly the text that lists the files. */
  verifyRoot(read: (path: RelPath) => Promise<string>, signer: Signer): Promise<boolean>
}
