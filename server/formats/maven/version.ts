import { mavenKey } from '../../core/versions/maven-key.ts'
import { buildOf } from './coordinates.ts'

/**
 * Maps a version to printable ASCII that sorts by code point in Maven's order. Builds of a snapshot stand where the
 * snapshot stands, after it, by time and number: `1.0-SNAPSHOT < 1.0-20261122.094857-2 < 1.0`.
 * Source: https://maven.apache.org/pom.html#version-order-specification
 */
export function versionKey(version: string): string {
  const build = buildOf(version)
  if (build === undefined) return mavenKey(version)
  return `${mavenKey(build.base)}!${build.timestamp}!${String(build.number).padStart(9, '0')}`
}

/** Compares two versions in that order. */
export function compareVersions(a: string, b: string): number {
  const [x, y] = [versionKey(a), versionKey(b)]
  return x < y ? -1 : x > y ? 1 : 0
}
