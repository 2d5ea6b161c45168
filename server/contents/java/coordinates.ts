/** What names a Maven artifact, without its version. */
export interface Coordinates {
  readonly group: string
  readonly artifact: string
}

/** Coordinates of one version. */
export interface Release extends Coordinates {
  readonly version: string
}

/** What the loaded vulnerability data know about Java libraries. */
export interface JavaNames {
  /** The groups under which an artifactId has advisories or is in the index. */
  groupsOf(artifact: string): readonly string[]
  /** False where no index of SHA-1 is loaded: then nobody needs to compute one. */
  readonly hasDigests: boolean
  /** Whose file has this SHA-1. Empty says nothing: the index holds only what has advisories. */
  releasesOf(sha1: Buffer): readonly Release[]
}

/** Nothing is loaded. */
export const NO_NAMES: JavaNames = { groupsOf: () => [], hasDigests: false, releasesOf: () => [] }
