import { describe, expect, test } from 'vitest'
import type { Manifest } from '../../core/manifest.ts'
import { readVex, statementsAbout, type PackageNames } from './read.ts'

const DIGEST = 'a'.repeat(64)
const NAMES: PackageNames = {
  purl: 'pkg:deb/debian/tool@1.0-1?arch=amd64&distro=debian-12',
  manifest: {
    ref: { format: 'deb', codename: 'bookworm', name: 'tool', version: '1.0-1', arch: 'amd64' },
    about: { source: 'tool-src', source_version: '1.0-1' },
    files: [{ path: 'tool.deb', blob: { sha256: DIGEST, size: 1 } }],
  } as unknown as Pick<Manifest, 'ref' | 'about' | 'files'>,
}
const LOG4J = 'pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1'
const about = (document: unknown, inside: readonly string[] = [LOG4J]) =>
  statementsAbout(readVex(Buffer.from(JSON.stringify(document))), NAMES, inside)

const openVex = (statements: readonly object[]) => ({
  '@context': 'https://openvex.dev/ns/v0.2.0',
  '@id': 'https://example.com/vex-1',
  'author': 'Example Corp',
  'timestamp': '2026-01-05T10:00:00+01:00',
  'version': 1,
  statements,
})
const NOT = { status: 'not_affected', justification: 'vulnerable_code_not_in_execute_path' }
const CVE = { vulnerability: { name: 'CVE-2021-44228', aliases: ['GHSA-jfh8-c2jp-5v3q'] } }
const SAID = {
  names: ['CVE-2021-44228', 'GHSA-jfh8-c2jp-5v3q'],
  status: 'not_affected',
  said: 'the vulnerable code is never run',
  at: '2026-01-05T09:00:00.000Z',
}
const component = (purl: string, more: object = {}): object => ({ '@id': purl, ...more })

describe('OpenVEX', () => {
  test.each([
    ['the package', component('pkg:deb/acme/tool@1.0-1'), SAID],
    ['the package in every version', component('pkg:deb/acme/tool'), SAID],
    ['the package of this architecture', component('pkg:deb/acme/tool@1.0-1?arch=amd64&distro=any'), SAID],
    ['its source', component('pkg:deb/acme/tool-src@1.0-1?arch=source'), SAID],
    [
      'its file by the digest',
      component('https://example.com/tool', { hashes: { 'sha-256': DIGEST.toUpperCase() } }),
      SAID,
    ],
    [
      'its identifiers',
      component('https://example.com/tool', { identifiers: { purl: 'pkg:deb/acme/tool@1.0-1' } }),
      SAID,
    ],
    [
      'a component of it',
      component('pkg:deb/acme/tool@1.0-1', { subcomponents: [component(LOG4J)] }),
      { ...SAID, components: [LOG4J] },
    ],
    ['the component itself', component(LOG4J), { ...SAID, components: [LOG4J] }],
  ])('speaks of %s', (_, product, expected) => {
    expect(about(openVex([{ ...CVE, products: [product], ...NOT }]))).toEqual([expected])
  })
  test.each([
    ['another package', component('pkg:deb/acme/other@1.0-1')],
    ['another version', component('pkg:deb/acme/tool@1.0-2')],
    ['another architecture', component('pkg:deb/acme/tool@1.0-1?arch=arm64')],
    ['another kind of package', component('pkg:rpm/acme/tool@1.0-1')],
    ['another component', component('pkg:maven/org.apache.logging.log4j/log4j-core@2.15.0')],
    ['a component that has no package URL', component('pkg:deb/acme/other', { subcomponents: [component('log4j')] })],
  ])('of %s alone is refused', (_, product) => {
    expect(() => about(openVex([{ ...CVE, products: [product], ...NOT }]))).toThrow(
      /^it speaks of .*, not of this package/,
    )
  })
  test('subcomponents that are not known here do not stand for the whole package', () => {
    const product = component('pkg:deb/acme/tool@1.0-1', { subcomponents: [component('file:lib.so')] })
    expect(() => about(openVex([{ ...CVE, products: [product], ...NOT }]))).toThrow('not of this package')
  })
  test('of 0.0 is read: names and products are bare texts', () => {
    const [statement] = about(
      openVex([{ vulnerability: 'CVE-2021-44228', products: ['pkg:deb/acme/tool@1.0-1'], status: 'fixed' }]),
    )
    expect(statement).toEqual({ names: ['CVE-2021-44228'], status: 'fixed', at: SAID.at })
  })
  test.each([
    [{ ...openVex([]), author: undefined }, 'it has no author'],
    [{ ...openVex([]), timestamp: 'yesterday' }, 'it has no timestamp'],
    [openVex([]), 'it makes no statement about a vulnerability'],
    [openVex([{ ...CVE, products: [], status: 'safe' }]), 'statement 1 has the status "safe". It is one of'],
    [openVex([{ products: [], ...NOT }]), 'statement 1 names no vulnerability'],
    [
      openVex([{ ...CVE, products: [], status: 'not_affected' }]),
      'statement 1 says not_affected without a justification or an impact_statement',
    ],
  ])('that breaks a rule is refused by name: %#', (document, why) => {
    expect(() => about(document)).toThrow(why)
  })
})

