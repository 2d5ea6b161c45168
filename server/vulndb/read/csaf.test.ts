import { describe, expect, test } from 'vitest'
import { affected, feed, fixed, record } from '../../../test/support/advisory-set.ts'
import { vexDocument } from '../../../test/support/csaf.ts'
import { readCsaf } from './csaf.ts'

const V31 = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H'

/** Documents of one publisher, read in turn. */
function vendor(...documents: readonly object[]) {
  const all = feed()
  for (const one of documents) readCsaf(one, { ...all.context, source: 'csaf/red-hat' })
  return all
}

describe("Red Hat's VEX", () => {
  const document = vexDocument({
    packages: {
      'openssl-1:3.0.7-27.el9.src': 'pkg:rpm/redhat/openssl@3.0.7-27.el9?arch=src&epoch=1',
      'openssl-libs-1:3.0.7-27.el9.x86_64': 'pkg:rpm/redhat/openssl-libs@3.0.7-27.el9?arch=x86_64&epoch=1',
      'openssl-debuginfo-1:3.0.7-27.el9.x86_64': 'pkg:rpm/redhat/openssl-debuginfo@3.0.7-27.el9?arch=x86_64&epoch=1',
      'compat-openssl11': 'pkg:rpm/redhat/compat-openssl11?arch=src',
      'edk2': 'pkg:rpm/redhat/edk2?arch=src',
    },
    status: {
      fixed: [
        'openssl-1:3.0.7-27.el9.src',
        'openssl-libs-1:3.0.7-27.el9.x86_64',
        'openssl-debuginfo-1:3.0.7-27.el9.x86_64',
      ],
      known_affected: ['compat-openssl11'],
      known_not_affected: ['edk2'],
    },
    flags: [{ label: 'vulnerable_code_not_present', product_ids: ['platform:edk2'] }],
    remediations: [{ category: 'no_fix_planned', details: 'Will not fix', product_ids: ['platform:compat-openssl11'] }],
    scores: [{ cvss_v3: { vectorString: V31 }, products: [] }],
  })

  test('names what is fixed in which version, and what is affected without a fix', () => {
    const { match, rated, vectors } = vendor(document)
    const of = (name: string, version: string, source: string) =>
      match({ ecosystem: 'redhat-9', name, version, arch: 'x86_64', source: { name: source, version } }).findings.map(
        ({ id, severity, severity_source: by, fixed_in: fix, vendor_says: said }) => [id, severity, by, fix, said],
      )
    const cve = 'CVE-2024-10001'
    expect(of('openssl-libs', '1:3.0.1-1.el9', 'openssl')).toEqual([
      [cve, 'high', 'distribution', '1:3.0.7-27.el9', undefined],
    ])
    expect(of('openssl-libs', '1:3.0.7-27.el9', 'openssl')).toEqual([])
    expect(of('compat-openssl11', '1:1.1.1k-4.el9', 'compat-openssl11')).toEqual([
      [cve, 'high', 'distribution', undefined, 'Red Hat: Will not fix.'],
    ])
    expect(of('edk2-ovmf', '20230524-4.el9', 'edk2')).toEqual([])
    expect([...rated]).toEqual([[cve, { red_hat: 'high' }]])
    expect([...vectors]).toEqual([[cve, [V31]]])
  })

  test('"not affected" closes what other records say, in the words of the vendor', () => {
    const { match, osv } = vendor(document)
    osv(
      record('RHSA-2024:1', [affected('Red Hat:enterprise_linux:9::appstream', 'edk2', fixed('0:20990101-1.el9'))], {
        upstream: ['CVE-2024-10001'],
      }),
    )
    expect(match({ ecosystem: 'redhat-9', name: 'edk2', version: '20230524-4.el9' })).toEqual({
      findings: [],
      denied: [
        {
          id: 'CVE-2024-10001',
          package: 'edk2',
          said: 'Red Hat: not affected: the vulnerable code is not in it.',
          source: 'csaf/red-hat',
          isDisputed: true,
        },
      ],
      isUnreadable: false,
    })
  })

  test('of two documents of one name the newer one counts, in any order', () => {
    const packages = { edk2: 'pkg:rpm/redhat/edk2?arch=src' }
    const before = vexDocument({ packages, status: { known_not_affected: ['edk2'] }, date: '2025-01-01T00:00:00Z' })
    const after = vexDocument({ packages, status: { known_affected: ['edk2'] }, date: '2026-01-01T00:00:00Z' })
    for (const documents of [
      [before, after],
      [after, before],
    ])
      expect(vendor(...documents).ids('redhat-9', 'edk2', '1-1.el9')).toEqual(['CVE-2024-10001'])
  })

  test('what is under investigation, and releases that are not known here, say nothing', () => {
    const packages = { edk2: 'pkg:rpm/redhat/edk2?arch=src' }
    const open = vexDocument({ packages, status: { under_investigation: ['edk2'] } })
    const extended = vexDocument({ packages, status: { known_affected: ['edk2'] }, cpe: 'cpe:/a:redhat:rhel_eus:9.2' })
    const { entries, skipped } = vendor(open, extended)
    expect([entries, skipped]).toEqual([[], ['other_ecosystem']])
  })
})

test("SUSE's VEX names builds without package URLs", () => {
  const name = 'libopenssl3-3.1.4-150600.5.7.1.x86_64'
  const { ids, rated } = vendor(
    vexDocument({
      publisher: 'SUSE Product Security Team',
      cpe: 'cpe:/o:opensuse:leap:15.6',
      packages: { [name]: '' },
      status: { recommended: [name] },
      impact: 'moderate',
    }),
  )
  expect(ids('opensuse-leap-15.6', 'libopenssl3', '3.1.4-150600.1.1')).toEqual(['CVE-2024-10001'])
  expect(ids('opensuse-leap-15.6', 'libopenssl3', '3.1.4-150600.5.7.1')).toEqual([])
  expect([...rated]).toEqual([])
})

test.each<[string, unknown, string]>([
  ['another JSON', { document: {} }, 'the file is no CSAF 2.0 document'],
  ['a document without an id', { document: { csaf_version: '2.0', publisher: { name: 'x' } } }, 'does not say its id'],
  [
    'a document without a date',
    { document: { csaf_version: '2.0', publisher: { name: 'x' }, tracking: { id: 'x' } } },
    'does not say when it was released',
  ],
  ['a product tree that nests without end', nested(100), 'nests its products deeper than any'],
])('%s is refused', (_, value, why) => {
  expect(() => readCsaf(value, feed().context)).toThrow(why)
})

function nested(depth: number): object {
  let branches: object[] = []
  for (let n = 0; n < depth; n++) branches = [{ branches }]
  return { ...vexDocument({ packages: {}, status: {} }), product_tree: { branches } }
}
