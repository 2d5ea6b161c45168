import type { Coordinates } from './coordinates.ts'

/** A dependency as the pom writes it, with what the pom itself says filled in. */
export interface MavenDependency {
  readonly group: string
  readonly artifact: string
  /** A version or a range; absent where a parent or a bill of materials that is elsewhere says it. */
  readonly version?: string
  readonly scope: string
  readonly optional?: true
  /** Absent: `jar`. */
  readonly type?: string
  readonly classifier?: string
}

/** What the index of a Maven registry is made from, and what reads dependencies. JSON. */
export interface MavenFacts {
  /** `jar`, `war`, `pom`, `maven-plugin` */
  readonly packaging: string
  /** What the pom inherits from; a client needs it to read the pom. */
  readonly parent?: Coordinates
  /** Bills of materials that the pom imports; a client needs them, too. */
  readonly imports?: readonly MavenDependency[]
  readonly dependencies: readonly MavenDependency[]
  /** `group:artifact` of dependencies whose version other files have to say. */
  readonly unresolved?: readonly string[]
  /** Of a Maven plugin: `mvn <prefix>:goal`. */
  readonly prefix?: string
}
