import { stat } from 'node:fs/promises'
import { malformed, quote } from '../../lib/limited.ts'
import { readZip } from '../../lib/zip.ts'
import { parseJson, readJson } from './json-feed.ts'
import { readOsvRecord } from './osv.ts'
import { note, sum, type HashedFile, type Run, type Taken } from './run.ts'

const OSV_LIMITS = { what: 'the zip', maxEntries: 2_000_000, maxEntryBytes: 32 * 2 ** 20, maxTotalBytes: 32 * 2 ** 30 }
/** Advisories pack to a fifth or a tenth; a file that unpacks to more than this many times its size is a bomb. */
const MOST_RATIO = 60
const MOST_AT_ONCE = 64 * 2 ** 20

/** What a file of OSV records brought for one source. */
interface OsvPart {
  records: number
  newest: string
  taken: Taken
}

/**
 * OSV: the path `osv/<Name>/all.zip` gives the name. In a zip without that path, each record belongs to the source
 * named after its own ecosystem: there may be several, and the zip is complete for none of them.
 */
export async function readOsv(run: Run, file: HashedFile): Promise<void> {
  const { orders, tables } = run
  const said = /(?:^|\/)osv\/([^/]+)\/all\.zip$/i.exec(file.label)?.[1]
  const parts = new Map<string, OsvPart>()
  let name = said
  const take = (value: unknown): void => {
    const own = said === undefined ? ecosystemsIn(value) : []
    // a record of several ecosystems stays with the one whose file it is in
    if (name === undefined || (own.length > 0 && !own.includes(name))) name = own[0] ?? name
    const source = `osv/${name ?? 'mixed'}`
    const read = readOsvRecord(value, { source, orders, sink: tables })
    if (read === undefined) return
    const part = parts.get(source) ?? { records: 0, newest: '', taken: { rows: 0, skipped: {} } }
    parts.set(source, part)
    part.records++
    part.taken = sum(part.taken, tables.taken())
    const { id, modified = '' } = read
    // a date in the future says nothing about the age of the others
    if (modified > part.newest && modified <= run.job.now) part.newest = modified
    if (modified >= (run.ids.get(id)?.modified ?? '')) run.ids.set(id, { modified, source })
  }
  if (file.is.kind === 'osv-record') take(await readJson(file.path, file.is))
  else {
    const maxTotalBytes = Math.min(OSV_LIMITS.maxTotalBytes, MOST_AT_ONCE + MOST_RATIO * (await stat(file.path)).size)
    await readZip(file.path, { ...OSV_LIMITS, maxTotalBytes }, (entry, bytes) => {
      // other files in a zip, such as an index, are no records
      if (!entry.endsWith('.json') || !/^\s*\{/.test(bytes.toString('utf8', 0, 64)) || !bytes.includes('"id"')) return
      try {
        take(parseJson(bytes))
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        tables.skip('malformed')
      }
    })
  }
  const last = [...parts.values()].at(-1) ?? malformed(`${quote(file.label)} holds no OSV record`)
  last.taken = sum(last.taken, tables.taken())
  const nameless = parts.get('osv/mixed')
  if (nameless !== undefined && nameless !== last) {
    // records before this one that name no ecosystem are counted here too
    last.records += nameless.records
    last.taken = sum(last.taken, nameless.taken)
    parts.delete('osv/mixed')
  }
  const whole = file.whole === true && parts.size === 1
  for (const [source, { records, newest, taken }] of parts)
    note(run, { name: source, kind: 'osv', file: { ...file, whole }, as_of: newest, records, taken })
}

/** The families that a record names: `Debian` from `Debian:12`. */
function ecosystemsIn(value: unknown): string[] {
  const affected = (value as { affected?: unknown } | null)?.affected
  const names = (
    Array.isArray(affected) ? (affected as readonly ({ package?: { ecosystem?: unknown } | null } | null)[]) : []
  ).map(one => one?.package?.ecosystem)
  return names
    .filter(name => typeof name === 'string')
    .map(name => name.replace(/:.*/s, '').replace(/[^A-Za-z0-9. -]/g, ''))
}
