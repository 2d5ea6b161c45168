import { UNSEEN } from '../../core/unseen.ts'
import { DIGESTS, isDigest } from '../../core/remote-file.ts'
import { isPep440 } from '../../core/versions/pep440.ts'
import { isFields, type Fields } from '../../lib/fields.ts'
import { parseJsonObject } from '../../lib/json-file.ts'
import { malformed } from '../../lib/limited.ts'
import { normalName, normalVersion, readFileName } from '../../formats/pypi/names.ts'
import type { IndexAnswer, RemoteEntry, RemoteIndex, RemoteReader } from '../remote/reader.ts'
import { HTML_TYPE, JSON_TYPE } from './accept.ts'

/** What an index says of a file and may change later. */
export interface RemotePypiFacts {
  readonly requires_python?: string
  /** Why its maintainers took it back; empty: they do not say. Source: PEP 592 */
  readonly yanked?: { readonly reason: string }
  /** Of the METADATA beside it; `sha256` is absent where the index does not say it. Source: PEP 658 */
  readonly metadata?: { readonly sha256?: string }
}

/** One file, whichever form the page has. */
interface Line {
  readonly filename: string
  readonly href: string
  readonly hashes: Fields
  readonly size?: number | undefined
  readonly uploaded?: string | undefined
  readonly requiresPython?: string | undefined
  readonly yanked?: string | undefined
  readonly metadata?: { readonly sha256?: string } | undefined
}

const digestsOf = (hashes: Fields): Record<string, string> =>
  Object.fromEntries(
    DIGESTS.flatMap(name => {
      const said = hashes[name]
      const hex = typeof said === 'string' ? said.toLowerCase() : ''
      return isDigest(name, hex) ? [[name, hex]] : []
    }),
  )

const dateOf = (text: string | undefined): Pick<RemoteEntry, 'published_at'> => {
  const at = new Date(text ?? Number.NaN)
  return Number.isNaN(at.getTime()) ? {} : { published_at: at.toISOString() }
}

const UNSEEN_CHARS = new RegExp(`[${UNSEEN}]+`, 'gu')
/** Text that clients print: no terminal is to be told to colour or turn round what follows. */
const shown = (text: string, most: number): string => text.slice(0, most).replace(UNSEEN_CHARS, ' ').trim()

/** An entry for a file of this project that clients of today can install; undefined for others, as eggs and zips. */
function entryOf(line: Line, { name, url }: Pick<IndexAnswer, 'name' | 'url'>): RemoteEntry | undefined {
  const named = readFileName(line.filename)
  if (named === undefined || normalName(named.name) !== name || !isPep440(named.version)) return undefined
  if (!URL.canParse(line.href, url)) return undefined
  const address = new URL(line.href, url)
  address.hash = ''
  const facts: RemotePypiFacts = {
    ...(line.requiresPython === undefined ? {} : { requires_python: shown(line.requiresPython, 500) }),
    ...(line.yanked === undefined ? {} : { yanked: { reason: shown(line.yanked, 1000) } }),
    ...(line.metadata === undefined ? {} : { metadata: line.metadata }),
  }
  return {
    version: normalVersion(named.version),
    arch: named.arch,
    ...dateOf(line.uploaded),
    file: {
      url: address.href,
      filename: line.filename,
      ...(line.size === undefined ? {} : { size: line.size }),
      digests: digestsOf(line.hashes),
    },
    facts: { ...facts },
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

function metadataOf(said: unknown): Line['metadata'] {
  if (said === true) return {}
  if (!isFields(said)) return undefined
  const { sha256 } = digestsOf(said)
  return sha256 === undefined ? {} : { sha256 }
}

/** Source: PEP 691, 700, 714 */
function* linesOfJson(text: string): Generator<Line> {
  const { files } = parseJsonObject(text)
  if (!Array.isArray(files)) return malformed('it has no list of files')
  for (const file of files as unknown[]) {
    if (!isFields(file)) continue
    const { filename, url, hashes, size, yanked } = file
    if (typeof filename !== 'string' || typeof url !== 'string') continue
    yield {
      filename,
      href: url,
      hashes: isFields(hashes) ? hashes : {},
      size: typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? size : undefined,
      uploaded: textOf(file['upload-time']),
      requiresPython: textOf(file['requires-python']),
      yanked: typeof yanked === 'string' ? yanked : yanked === true ? '' : undefined,
      metadata: metadataOf(file['core-metadata'] ?? file['dist-info-metadata']),
    }
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Source: HTML, "Character references", those that escaping makes */
const unescapeText = (text: string): string =>
  text.replaceAll(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]+));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole
    },
  )

const ANCHOR = /<a\s([^>]*)>([^<]*)<\/a\s*>/gi
const ATTRIBUTE = /([a-z][a-z0-9-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/gi

function attributesIn(text: string): ReadonlyMap<string, string> {
  return new Map(
    [...text.matchAll(ATTRIBUTE)].map(([, key = '', double, single, bare]) => [
      key.toLowerCase(),
      unescapeText(double ?? single ?? bare ?? ''),
    ]),
  )
}

/** Source: PEP 503, 592, 658, 714 */
function* linesOfHtml(text: string): Generator<Line> {
  for (const [, attributes = '', label = ''] of text.matchAll(ANCHOR)) {
    const said = attributesIn(attributes)
    const href = said.get('href')
    if (href === undefined) continue
    const [, algorithm = '', hex = ''] = /#(?:.*&)?(md5|sha1|sha256|sha512)=([0-9a-f]+)/i.exec(href) ?? []
    const metadata = said.get('data-core-metadata') ?? said.get('data-dist-info-metadata')
    const [, sha256] = /^sha256=([0-9a-f]{64})$/.exec(metadata ?? '') ?? []
    yield {
      filename: unescapeText(label).trim(),
      href,
      hashes: { [algorithm.toLowerCase()]: hex },
      requiresPython: said.get('data-requires-python'),
      yanked: said.get('data-yanked'),
      metadata: metadata === undefined ? undefined : sha256 === undefined ? {} : { sha256 },
    }
  }
}

/** A page that lists no file of its own project is another page, such as the login of a network. */
function isSimplePage(text: string, name: string): boolean {
  return (
    /pypi:repository-version/i.test(text) || /<title>[^<]*links for/i.test(text) || text.toLowerCase().includes(name)
  )
}

function read({ name, url, type, bytes }: IndexAnswer): RemoteIndex {
  const text = bytes.toString('utf8')
  const isJson = type === JSON_TYPE || type === 'application/json'
  if (!isJson && type !== HTML_TYPE && type !== 'text/html')
    malformed(`it is ${type === '' ? 'of no type' : type}, and simple pages are HTML or ${JSON_TYPE}`)
  if (!isJson && !isSimplePage(text, name)) malformed('it is a web page and no list of files')
  const lines = isJson ? linesOfJson(text) : linesOfHtml(text)
  return {
    about: () => ({}),
    entries: (function* () {
      for (const line of lines) {
        const entry = entryOf(line, { name, url })
        if (entry !== undefined) yield entry
      }
    })(),
  }
}

/** Reads the simple pages of an upstream, whose address is that of its `simple/`. */
export const pypiReader: RemoteReader = {
  format: 'pypi',
  ask: name => ({
    path: `/${encodeURIComponent(normalName(name))}/`,
    accept: `${JSON_TYPE}, ${HTML_TYPE};q=0.2, text/html;q=0.01`,
  }),
  read,
}
