import type { PackageIdentity, RelPath } from '../core/identity.ts'
import type { NotSigned, SignedBy, TrustedKeys } from '../signing/trusted-keys.ts'
import type { Relations } from './relations.ts'

/**
 * Fetches a file of a repository. @returns undefined only when the server answers that the file does not exist. Other
 * failures throw: a signature that could not be fetched must not look like a missing one
 * @param limits.maxBytes no more needs to be fetched: the reader refuses larger files
 */
export type FetchPath = (
  path: RelPath,
  limits: { readonly maxBytes: number },
) => Promise<AsyncIterable<Buffer> | undefined>

/** The part of an upstream repository to read, and the keys that it must be signed with. */
export interface UpstreamPlace {
  readonly fetch: FetchPath
  readonly keys: TrustedKeys
  readonly now: Date
  /** Set for vendors who sign packages but not metadata: the root then needs no signature. */
  readonly unsigned?: true
  /** Set to accept data after their end (`Valid-Until`). */
  readonly allowExpired?: true
  /** APT: `bookworm`; a flat repository ends in a slash. */
  readonly suite?: string
  /** APT: `main`. */
  readonly components?: readonly string[]
  /** APT and APK, which have an index for each. */
  readonly archs?: readonly string[]
}

/** What an index says of a package for people. */
export interface PackageNotes {
  readonly homepage?: string
  readonly license?: string
  readonly maintainer?: string
  /** Bytes on a machine. */
  readonly installed_size?: number
}

/** A package as an upstream index lists it. Digests lower-case hex, those that the index has. */
export interface UpstreamPackage {
  readonly identity: PackageIdentity
  /** Below the repository's base. */
  readonly path: RelPath
  readonly size: number
  readonly digests: Readonly<Partial<Record<'sha256' | 'sha512', string>>>
  /** APK lists no digest of the file, only the SHA-1 of its control member, which contains the digest of the data. */
  readonly controlSha1?: string
  readonly source: string
  readonly source_version: string
  readonly summary: string
  readonly section?: string
  readonly notes: PackageNotes
  readonly relations: Relations
}

/** An entry of an index, not yet parsed: an entry with a known digest need not be. */
export interface UpstreamEntry {
  /** SHA-1 of the entry's text, lower-case hex: shows what changed since the last read; not a check. */
  readonly digest: string
  /** APT: the component whose index lists it; absent in flat repositories and elsewhere. */
  readonly component?: string
  /** To be called before the next entry is asked for. @throws upstream_refused for an entry that breaks its rules */
  read(): UpstreamPackage
}

/** A package that a stream of an RPM module holds. */
export interface ModulePackage {
  readonly name: string
  readonly version: string
  readonly arch: string
  /** `nodejs:18` */
  readonly module: string
  /** Clients see packages of a default stream without asking for it. */
  readonly isDefault: boolean
}

/** The facts that an upstream's root states. */
export interface UpstreamRoot {
  readonly path: RelPath
  /** Digest of the root as fetched; the same digest means that nothing changed. */
  readonly sha256: string
  /** When it was made, where it says so. */
  readonly at?: Date
  readonly validUntil?: Date
  /** Fingerprints, or names of keys; empty where `unsigned` was allowed. */
  readonly signedBy: readonly string[]
  readonly origin?: string
  readonly label?: string
  readonly suite?: string
  readonly codename?: string
}

/** An upstream whose root verified. */
export interface Upstream {
  readonly roots: readonly UpstreamRoot[]
  /**
   * Every package, streaming; memory is a few chunks and the largest entry (APK: one index). Each index is checked
   * against the root while it passes, so what was yielded counts only when all of it ended without an error.
   * @throws upstream_refused
   */
  entries(): AsyncGenerator<UpstreamEntry>
  /**
   * RPM: the packages that belong to modules. Those of streams that are no default are hidden from clients. Absent
   * where there are no modules. @throws upstream_refused
   */
  modules?(): Promise<readonly ModulePackage[]>
}

/** A folder on this machine, by the paths of its files below it. */
export interface UpstreamTree {
  readonly paths: readonly string[]
  /** The text of one of them; empty where it cannot be read. */
  read(path: string): string
}

/** A repository in such a folder. */
export interface TreePlace {
  /** The file that names it, and of several parts which one: for people. */
  readonly name: string
  /** What its paths count from; empty, or with a slash at its end. */
  readonly base: string
  readonly place: Pick<UpstreamPlace, 'suite' | 'components' | 'archs'>
  /** The component that all of it is of. */
  readonly component?: string
}

/** Reads repositories of a format that others publish. Reads only, and only what `fetch` brings. */
export interface UpstreamReader {
  /** How many repositories are read at once; 1 by default. One of RPM takes up to 300 MB. */
  readonly atOnce?: number
  /** One address serves several suites, each with a root: a source has to name one. */
  readonly hasSuites?: true
  /** Its index names addresses, in which characters are encoded already. Absent: names of files. */
  readonly namesAddresses?: true
  /**
   * Checks the signature that a package itself carries, and that it covers all of its bytes: what stands in for a
   * vendor's unsigned root. @throws Malformed for a package that is damaged
   */
  verifyPackage?(path: string, keys: TrustedKeys): Promise<{ readonly by: SignedBy } | NotSigned>
  /** Where the index has only this digest of a package: the SHA-1 of the file's control member. @throws Malformed */
  controlSha1?(path: string): Promise<string>
  /** That digest of a package that is here, from the facts which inspecting it kept. */
  controlSha1Of?(facts: unknown): string | undefined
  /**
   * The repositories in a folder that have something for a distribution.
   * @throws adopt_which_suite where several suites could be meant
   */
  places(
    tree: UpstreamTree,
    wish: {
      readonly codename: string
      readonly archs: readonly string[]
      readonly neutral: readonly string[]
      readonly suite?: string
    },
  ): readonly TreePlace[]
  /** Fetches and verifies the root. @throws upstream_refused, which says what did not verify */
  open(place: UpstreamPlace): Promise<Upstream>
}
