/** A package URL taken apart. Source: https://github.com/package-url/purl-spec, PURL-SPECIFICATION.rst */
export interface Purl {
  /** Lower case: `deb`, `rpm`, `maven`. */
  readonly type: string
  /** Segments joined by `/`, decoded: `debian`, `org.apache.logging.log4j`, `@scope`. */
  readonly namespace?: string
  readonly name: string
  readonly version?: string
  readonly qualifiers?: Readonly<Record<string, string>>
}

// the specification leaves a colon as it is; encodeURIComponent leaves !'()* that it wants encoded
const encode = (text: string): string =>
  encodeURIComponent(text)
    .replace(/[!'()*]/g, char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%3A', ':')

const lower = (text: string): string => text.toLowerCase()

// PURL-TYPES.rst: PyPI names are lower case with `-` for `_`, and PEP 503 folds dots and runs of them alike
const NAMES: Readonly<Record<string, (name: string) => string>> = {
  pypi: name => lower(name).replace(/[-_.]+/g, '-'),
  golang: lower,
  composer: lower,
  github: lower,
  hex: lower,
  pub: lower,
}
// their namespaces are lower case too
const LOWER_NAMESPACES: ReadonlySet<string> = new Set(['composer', 'github', 'hex'])

/**
 * `pkg:type/namespace/name@version?key=value`: qualifiers sorted and without empty ones, names as their type writes
 * them.
 */
export function printPurl({ type, namespace, name, version, qualifiers = {} }: Purl): string {
  const folder = namespace === undefined ? '' : LOWER_NAMESPACES.has(type) ? lower(namespace) : namespace
  const path = [...folder.split('/').filter(segment => segment !== ''), NAMES[type]?.(name) ?? name]
    .map(encode)
    .join('/')
  const query = Object.entries(qualifiers)
    .filter(([, value]) => value !== '')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${encode(value)}`)
    .join('&')
  return `pkg:${type}/${path}${version === undefined || version === '' ? '' : `@${encode(version)}`}${query === '' ? '' : `?${query}`}`
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** A package URL without what it says of one file. */
export const barePurl = (purl: string): string => purl.replace(/[?#].*$/, '')

// scheme, type, path with its version, qualifiers, subpath: each part ends at the mark of the next one
const PARTS = /^pkg:\/*([a-z][a-z0-9.+-]*)\/([^?#]+)(?:\?([^#]*))?(?:#.*)?$/i

/** Parses a package URL; undefined when it is none. Drops a subpath: it names no package. */
export function parsePurl(text: string): Purl | undefined {
  const [, type = '', path = '', query = ''] = PARTS.exec(text) ?? []
  // an `@` of a scope begins a segment, the one of a version never does
  const at = path.lastIndexOf('@')
  const hasVersion = at > 0 && path[at - 1] !== '/'
  const segments = (hasVersion ? path.slice(0, at) : path)
    .split('/')
    .filter(segment => segment !== '')
    .map(decode)
  const name = segments.pop()
  const version = hasVersion ? decode(path.slice(at + 1)) : ''
  if (name === undefined || version === undefined || segments.includes(undefined)) return undefined
  const qualifiers: Record<string, string> = {}
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=')
    const value = decode(pair.slice(equals + 1))
    if (equals > 0 && value !== undefined && value !== '') qualifiers[pair.slice(0, equals).toLowerCase()] = value
  }
  return {
    type: type.toLowerCase(),
    name,
    ...(segments.length === 0 ? {} : { namespace: segments.join('/') }),
    ...(version === '' ? {} : { version }),
    ...(Object.keys(qualifiers).length === 0 ? {} : { qualifiers }),
  }
}
