/** One entry of a node: a CPE name with its limits. */
export const match = (criteria: string, more: object = {}): object => ({
  vulnerable: true,
  criteria,
  matchCriteriaId: '8BE0B2BA-4B3C-4A25-9F7D-9D4C3F1D0D3D',
  ...more,
})
/** The CPE name of an application: `openssl:openssl`, its version, update and whatever else. */
export const cpe = (pair: string, version = '*', update = '*', edition = '*', target = '*'): string =>
  `cpe:2.3:a:${pair}:${version}:${update}:*:*:${edition}:${target}:*:*`

/** A configuration with one node for each list. */
export const configuration = (lists: readonly (readonly object[])[], more: object = {}): object => ({
  ...more,
  nodes: lists.map(cpeMatch => ({ operator: 'OR', negate: false, cpeMatch })),
})

/** A record of the NVD. */
export const nvdRecord = (id: string, configurations: readonly object[], more: object = {}): object => ({
  cve: {
    id,
    sourceIdentifier: 'security@example.org',
    published: '2022-11-01T18:15:10.983',
    lastModified: '2026-11-01T10:00:00.000',
    vulnStatus: 'Modified',
    cveTags: [],
    descriptions: [{ lang: 'en', value: `What ${id} is about.\nMore of it.` }],
    metrics: {},
    weaknesses: [],
    configurations,
    references: [{ url: `https://example.org/${id}`, source: 'security@example.org' }],
    ...more,
  },
})

/** A file of the NVD. Source: https://nvd.nist.gov/vuln/data-feeds, JSON 2.0 */
export const nvdFile = (vulnerabilities: readonly object[], timestamp = '2026-11-20T03:00:01.123'): object => ({
  resultsPerPage: vulnerabilities.length,
  startIndex: 0,
  totalResults: vulnerabilities.length,
  format: 'NVD_CVE',
  version: '2.0',
  timestamp,
  vulnerabilities,
})
