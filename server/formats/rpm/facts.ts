import type { RelationOp } from '../../core/relation.ts'

/** One capability in a dependency list, as the header carries it: flags reduced to the comparison and the `pre` bit. */
export interface RpmDependency {
  readonly name: string
  readonly op?: RelationOp
  /** Epoch, version and release of `op`; the epoch is absent where the header names none. */
  readonly evr?: { readonly epoch?: string; readonly version: string; readonly release?: string }
  /** Needed before installation scripts run. */
  readonly pre?: true
}

/** A path the package installs. `dir` and `ghost` as in filelists.xml. */
export interface RpmFile {
  readonly path: string
  readonly type?: 'dir' | 'ghost'
}

/** One entry of the changelog, newest first; `at` in seconds since 1970. */
export interface RpmChange {
  readonly author: string
  readonly at: number
  readonly text: string
}

/**
 * What primary.xml, filelists.xml and other.xml need of an .rpm beyond its blob. Numbers are bytes or seconds since
 * 1970.
 */
export interface RpmFacts {
  readonly epoch: string
  readonly version: string
  readonly release: string
  readonly summary: string
  readonly description: string
  readonly packager: string
  readonly url: string
  readonly built: number
  readonly installed: number
  /** Size of the uncompressed payload. */
  readonly archive: number
  readonly license: string
  readonly vendor: string
  readonly group: string
  readonly buildhost: string
  /** `hello-1.0-1.src.rpm` */
  readonly sourcerpm: string
  /** Where the main header lies in the file: first byte and one past the last. */
  readonly header: readonly [start: number, end: number]
  readonly provides: readonly RpmDependency[]
  /** Without `rpmlib(…)` features. */
  readonly requires: readonly RpmDependency[]
  readonly conflicts: readonly RpmDependency[]
  readonly obsoletes: readonly RpmDependency[]
  readonly suggests: readonly RpmDependency[]
  readonly enhances: readonly RpmDependency[]
  readonly recommends: readonly RpmDependency[]
  readonly supplements: readonly RpmDependency[]
  readonly files: readonly RpmFile[]
  /** At most the ten newest, as createrepo_c keeps them. */
  readonly changelog: readonly RpmChange[]
  /** `name:stream:version:context` of the module it was built in. */
  readonly modularity?: string
}