describe('CycloneDX', () => {
  const bom = (vulnerabilities: readonly object[], more: object = {}) => ({
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: 'urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79',
    version: 2,
    metadata: {
      timestamp: '2026-01-05T09:00:00Z',
      supplier: { name: 'Example Corp' },
      component: { 'bom-ref': 'tool', 'name': 'tool', 'purl': 'pkg:deb/acme/tool@1.0-1' },
    },
    components: [{ 'bom-ref': 'lib', 'name': 'outer', 'components': [{ 'bom-ref': 'log4j', 'purl': LOG4J }] }],
    vulnerabilities,
    ...more,
  })
  const found = (ref: string, analysis: object) => ({ id: 'CVE-2021-44228', affects: [{ ref }], analysis })
  const NOT_REACHABLE = { state: 'not_affected', justification: 'code_not_reachable', detail: 'No lookups.' }
  const said = {
    names: ['CVE-2021-44228'],
    status: 'not_affected',
    said: 'the vulnerable code is never run. No lookups.',
    at: '2026-01-05T09:00:00.000Z',
  }

  test.each([
    ['the subject', 'tool', said],
    ['a nested component', 'log4j', { ...said, components: [LOG4J] }],
    ['a package URL', LOG4J, { ...said, components: [LOG4J] }],
    [
      'a BOM-Link',
      `urn:cdx:3e671687-395b-41f5-a30f-a58921a69b79/2#${encodeURIComponent(LOG4J)}`,
      { ...said, components: [LOG4J] },
    ],
  ])('speaks of %s', (_, ref, expected) => {
    expect(about(bom([found(ref, NOT_REACHABLE)]))).toEqual([expected])
  })
  test.each([
    ['false_positive', 'not_affected'],
    ['resolved_with_pedigree', 'fixed'],
    ['exploitable', 'affected'],
    ['in_triage', 'under_investigation'],
  ])('the state %s says %s', (state, status) => {
    expect(about(bom([found('tool', { state })]))).toMatchObject([{ status }])
  })
  test('a vulnerability without an analysis says nothing', () => {
    expect(() => about(bom([{ id: 'CVE-2021-44228', affects: [{ ref: 'tool' }] }]))).toThrow('it makes no statement')
  })
  test.each([
    [bom([found('tool', { state: 'fine' })]), 'vulnerability 1 has the analysis.state "fine". It is one of'],
    [bom([], { metadata: { timestamp: '2026-01-05T09:00:00Z' } }), 'it does not say who made it'],
    [bom([], { serialNumber: undefined }), 'it has no serialNumber'],
  ])('that breaks a rule is refused by name: %#', (document, why) => {
    expect(() => about(document)).toThrow(why)
  })
})

