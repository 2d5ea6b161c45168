import { fieldsOf, isFields, type Fields } from '../../lib/fields.ts'
import { jsonItems } from '../../lib/json-items.ts'
import { malformed } from '../../lib/limited.ts'
import { cveOf, type Advisory } from '../advisory.ts'
import { NATIVE } from '../match/ecosystems.ts'
import { scoreOf } from '../match/severity.ts'
import type { FeedContext } from './distribution-feeds.ts'
import { nvdRows } from './nvd-configurations.ts'

/** The largest records list thousands of configurations. */
const MOST_RECORD = 64 * 2 ** 20
/** The newest version of the scale first; of one version the NVD's own score before the one of who reported it. */
const METRICS = ['cvssMetricV40', 'cvssMetricV31', 'cvssMetricV30', 'cvssMetricV2'] as const

const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? (value as readonly unknown[]).filter(isFields) : []

/** The vectors of one record: of each version of CVSS the primary one, else the first. */
function vectorsOf(metrics: unknown): string[] {
  return METRICS.flatMap(key => {
    const scores = listOf(fieldsOf(metrics)[key])
    const { cvssData } = scores.find(({ type }) => type === 'Primary') ?? scores[0] ?? {}
    const { vectorString: vector } = fieldsOf(cvssData)
    return typeof vector === 'string' && scoreOf(vector) !== undefined ? [vector] : []
  })
}

const MOST_SUMMARY = 300
const MOST_REFERENCES = 4

/** Without its scores: those are kept of every CVE. */
function advisoryOf(cve: string, { lastModified, descriptions, references, cveTags }: Fields, source: string) {
  const modified = typeof lastModified === 'string' ? new Date(`${lastModified.replace(/Z$/, '')}Z`) : new Date(NaN)
  const text = listOf(descriptions).find(({ lang }) => lang === 'en')?.value
  const urls = listOf(references)
    .map(({ url }) => url)
    .filter(url => typeof url === 'string')
    .filter(url => /^https?:\/\/\S{1,500}$/.test(url))
  const advisory: Advisory = {
    id: cve,
    source,
    rank: 2,
    cves: [cve],
    ...(typeof text === 'string' ? { summary: (text.trim().split('\n', 1)[0] ?? '').slice(0, MOST_SUMMARY) } : {}),
    ...(urls.length === 0 ? {} : { references: [...new Set(urls)].slice(0, MOST_REFERENCES) }),
    ...(Number.isNaN(modified.getTime()) ? {} : { modified: modified.toISOString() }),
  }
  const tags = listOf(cveTags).flatMap(({ tags: names }) => (Array.isArray(names) ? (names as readonly unknown[]) : []))
  return { advisory, isDisputed: tags.includes('disputed') }
}

/** What the record says of products in native code. */
function addRows(cve: string, record: Fields, { source, orders, sink }: FeedContext): void {
  const rows = nvdRows(record.configurations, orders.native, sink.skip)
  if (rows.length === 0) return
  const { advisory, isDisputed } = advisoryOf(cve, record, source)
  const said = isDisputed ? { said: 'The NVD notes that this is disputed.' } : {}
  for (const row of rows) sink.add({ ecosystem: NATIVE, advisory, row: { ...row, ...said } })
}

/**
 * A year of the NVD's CVE 2.0 data, as it streams: the scores of every CVE, and which versions of the products in
 * `core/native-products.ts` it names. Rejected records have neither.
 * @returns the number of records, and the day of the file: ISO 8601, or '' where it does not say
 * @throws Malformed when it is no such file, or is cut off
 * Source: https://nvd.nist.gov/vuln/data-feeds, JSON 2.0; https://csrc.nist.gov/schema/nvd/api/2.0/cve_api_json_2.0.schema
 */
export async function readNvd(
  chunks: AsyncIterable<Uint8Array>,
  context: FeedContext,
): Promise<{ readonly records: number; readonly newest: string }> {
  const { sink } = context
  const reading = jsonItems(chunks, { what: 'the NVD file', maxItemBytes: MOST_RECORD })
  let records = 0
  for (;;) {
    const { done, value } = await reading.next()
    if (done === true) {
      const { format, version, timestamp, totalResults: total } = fieldsOf(value)
      if (format !== 'NVD_CVE' || version !== '2.0') malformed('the NVD file is not of its format 2.0')
      if (typeof total === 'number' && total !== records)
        malformed(`the NVD file says it has ${total} records and has ${records}`)
      const at = typeof timestamp === 'string' ? new Date(`${timestamp.replace(/Z$/, '')}Z`) : new Date(NaN)
      return { records, newest: Number.isNaN(at.getTime()) ? '' : at.toISOString() }
    }
    records++
    const record = fieldsOf(fieldsOf(value).cve)
    const { id, metrics, vulnStatus: status } = record
    const cve = typeof id === 'string' ? cveOf(id) : undefined
    if (cve === undefined) sink.skip('malformed')
    else if (status === 'Rejected') sink.skip('withdrawn')
    else {
      const nvd = vectorsOf(metrics)
      if (nvd.length > 0) sink.rate(cve, { nvd })
      addRows(cve, record, context)
    }
  }
}
