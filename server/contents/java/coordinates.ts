/** What names a Maven artifact, without its version. */
export interface Coordinates {
  readonly group: string
  readonly artifact: string
}

/** Coordinates of one version. */
export interface Release extends Coordinates {
  readonly version: string
}

/** One way to read the name of a jar. */
export interface NameParts {
  readonly name: string
  readonly version: string | undefined
}

/** Whether a file is called by an artifact: `okhttp`, or as Quarkus does, `com.squareup.okhttp3.okhttp`. */
export function isCalled(name: string, { group, artifact }: Coordinates): boolean {
  const called = name.toLowerCase()
  return called === artifact.toLowerCase() || called === `${group}.${artifact}`.toLowerCase()
}

/** What the loaded vulnerability data know about Java libraries. */
export interface JavaNames {
  /** The groups under which an artifactId has advisories. */
  groupsOf(artifact: string): readonly string[]
  /** Whose file has this SHA-1, in hex. Empty says nothing: the index holds only what has advisories. */
  releasesOf(sha1: string): readonly Release[]
}

/** Nothing is loaded. */
export const NO_NAMES: JavaNames = { groupsOf: () => [], releasesOf: () => [] }

/**
 * What is kept of a jar without a pom of its own: the loaded data may know it, and other data may come later.
 */
export interface JarEvidence {
  /** Absent for a file that is too large to be in the index. */
  readonly sha1?: string
  /** Every way to read its file name. */
  readonly parts: readonly NameParts[]
  /** The attributes of its manifest that name something. */
  readonly manifest: readonly (readonly [name: string, value: string])[]
  /** The names of folders that hold classes. */
  readonly folders: readonly string[]
}