describe('CSAF', () => {
  const csaf = (vulnerability: object, more: object = {}) => ({
    document: {
      category: 'csaf_vex',
      csaf_version: '2.0',
      publisher: { name: 'Example Corp' },
      tracking: { id: 'EX-2026-1', current_release_date: '2026-01-05T09:00:00Z' },
    },
    product_tree: {
      branches: [
        {
          category: 'vendor',
          branches: [
            { product: { product_id: 'T', product_identification_helper: { purl: 'pkg:deb/acme/tool@1.0-1' } } },
            { product: { product_id: 'L', product_identification_helper: { purl: LOG4J } } },
          ],
        },
      ],
      relationships: [
        {
          category: 'default_component_of',
          product_reference: 'L',
          relates_to_product_reference: 'T',
          full_product_name: { product_id: 'T:L' },
        },
        {
          category: 'default_component_of',
          product_reference: 'T',
          relates_to_product_reference: 'OS',
          full_product_name: { product_id: 'OS:T' },
        },
      ],
      product_groups: [{ group_id: 'G', product_ids: ['T:L'] }],
    },
    vulnerabilities: [{ cve: 'CVE-2021-44228', ...vulnerability }],
    ...more,
  })
  const said = { names: ['CVE-2021-44228'], at: '2026-01-05T09:00:00.000Z' }

  test('speaks of a component as part of the package, with its flag and its impact', () => {
    expect(
      about(
        csaf({
          product_status: { known_not_affected: ['T:L'] },
          flags: [{ label: 'vulnerable_code_not_present', group_ids: ['G'] }],
          threats: [{ category: 'impact', details: 'Class removed.', product_ids: ['T:L'] }],
        }),
      ),
    ).toEqual([
      {
        ...said,
        status: 'not_affected',
        components: [LOG4J],
        said: 'the vulnerable code is not in it. Class removed.',
      },
    ])
  })
  test('speaks of the package as part of a distribution', () => {
    expect(about(csaf({ product_status: { fixed: ['OS:T'], known_affected: ['L'] } }))).toEqual([
      { ...said, status: 'fixed' },
      { ...said, status: 'affected', components: [LOG4J] },
    ])
  })
  test('relationships in a circle end', () => {
    const tree = {
      relationships: [
        { product_reference: 'A', relates_to_product_reference: 'B', full_product_name: { product_id: 'A' } },
        { product_reference: 'A', relates_to_product_reference: 'A', full_product_name: { product_id: 'B' } },
      ],
    }
    expect(() => about(csaf({ product_status: { fixed: ['A'] } }, { product_tree: tree }))).toThrow(
      'not of this package',
    )
  })
  test('of another version is refused', () => {
    expect(() => about({ document: { csaf_version: '1.2' } })).toThrow('its csaf_version is "1.2". It is 2.0 or 2.1')
  })
})

test.each([
  ['no JSON', '<bom/>', 'it is no JSON in UTF-8'],
  ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'it is no JSON in UTF-8'],
  ['a list', '[]', 'it is none of OpenVEX, CycloneDX and CSAF'],
  ['something else', '{"spdxVersion": "SPDX-2.3"}', 'it is none of OpenVEX, CycloneDX and CSAF'],
])('%s is refused', (_, text, why) => {
  expect(() => readVex(Buffer.from(text))).toThrow(why)
})

test('characters that change how a text is shown are taken out', () => {
  const [statement] = about(
    openVex([
      {
        ...CVE,
        products: [component('pkg:deb/acme/tool')],
        status: 'not_affected',
        impact_statement: 'fine\u202e\n\u0007 here',
      },
    ]),
  )
  expect(statement?.said).toBe('fine here')
})
