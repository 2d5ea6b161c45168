import { printPurl, type Purl } from '../core/purl.ts'

/** A library inside a package, as a lockfile, metadata file or archive in it names it. */
export interface Component {
  readonly purl: string
  /** `org.apache.logging.log4j`, `@scope`: the part before the name, in ecosystems that have it. */
  readonly group?: string
  readonly name: string
  readonly version: string
  /** The file that names it, relative to the root of the package; behind `!/` inside an archive. */
  readonly path: string
  /**
   * Installed where the distribution puts the libraries it packages itself (`/usr/share/java`, `dist-packages`): the
   * package *is* this component, and the distribution's own advisories cover it. Everything else is vendored.
   */
  readonly packaged?: true
}

/** Everything found in one package. */
export interface Contents {
  /** Sorted by package URL and path, each once. */
  readonly components: readonly Component[]
  /** Sentences about what could not be read; empty when all of it was. */
  readonly incomplete: readonly string[]
}

/** A component as a parser finds it. Whoever opened the file adds `path`. */
export type Found = Pick<Purl, 'type' | 'namespace' | 'name'> & { readonly version: string }

// Debian Python policy 3.1, Java policy 2.3, the JavaScript policy, and the same places elsewhere
const PACKAGED = [
  /^usr\/lib(?:64)?\/python3(?:\.\d+)?\/(?:dist|site)-packages\/[^/]+\.(?:dist|egg)-info(?:\/|$)/,
  /^usr\/share\/(?:java|maven-repo)\/[^!]*$/,
  /^usr\/(?:share\/nodejs|lib\/nodejs)\/(?:@[^/]+\/)?[^/]+\/package\.json$/,
]

/** Adds the place and the package URL to what a parser found. */
export function componentAt({ type, namespace, name, version }: Found, path: string): Component {
  // a jar in the distribution's folder is packaged, one inside it is not
  const place = path.split('!/').length > 2 ? path : (path.split('!/')[0] ?? path)
  return {
    purl: printPurl({ type, name, version, ...(namespace === undefined ? {} : { namespace }) }),
    ...(namespace === undefined ? {} : { group: namespace }),
    name,
    version,
    path,
    ...(PACKAGED.some(rule => rule.test(place)) ? { packaged: true } : {}),
  }
}

/** One list: sorted, and each package URL once per place. */
export function sortComponents(components: readonly Component[]): Component[] {
  const byKey = new Map(components.map(component => [`${component.purl}\n${component.path}`, component]))
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, component]) => component)
}
