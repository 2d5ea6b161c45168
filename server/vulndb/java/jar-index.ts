import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { malformed } from '../../lib/limited.ts'

/** The file of one release: `log4j-core-2.14.1.jar` of `org.apache.logging.log4j`. */
export interface JarRelease {
  readonly group: string
  readonly artifact: string
  readonly version: string
}

/** One row to write: the SHA-1 of a jar in hex, and what it is. */
export interface JarRow extends JarRelease {
  readonly sha1: string
}

/*
 * Which release a jar is, by its SHA-1: only artifacts that have advisories, so a few hundred kilobytes.
 *
 *     GHJARS1\n
 *     {"created":"2026-11-23T…Z","rows":8284,"names":27123}\n
 *     <names bytes>     deflated: a line `group:artifact` and its versions, divided by blanks, for each artifact
 *     <rows × 8 bytes>  the first half of each SHA-1, sorted
 *     <rows × 4 bytes>  the number of its release, counted through the lines, big-endian
 *
 * Half a SHA-1 is enough to tell files apart that nobody made to collide; one that somebody did would be named as what
 * it collides with, a known library.
 */
const MAGIC = 'GHJARS1\n'
const PREFIX = 8
const ID = 4
const MAX_ROWS = 20_000_000
const MAX_NAMES = 512 * 2 ** 20
const MAX_HEADER = 1_024

/** True for the first bytes of such a file. */
export const isJarIndex = (head: Buffer): boolean => head.toString('latin1', 0, MAGIC.length) === MAGIC

interface Header {
  /** ISO 8601. */
  readonly created: string
  readonly rows: number
  readonly names: number
}

/** Packs rows into the file; rows with one SHA-1 stay side by side. */
export function packJarIndex(rows: readonly JarRow[], created: string): Buffer {
  const versions = new Map<string, string[]>()
  for (const { group, artifact, version } of rows) {
    const name = `${group}:${artifact}`
    const known = versions.get(name) ?? []
    if (!known.includes(version)) known.push(version)
    versions.set(name, known)
  }
  const sorted = [...versions].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, list]) => [name, list.sort()] as const)
  const ids = new Map<string, number>()
  for (const [name, list] of sorted) for (const version of list) ids.set(`${name}:${version}`, ids.size)
  const names = deflateRawSync(sorted.map(([name, list]) => [name, ...list].join(' ')).join('\n'))
  const entries = [
    ...new Set(
      rows.map(({ sha1, group, artifact, version }) => {
        const id = ids.get(`${group}:${artifact}:${version}`) ?? 0
        return sha1.slice(0, PREFIX * 2) + id.toString(16).padStart(ID * 2, '0')
      }),
    ),
  ].sort()
  const header: Header = { created, rows: entries.length, names: names.length }
  return Buffer.concat([
    Buffer.from(`${MAGIC}${JSON.stringify(header)}\n`),
    names,
    Buffer.from(entries.map(entry => entry.slice(0, PREFIX * 2)).join(''), 'hex'),
    Buffer.from(entries.map(entry => entry.slice(PREFIX * 2)).join(''), 'hex'),
  ])
}

/** An index that was read. */
export interface JarIndex {
  readonly created: string
  readonly rows: number
  /** Whose file has this SHA-1, in hex. */
  releasesOf(sha1: string): readonly JarRelease[]
  all(): Generator<JarRow>
}

function readHeader(bytes: Buffer): { readonly header: Header; readonly end: number } {
  const end = bytes.subarray(0, MAX_HEADER).indexOf(10, MAGIC.length)
  if (!isJarIndex(bytes) || end === -1) malformed('the index of jars does not begin as one')
  let value: Partial<Header>
  try {
    value = JSON.parse(bytes.toString('utf8', MAGIC.length, end)) as Partial<Header>
  } catch (error) {
    return malformed('the index of jars does not begin as one', error)
  }
  const { created, rows, names } = value
  const isCount = (count: number | undefined, most: number): count is number =>
    Number.isSafeInteger(count) && (count as number) >= 0 && (count as number) <= most
  if (
    typeof created !== 'string' ||
    Number.isNaN(Date.parse(created)) ||
    !isCount(rows, MAX_ROWS) ||
    !isCount(names, MAX_NAMES)
  )
    return malformed('the index of jars does not say its date, rows and names')
  return { header: { created, rows, names }, end: end + 1 }
}

function readReleases(packed: Buffer): JarRelease[] {
  let text: string
  try {
    text = inflateRawSync(packed, { maxOutputLength: MAX_NAMES }).toString('utf8')
  } catch (error) {
    return malformed('the names in the index of jars are damaged', error)
  }
  return text.split('\n').flatMap(line => {
    const [name = '', ...versions] = line.split(' ')
    const [group = '', artifact = ''] = name.split(':')
    return versions.map(version => ({ group, artifact, version }))
  })
}

/** Opens an index. @throws Malformed when it is damaged: damage must never look like an empty answer */
export function openJarIndex(bytes: Buffer): JarIndex {
  const { header, end } = readHeader(bytes)
  const { created, rows, names } = header
  if (bytes.length !== end + names + rows * (PREFIX + ID)) malformed('the index of jars is cut off')
  const releases = readReleases(bytes.subarray(end, end + names))
  const prefixes = bytes.subarray(end + names, end + names + rows * PREFIX)
  const ids = bytes.subarray(end + names + rows * PREFIX)
  const prefixAt = (row: number): Buffer => prefixes.subarray(row * PREFIX, (row + 1) * PREFIX)
  const releaseAt = (row: number): JarRelease =>
    releases[ids.readUInt32BE(row * ID)] ?? malformed('the index of jars names a release that is not there')

  /** The first row whose prefix is not less. */
  function find(prefix: Buffer): number {
    let [from, to] = [0, rows]
    while (from < to) {
      const middle = (from + to) >> 1
      if (prefixAt(middle).compare(prefix) < 0) from = middle + 1
      else to = middle
    }
    return from
  }

  return {
    created: new Date(created).toISOString(),
    rows,
    releasesOf(sha1) {
      const prefix = Buffer.from(sha1.slice(0, PREFIX * 2), 'hex')
      if (prefix.length !== PREFIX) return []
      const found: JarRelease[] = []
      for (let row = find(prefix); row < rows && prefixAt(row).equals(prefix); row++) found.push(releaseAt(row))
      return found
    },
    *all() {
      for (let row = 0; row < rows; row++) yield { sha1: prefixAt(row).toString('hex'), ...releaseAt(row) }
    },
  }
}
