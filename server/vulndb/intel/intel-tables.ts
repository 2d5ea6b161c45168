import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { gzipSync } from 'node:zlib'
import { malformed } from '../../lib/limited.ts'
import { digitsFor } from '../store/layout.ts'
import { writeByHash } from '../store/write-by-hash.ts'
import type { EpssLine, KevLine, ThreatIntelStatus } from './threat-intel.ts'

const pack = (lines: readonly unknown[]): Buffer =>
  gzipSync(lines.map(line => `${JSON.stringify(line)}\n`).join(''), { level: 1 })

type KevFacts = NonNullable<ThreatIntelStatus['kev']>
type EpssFacts = NonNullable<ThreatIntelStatus['epss']>

/**
 * CISA's catalogue. Its count must equal its entries: a catalogue that was cut off must not take vulnerabilities off
 * the list. Source: https://www.cisa.gov/known-exploited-vulnerabilities-catalog, JSON
 */
export function writeKev(
  folder: string,
  value: unknown,
  { importedAt, sofar }: { readonly importedAt: string; readonly sofar?: KevFacts | undefined },
): KevFacts {
  const { catalogVersion: version, dateReleased: released, count, vulnerabilities } = value as Record<string, unknown>
  const list = Array.isArray(vulnerabilities)
    ? (vulnerabilities as readonly Record<string, unknown>[])
    : malformed('the KEV catalogue has no list of vulnerabilities')
  if (count !== list.length)
    malformed(`the KEV catalogue says it has ${String(count)} entries and has ${list.length}: it is cut off`)
  const lines = list.map(({ cveID, dateAdded, dueDate, knownRansomwareCampaignUse: ransomware }): KevLine =>
    typeof cveID === 'string' && typeof dateAdded === 'string'
      ? [cveID, dateAdded, typeof dueDate === 'string' ? dueDate : '', ransomware === 'Known' ? 1 : 0]
      : malformed('the KEV catalogue has an entry without cveID or dateAdded'),
  )
  const at = typeof released === 'string' ? new Date(released) : new Date(NaN)
  const date = Number.isNaN(at.getTime()) ? importedAt : at.toISOString()
  // of two files in one import the newer one counts
  if (sofar !== undefined && sofar.date > date) return sofar
  mkdirSync(join(folder, '.kev'), { recursive: true })
  writeFileSync(join(folder, '.kev', 'kev.ndjson.gz'), pack(lines))
  return { version: typeof version === 'string' ? version : '', date, entries: lines.length, imported_at: importedAt }
}

export interface EpssOptions {
  readonly label: string
  readonly importedAt: string
  readonly sofar?: EpssFacts | undefined
}

/**
 * The scores of one day: `#model_version:v2026.06.15,score_date:2026-08-17T12:03:47Z` (old files have no such line, and
 * times with `+0000`), the names of the columns, then `CVE,epss,percentile`. Source:
 * https://www.first.org/epss/data_stats
 */
export async function writeEpss(
  folder: string,
  chunks: AsyncIterable<Uint8Array>,
  { label, importedAt, sofar }: EpssOptions,
): Promise<EpssFacts> {
  const scores: EpssLine[] = []
  const decoder = new StringDecoder('utf8')
  let model: string | undefined
  let date = /epss_scores-(\d{4}-\d{2}-\d{2})/.exec(label)?.[1]
  const take = (written: string): void => {
    const line = written.replace(/^\ufeff/, '')
    if (line === '' || line.startsWith('cve,')) return
    if (line.startsWith('#')) {
      model = /model_version:([^,\s]+)/.exec(line)?.[1]
      date = /score_date:(\d{4}-\d{2}-\d{2})/.exec(line)?.[1] ?? date
      return
    }
    const [cve = '', epss = '', percentile = ''] = line.split(',')
    const [p, q] = [Number(epss), Number(percentile)]
    if (!/^CVE-\d{4}-\d{4,}$/.test(cve) || epss === '' || !(p >= 0 && p <= 1) || !(q >= 0 && q <= 1))
      return malformed(`the EPSS scores have a line that is none: ${line.slice(0, 60)}`)
    scores.push([cve, p, q])
  }
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + decoder.write(chunk)).split(/\r?\n/)
    rest = lines.pop() ?? ''
    lines.forEach(take)
  }
  take(rest)
  if (scores.length === 0) malformed('the EPSS file has no scores')
  if (sofar !== undefined && sofar.date > (date ?? '')) return sofar
  rmSync(join(folder, '.epss'), { recursive: true, force: true })
  const digits = digitsFor(scores.length)
  writeByHash(join(folder, '.epss'), scores, digits)
  return {
    date: date ?? importedAt.slice(0, 10),
    ...(model === undefined ? {} : { model }),
    entries: scores.length,
    digits,
    imported_at: importedAt,
  }
}
