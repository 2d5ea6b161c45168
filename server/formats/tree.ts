import type { FixAdvisory } from '../core/advisories.ts'
import type { Distribution } from '../core/repository.ts'
import type { Blob, RelPath } from '../core/identity.ts'
import type { ReleaseFields } from '../core/release-fields.ts'
import type { PackageFile, PackageKind } from '../core/manifest.ts'
import type { DocumentKind } from './documents.ts'
import type { Signer } from '../signing/signer.ts'

/** A package as a publication names it: its facts, and where its bytes are. */
export interface PublishedEntry {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly sortKey: string
  readonly source: string
  readonly blob: Blob
  /** Further files of the version. Clients fetch them from the same folder, but for records of its build. */
  readonly others?: readonly Pick<PackageFile, 'path' | 'blob'>[]
  readonly facts: unknown
}

/**
 * One file of a tree as its root names it. Digests lower-case hex. `plain` is what it unpacks to, where the file is a
 * compressed index.
 */
export interface ListedFile {
  readonly path: RelPath
  readonly size: number
  readonly sha256: string
  /** Of files that releases before 0.2 published, whose roots name it. */
  readonly sha512?: string
  readonly plain?: { readonly size: number; readonly sha256: string }
  /** `beside`: once the file is gone it can still be joined from pieces. `only`: it is no file, and always joined. */
  readonly recipe?: 'beside' | 'only'
}

/** The forms in which an index is published, as endings of its path; `''` is the plain one. */
export type Kind = '' | '.gz' | '.xz'
/** Also `.deflate`: parts of one gzip member, without its header, its last block and its checksum. */
export type IndexKind = Kind | '.deflate'

/** An index of one architecture: every entry's text, one after the other, in the order in which the packages came. */
export interface IndexPlan {
  /** Names its pieces in the state of a generation: `amd64`, `x86_64/primary`. Never changes its meaning. */
  readonly id: string
  /** `amd64`, with the neutral architectures in it. */
  readonly arch: string
  readonly component: string
  /** Which packages are in it; by default those that are installed. */
  readonly kind?: PackageKind
  /** `main/binary-amd64/Packages`: the plain form; the others stand beside it with their ending. */
  readonly path: RelPath
  readonly kinds: readonly IndexKind[]
  /** True where clients hardly ever fetch the plain form: the root names it, and it takes no room. */
  readonly joinsPlain?: true
  /**
   * How a client that holds an older root still finds the file: `by-hash` in a folder beside it (APT), `name` because
   * its digest is in its name (`<sha256>-primary.xml.gz`); `path` where it cannot.
   */
  readonly addressed: 'by-hash' | 'name' | 'path'
  /** One entry's text. @param file  where clients fetch the package, as `fileName` gave it */
  render(entry: PublishedEntry, file: string): string
  /** What stands before the first entry and after the last one. */
  frame?(entries: number): { readonly head: string; readonly tail: string }
}

/** A file of file lists that follows at its own pace. */
export interface ContentsPlan {
  readonly arch: string
  readonly component: string
  readonly path: RelPath
}

/** Advisories about packages that fix something (`updateinfo`). They follow later, as file lists do. */
export interface AdvisoryPlan {
  /**
   * `x86_64/repodata/updateinfo.xml`: the plain form, which is not published; the one that is ends in `.gz` and has its
   * digest in its name.
   */
  readonly path: RelPath
  /** The kind of document that is taken in, and of which architecture. */
  readonly takes?: { readonly kind: string; readonly arch: string }
  /**
   * @param advisories  with nothing in them but what the distribution offers
   * @param put  the document that came from outside, if any: it goes first, and its advisories win
   * @returns undefined where there is nothing to say: then there is no file
   */
  render(advisories: readonly FixAdvisory[], put?: string): string | undefined
}

/** Stands for a root file that is the live generation's own. */
export const CARRIED = Symbol('carried')

/** What a root is made with. */
export interface RootMaking {
  readonly signer: Signer
  readonly at: Date
  readonly words: ReleaseFields
  readonly read: (path: RelPath) => Promise<Buffer>
  readonly isSame: (files: readonly ListedFile[]) => boolean
}

/** The id of an index: those of `main` have the name that they had before there were other components. */
export const indexId = (component: string, name: string): string =>
  component === 'main' ? name : `${component}/${name}`

/** How a format lays out its signed tree. Pure: it reads its arguments and returns text; `publish/` owns the disk. */
export interface TreeWriter {
  indexes(distribution: Distribution): readonly IndexPlan[]
  contents(distribution: Distribution): readonly ContentsPlan[]
  /** Absent where the format has no such file. */
  advisories?(distribution: Distribution): readonly AdvisoryPlan[]
  /** What may come with a package set from outside; absent where clients know nothing of the kind. */
  readonly documents?: readonly DocumentKind[]
  /** True where clients of the format read `ReleaseFields`. */
  readonly hasWords?: true
  /** Where clients fetch a package, relative to what their configuration names. @param path  its `poolName` */
  fileName(distribution: Distribution, arch: string, path: RelPath): string
  /**
   * The files a client starts from, made last: the root names every other file.
   * @param made.read  a file of `files`, where the root must carry its bytes
   * @param made.isSame  whether the live generation has exactly these of the files, signed by the same keys: a root
   *   over them alone may then be `CARRIED`, which is the live one's file again
   * @returns path → bytes
   */
  root(
    files: readonly ListedFile[],
    distribution: Distribution,
    made: RootMaking,
  ): Promise<ReadonlyMap<RelPath, string | Buffer | typeof CARRIED>>
  /**
   * Proves what `root` made: signatures by the active keys, over exactly what lists the files.
   * @param carried  root files that were verified when they were made, by the same keys
   */
  verifyRoot(
    read: (path: RelPath) => Promise<Buffer>,
    signer: Signer,
    distribution: Distribution,
    carried?: ReadonlySet<string>,
  ): Promise<boolean>
}
