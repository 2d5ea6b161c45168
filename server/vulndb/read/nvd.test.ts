import { describe, expect, test } from 'vitest'
import { bytes, feed } from '../../../test/support/advisory-set.ts'
import { readNvd } from './nvd.ts'

const V40 = 'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N'
const V31 = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H'
const OTHER = 'CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N'
const V2 = 'AV:N/AC:L/Au:N/C:P/I:N/A:N'
const metric = (type: string, version: string, vectorString: string) => ({
  source: 'nvd@nist.gov',
  type,
  cvssData: { version, vectorString },
})
const record = (id: string, metrics: object, more: object = {}) => ({
  cve: { id, vulnStatus: 'Analyzed', descriptions: [{ lang: 'en', value: 'Text with ] and }.' }], metrics, ...more },
})
const file = (vulnerabilities: readonly object[], more: object = {}) => ({
  resultsPerPage: vulnerabilities.length,
  startIndex: 0,
  totalResults: vulnerabilities.length,
  format: 'NVD_CVE',
  version: '2.0',
  timestamp: '2026-11-20T03:00:01.123',
  vulnerabilities,
  ...more,
})

describe('a year of the NVD', () => {
  test('every CVE has its scores: of each version of CVSS the primary one', async () => {
    const { context, rated, skipped } = feed()
    const given = file([
      record('CVE-2024-10001', {
        cvssMetricV31: [metric('Secondary', '3.1', OTHER), metric('Primary', '3.1', V31)],
        cvssMetricV2: [metric('Primary', '2.0', V2)],
      }),
      record('CVE-2024-10002', { cvssMetricV40: [metric('Secondary', '4.0', V40)] }),
      record('CVE-2024-10003', {}),
      record('CVE-2024-10004', { cvssMetricV31: [metric('Primary', '3.1', V31)] }, { vulnStatus: 'Rejected' }),
      record('CVE-2024-10005', { cvssMetricV31: [metric('Primary', '3.1', 'CVSS:3.1/none')] }),
      { cve: { id: 'nothing' } },
    ])
    expect(await readNvd(bytes(JSON.stringify(given)), context)).toEqual({
      records: 6,
      newest: '2026-11-20T03:00:01.123Z',
    })
    expect([...rated]).toEqual([
      ['CVE-2024-10001', { nvd: [V31, V2] }],
      ['CVE-2024-10002', { nvd: [V40] }],
    ])
    expect(skipped).toEqual(['withdrawn', 'malformed'])
  })
  test.each<[string, string, string]>([
    ['another version', JSON.stringify(file([], { version: '1.1' })), 'is not of its format 2.0'],
    ['fewer records than it says', JSON.stringify(file([], { totalResults: 5 })), 'says it has 5 records and has 0'],
    [
      'a file that is cut off',
      JSON.stringify(file([record('CVE-2024-10001', {})])).slice(0, -4),
      'the NVD file is cut off',
    ],
  ])('%s is refused', async (_, text, why) => {
    await expect(readNvd(bytes(text), feed().context)).rejects.toThrow(why)
  })
})
