import { fieldsOf, isFields } from '../../lib/fields.ts'
import { jsonItems } from '../../lib/json-items.ts'
import { malformed } from '../../lib/limited.ts'
import { cveOf, type Sink } from '../advisory.ts'
import { scoreOf } from '../match/severity.ts'

/** The largest records list thousands of configurations. */
const MOST_RECORD = 64 * 2 ** 20
/** The newest version of the scale first; of one version the NVD's own score before the one of who reported it. */
const METRICS = ['cvssMetricV40', 'cvssMetricV31', 'cvssMetricV30', 'cvssMetricV2'] as const

/** The vectors of one record: of each version of CVSS the primary one, else the first. */
function vectorsOf(metrics: unknown): string[] {
  return METRICS.flatMap(key => {
    const list = fieldsOf(metrics)[key]
    const scores = (Array.isArray(list) ? (list as readonly unknown[]) : []).filter(isFields)
    const { cvssData } = scores.find(({ type }) => type === 'Primary') ?? scores[0] ?? {}
    const { vectorString: vector } = fieldsOf(cvssData)
    return typeof vector === 'string' && scoreOf(vector) !== undefined ? [vector] : []
  })
}

/**
 * A year of the NVD's CVE 2.0 data, as it streams: the scores of every CVE. Rejected records have none.
 * @returns the number of records, and the day of the file: ISO 8601, or '' where it does not say
 * @throws Malformed when it is no such file, or is cut off
 * Source: https://nvd.nist.gov/vuln/data-feeds, JSON 2.0; https://csrc.nist.gov/schema/nvd/api/2.0/cve_api_json_2.0.schema
 */
export async function readNvd(
  chunks: AsyncIterable<Uint8Array>,
  sink: Sink,
): Promise<{ readonly records: number; readonly newest: string }> {
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
    const { id, metrics, vulnStatus: status } = fieldsOf(fieldsOf(value).cve)
    const cve = typeof id === 'string' ? cveOf(id) : undefined
    if (cve === undefined) sink.skip('malformed')
    else if (status === 'Rejected') sink.skip('withdrawn')
    else {
      const nvd = vectorsOf(metrics)
      if (nvd.length > 0) sink.rate(cve, { nvd })
    }
  }
}
