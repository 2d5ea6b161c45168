import { isUtf8 } from 'node:buffer'
import { malformed, printBytes, quote } from '../../lib/limited.ts'

/** The largest METADATA or PKG-INFO. The largest of PyPI's first thousand projects has 500 KB. */
export const MAX_METADATA = 4 * 2 ** 20
const MAX_HEADERS = 5_000
/** The longest line of a header; longer ones make patterns slow, and no field needs them. */
const MAX_LINE = 64 * 1024

/** Headers by their names in lower case, each with its values in order; `body` is the description below them. */
export interface Headers {
  readonly fields: ReadonlyMap<string, readonly string[]>
  readonly body: string
}

/** Fields of which there can be one. Source: packaging.python.org, core metadata specifications */
const ONCE = [
  ...['metadata-version', 'name', 'version', 'summary', 'home-page', 'author', 'author-email', 'maintainer'],
  ...['maintainer-email', 'license', 'license-expression', 'requires-python', 'description', 'keywords'],
]

// PostgreSQL keeps no NUL, terminals obey the others
// eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/

function readText(bytes: Buffer, what: string): string {
  if (bytes.length > MAX_METADATA)
    malformed(`${what} has ${bytes.length} bytes, at most ${printBytes(MAX_METADATA)} are allowed`)
  if (!isUtf8(bytes)) malformed(`${what} is not UTF-8`)
  const text = bytes.toString('utf8')
  if (text.includes('\0')) malformed(`${what} holds a NUL`)
  return text
}

/**
 * Reads the headers as Python's email parser does for METADATA: `Name: value`, lines that begin with a blank go on.
 * @throws Malformed naming the line that breaks which rule
 * Source: packaging.python.org, core metadata specifications; RFC 5322, 2.2.3 for folded lines
 */
export function parseHeaders(bytes: Buffer, what: string): Headers {
  const text = readText(bytes, what)
  const end = /\r?\n\r?\n/.exec(text)
  const head = end === null ? text : text.slice(0, end.index)
  const body = end === null ? '' : text.slice(end.index + end[0].length)
  const fields = new Map<string, string[]>()
  let last: string[] | undefined
  let count = 0
  for (const line of head.split(/\r?\n/)) {
    if (line === '') continue
    if (line.length > MAX_LINE) malformed(`${what} has a line of more than ${printBytes(MAX_LINE)}`)
    if (CONTROL.test(line)) malformed(`${what} holds a control character, in ${quote(line)}`)
    if (/^[ \t]/.test(line)) {
      if (last === undefined) return malformed(`${what} begins with a line that goes on from none`)
      last[last.length - 1] += `\n${line.replace(/^(?: {8}\||[ \t]+)/, '')}`
      continue
    }
    const [, key, value = ''] = /^([A-Za-z][A-Za-z0-9-]*):(.*)$/.exec(line) ?? []
    if (key === undefined) return malformed(`${what} holds the line ${quote(line)}, which is no header`)
    if ((count += 1) > MAX_HEADERS) malformed(`${what} has more than ${MAX_HEADERS} headers`)
    last = fields.get(key.toLowerCase()) ?? []
    last.push(value.trim())
    fields.set(key.toLowerCase(), last)
  }
  for (const field of ONCE) {
    if ((fields.get(field)?.length ?? 0) > 1)
      malformed(`${what} has the field ${field} more than once, so that readers take different ones`)
  }
  return { fields, body }
}

/** The value of a field that is there once; undefined where it is absent, empty or `UNKNOWN`. */
export function valueOf({ fields }: Pick<Headers, 'fields'>, key: string): string | undefined {
  const value = fields.get(key)?.[0]?.trim()
  return value === undefined || value === '' || value === 'UNKNOWN' ? undefined : value
}

/** @throws Malformed where a field that every package has is missing */
export function needValue(headers: Headers, key: string, what: string): string {
  return valueOf(headers, key.toLowerCase()) ?? malformed(`${what} has no field ${key}`)
}
