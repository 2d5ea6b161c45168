import { printPurl } from '../core/purl.ts'
import type { InstallRecord } from '../core/install-facts.ts'
import type { ContentsRecord } from '../core/report.ts'
import { isPackagedPlace } from './places.ts'
import type { Found, Unopened } from './reader.ts'

/** A library or program inside a package, as a file in it names it. */
export interface Component extends Pick<Found, 'presence' | 'rule' | 'confidence' | 'unasked' | 'cleared' | 'jar'> {
  readonly purl: string
  /** `org.apache.logging.log4j`, `@scope`: the part before the name, in ecosystems that have it. */
  readonly group?: string
  readonly name: string
  /** Absent where the file does not say it. */
  readonly version?: string
  /** The file that names it, relative to the root of the package; behind `!/` inside an archive. */
  readonly path: string
  /** It lies where the distribution puts the libraries that it packages itself: `/usr/share/java`, `dist-packages`. */
  readonly packaged?: true
}

/** Everything found in one package. */
export interface Contents {
  /** Sorted by package URL and path, each once. */
  readonly components: readonly Component[]
  /** What was not opened, or not to its end; sorted by path. */
  readonly unopened: readonly Unopened[]
  /** How many there are beyond those in `unopened`. */
  readonly more?: number
  /** Why the rest of the package was not read, in one sentence; absent where all of it was. */
  readonly cut?: string
  /** When to read it again: any time, since the machine was at fault, or once it may take more than this. */
  readonly again?: 'any time' | { readonly cpuSeconds: number }
  /** Whether it has compiled programs or libraries. */
  readonly hasPrograms?: true
  /** What installing it does; absent where it only puts plain files in their places. */
  readonly install?: InstallRecord
}

/** A package in which nothing is to be read. */
export const NOTHING: Contents = { components: [], unopened: [] }

/** Adds the place and the package URL to what a reader found in a file. */
export function componentAt(found: Found, file: string): Component {
  const { type, namespace, name, version, qualifiers, presence, rule, confidence, unasked, cleared, jar } = found
  const path = found.path ?? file
  return {
    purl: printPurl({
      type,
      name,
      ...(version === undefined ? {} : { version }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(qualifiers === undefined ? {} : { qualifiers }),
    }),
    ...(namespace === undefined ? {} : { group: namespace }),
    name,
    ...(version === undefined ? {} : { version }),
    path,
    presence,
    rule,
    confidence,
    ...(unasked === undefined ? {} : { unasked }),
    ...(cleared === undefined ? {} : { cleared }),
    ...(jar === undefined ? {} : { jar }),
    ...(isPackagedPlace(path) ? { packaged: true } : {}),
  }
}

// the manifest of a package keeps these
const MOST_RECORDED = 50

/** The contents in short, for the record; undefined where there is nothing to say. */
export function recordOf({ components, unopened, more = 0, cut }: Contents): ContentsRecord | undefined {
  if (components.length === 0 && unopened.length === 0 && cut === undefined) return undefined
  const shipped = components.filter(({ presence }) => presence === 'shipped').length
  const hidden = more + Math.max(0, unopened.length - MOST_RECORDED)
  return {
    shipped,
    declared: components.length - shipped,
    unopened: unopened.slice(0, MOST_RECORDED),
    ...(hidden === 0 ? {} : { more: hidden }),
    ...(cut === undefined ? {} : { cut }),
  }
}

/** What was not read, in one or two sentences for a report; undefined where everything was. */
export function sayPartial({ unopened, more = 0, cut }: Contents): string | undefined {
  const [first] = unopened
  const others = unopened.length + more - 1
  if (first === undefined) return cut
  const named = `${first.path} (${first.size} bytes) in it was not opened: ${first.why}`
  return [
    ...(cut === undefined ? [] : [cut]),
    named,
    ...(others === 0 ? [] : [`${others} more ${others === 1 ? 'file was' : 'files were'} not opened.`]),
  ].join(' ')
}

/** What was not read, one sentence each; empty where everything was. */
export function sayGaps({ unopened, more = 0, cut }: Pick<Contents, 'unopened' | 'more' | 'cut'>): string[] {
  return [
    ...(cut === undefined ? [] : [cut]),
    ...unopened.map(({ path, size, why }) => `${path} (${size} bytes) was not opened: ${why}`),
    ...(more === 0 ? [] : [`${more} more files were not opened.`]),
  ]
}

const RANK = ({ presence, confidence }: Component): number =>
  (presence === 'shipped' ? 2 : 0) + (confidence === 'certain' ? 1 : 0)

/** One list: sorted, and each package URL once per place, as the surest reader found it. */
export function sortComponents(components: readonly Component[]): Component[] {
  const byKey = new Map<string, Component>()
  for (const component of components) {
    const key = `${component.purl}\n${component.path}`
    const known = byKey.get(key)
    if (known === undefined || RANK(component) > RANK(known)) byKey.set(key, component)
  }
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, component]) => component)
}
