import { fileNameOf } from '../text-file.ts'
import type { NameParts } from './coordinates.ts'

export interface JarName {
  /** Every way to read it: the shortest name first, the whole name without a version last. */
  readonly parts: readonly NameParts[]
  /** What Maven calls the classifier, where it says that there is no code of the library in it. */
  readonly without?: 'sources' | 'documentation' | 'tests'
}

/** The endings of Java archives. */
export const JAVA_ENDING = /\.(?:jar|war|ear|rar|sar|par|kar|nar|lpkg|hpi|jpi|jmod|aar)$/i

// the limit of file systems; longer names would make the patterns slow
const LONGEST = 255
/** `_` before a version. Behind the `_` of `_2.12` stands the Scala that an artifact is for, a part of its name. */
const UNDERSCORE = /_(?=\d)(?!(?:2\.\d+|3)(?:-|$))/g
const WITHOUT = /-(?:test-)?(sources?|src|javadoc|tests)$/i
/** The series before the release, as in Debian's `log4j-1.2-1.2.17.jar`. */
const SERIES = /^(\d+(?:\.\d+)*)-(?=\1\.\d)/
/** What builds add behind the version. `-jre` and `-android` belong to the version. */
const CLASSIFIER =
  /(?<=-\d.{0,200})-(?:(?:jar-)?with-dependencies|shaded|all|uber|fat|exec|boot|nodeps?|no_aop|standalone|bin|indy|jdk\d+|(?:linux|osx|windows|natives)-\w+)$/i

/**
 * Name and version in the name of a jar: `log4j-core-2.14.1.jar`, `org.eclipse.osgi_3.7.0.v2011.jar`,
 * `akka-http-core_2.12-10.1.5.jar`, where `_2.12` belongs to the name.
 */
export function readJarName(path: string): JarName {
  const full = fileNameOf(path)
    .slice(0, LONGEST)
    .replace(JAVA_ENDING, '')
    .replace(/\.zip$/i, '')
  const [ending, classifier = ''] = WITHOUT.exec(full) ?? ['']
  const stem = (ending === '' ? full : full.slice(0, -ending.length)).replace(CLASSIFIER, '')
  const split = (mark: RegExp): NameParts[] =>
    [...stem.matchAll(mark)]
      .filter(({ index }) => index > 0)
      .map(({ index }) => ({ name: stem.slice(0, index), version: stem.slice(index + 1).replace(SERIES, '') }))
  const parts = [...split(/-(?=\d)/g), ...split(UNDERSCORE), { name: stem, version: undefined }]
  if (classifier === '') return { parts }
  const kind = classifier.toLowerCase()
  return { parts, without: kind === 'tests' ? 'tests' : kind === 'javadoc' ? 'documentation' : 'sources' }
}
