import { isUtf8 } from 'node:buffer'
import { malformed, quote } from '../../lib/limited.ts'

/** What RECORD says of a file: how its bytes are digested, and their digest in hex. */
export interface Recorded {
  readonly algorithm: 'sha256' | 'sha384' | 'sha512'
  readonly digest: string
  readonly size: number | undefined
}

const ALGORITHMS = { sha256: 32, sha384: 48, sha512: 64 } as const
const isStrong = (name: string): name is Recorded['algorithm'] => Object.hasOwn(ALGORITHMS, name)
/** One field of CSV, quoted or plain, and what ends it. */
const FIELD = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y

/** The rows of a CSV file. Source: RFC 4180, with line feeds alone too */
function rowsOf(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  FIELD.lastIndex = 0
  for (let at = 0; at < text.length;) {
    FIELD.lastIndex = at
    const match = FIELD.exec(text)
    if (match === null) return malformed(`RECORD is no CSV in its row ${rows.length + 1}`)
    row.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '')
    at = FIELD.lastIndex
    if (match[3] === ',' && at < text.length) continue
    if (match[3] === ',') row.push('')
    rows.push(row)
    row = []
  }
  return rows
}

function digestOf(field: string, path: string): Pick<Recorded, 'algorithm' | 'digest'> {
  const [, algorithm = '', encoded = ''] = /^([a-z0-9]+)=([A-Za-z0-9_-]+)=*$/.exec(field) ?? []
  if (!isStrong(algorithm))
    return malformed(`RECORD digests ${quote(path)} as ${quote(field)}; sha256, sha384 or sha512 is needed`)
  const bytes = Buffer.from(encoded, 'base64url')
  if (bytes.length !== ALGORITHMS[algorithm])
    return malformed(`RECORD gives ${quote(path)} a ${algorithm} of ${bytes.length} bytes`)
  return { algorithm, digest: bytes.toString('hex') }
}

/**
 * Reads RECORD: path, digest and size of every file of a wheel but itself and signatures over it.
 * @param isSpared  the files that need no digest
 * @throws Malformed
 * Source: packaging.python.org, recording installed projects; PEP 427, "The .dist-info directory"
 */
export function readRecord(bytes: Buffer, isSpared: (path: string) => boolean): ReadonlyMap<string, Recorded> {
  if (!isUtf8(bytes)) malformed('RECORD is not UTF-8')
  const recorded = new Map<string, Recorded>()
  const seen = new Set<string>()
  for (const row of rowsOf(bytes.toString('utf8').replace(/^\ufeff/, ''))) {
    if (row.length === 1 && row[0] === '') continue
    const [path = '', digest = '', size = ''] = row
    if (row.length !== 3) malformed(`RECORD has the row ${quote(row.join(','))}: path, digest and size are needed`)
    if (seen.has(path)) malformed(`RECORD names ${quote(path)} twice`)
    seen.add(path)
    if (isSpared(path)) continue
    if (size !== '' && !/^\d{1,15}$/.test(size)) malformed(`RECORD gives ${quote(path)} the size ${quote(size)}`)
    recorded.set(path, { ...digestOf(digest, path), size: size === '' ? undefined : Number(size) })
  }
  return recorded
}
