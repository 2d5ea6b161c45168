import { describe, expect, test } from 'vitest'
import type { FixAdvisory, OfferedPackage } from '../../core/advisories.ts'
import { getDistribution } from '../../../test/support/repositories.ts'
import { compareVersions } from '../../formats/rpm/version.ts'
import { createAdvisoriesOf } from './advisories-of.ts'
import type { Entry } from '../advisory.ts'
import type { Snapshot } from '../store/database.ts'
import { readOsvRecord } from '../read/osv.ts'
import { readUpdateinfo } from '../read/updateinfo.ts'
import { createOrders } from '../versions/orders.ts'

const orders = createOrders({ compare: (_, a, b) => compareVersions(a, b) })

/** The real readers, and what they read as a snapshot of it. */
function feed() {
  const entries: Entry[] = []
  const context = (source: string) => ({
    source,
    orders,
    sink: {
      add: (entry: Entry) => {
        entries.push(entry)
      },
      skip: () => undefined,
      vector: () => undefined,
      rate: () => undefined,
    },
  })
  const ask = async (
    codename: string,
    ...packages: readonly Partial<OfferedPackage>[]
  ): Promise<readonly FixAdvisory[]> => {
    const snapshot: Pick<Snapshot, 'meta' | 'rows'> = {
      meta: {
        format: 1,
        generation: 1,
        created: '2026-01-02T00:00:00.000Z',
        sources: {},
        vector_digits: 0,
        intel: {} as Snapshot['meta']['intel'],
        ecosystems: Object.fromEntries(
          entries.map(({ ecosystem }) => [
            ecosystem,
            { rows: 1, ranks: { 1: 0, 2: 0, 3: 0 }, sources: {}, digits: 0, pieces: ['all'] },
          ]),
        ),
      },
      rows: async (ecosystem, names) =>
        entries
          .filter(entry => entry.ecosystem === ecosystem && names.includes(entry.row.name))
          .map(({ advisory, row }) => ({ ...row, advisory })),
    }
    const find = createAdvisoriesOf({
      database: { open: async () => (entries.length === 0 ? undefined : (snapshot as Snapshot)) },
      orders,
    })
    return find(
      getDistribution(codename),
      (async function* () {
        for (const one of packages)
          yield {
            name: 'xz',
            version: '5.2.5-8.el9',
            arch: 'x86_64',
            source: 'xz',
            source_version: '5.2.5-8.el9',
            ...one,
          }
      })(),
    )
  }
  return {
    ask,
    osv: (record: object) => {
      readOsvRecord({ schema_version: '1.7.3', modified: '2026-01-01T00:00:00Z', ...record }, context('osv/AlmaLinux'))
    },
    updateinfo: (text: string) =>
      readUpdateinfo(
        (async function* () {
          yield Buffer.from(text)
        })(),
        context('updateinfo/almalinux9'),
        'almalinux-9',
      ),
  }
}

const fixed = (ecosystem: string, name: string, version: string) => ({
  package: { ecosystem, name },
  ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: version }] }],
})
const ALSA = {
  id: 'ALSA-2026:1',
  summary: 'Important: xz security update',
  related: ['CVE-2026-10002', 'CVE-2026-10001'],
  references: [{ type: 'ADVISORY', url: 'https://errata.example/9/ALSA-2026-1.html' }],
}

describe('advisories of a distribution', () => {
  test('are those whose fix is the very build that it offers, with what is known of them', async () => {
    const { osv, ask } = feed()
    osv({
      ...ALSA,
      affected: [fixed('AlmaLinux:9', 'xz', '5.2.5-8.el9'), fixed('AlmaLinux:9', 'xz-libs', '5.2.5-8.el9')],
    })
    const [said, ...others] = await ask(
      'almalinux9',
      { name: 'xz-libs' },
      {},
      { name: 'xz-devel' },
      { version: '5.2.5-7.el9' },
      { version: '5.2.5-9.el9' },
    )
    expect(others).toEqual([])
    expect(said).toEqual({
      id: 'ALSA-2026:1',
      kind: 'security',
      severity: 'high',
      title: 'Important: xz security update',
      from: 'osv/AlmaLinux',
      at: '2026-01-01T00:00:00Z',
      cves: ['CVE-2026-10001', 'CVE-2026-10002'],
      references: ['https://errata.example/9/ALSA-2026-1.html'],
      packages: [
        expect.objectContaining({ name: 'xz', version: '5.2.5-8.el9' }),
        expect.objectContaining({ name: 'xz-libs' }),
      ],
    })
  })

  test('are compared with the epoch, but not with that of a source, whose header has none', async () => {
    const { osv, ask } = feed()
    osv({
      ...ALSA,
      affected: [fixed('AlmaLinux:9', 'xz', '1:5.2.5-8.el9'), fixed('Rocky Linux:9', 'xz', '1:5.2.5-8.el9')],
    })
    expect(await ask('almalinux9', {})).toEqual([])
    expect(await ask('almalinux9', { version: '1:5.2.5-8.el9' })).toHaveLength(1)
    expect(await ask('rocky9', { name: 'xz-libs', version: '1:5.2.5-8.el9' })).toHaveLength(1)
    expect(await ask('rocky9', { name: 'xz', source: 'other' })).toEqual([])
  })

  test.each([
    ['is affected up to and with it', [{ introduced: '0' }, { last_affected: '5.2.5-8.el9' }]],
    ['has no fix', [{ introduced: '0' }]],
    ['is introduced by it', [{ introduced: '5.2.5-8.el9' }, { fixed: '5.2.5-9.el9' }]],
  ])('do not name a build that %s', async (_, events) => {
    const { osv, ask } = feed()
    osv({
      ...ALSA,
      affected: [{ package: { ecosystem: 'AlmaLinux:9', name: 'xz' }, ranges: [{ type: 'ECOSYSTEM', events }] }],
    })
    expect(await ask('almalinux9', {})).toEqual([])
  })

  test('are of that distribution, and none without data', async () => {
    const { osv, ask } = feed()
    expect(await ask('almalinux9', {})).toEqual([])
    osv({ ...ALSA, affected: [fixed('AlmaLinux:8', 'xz', '5.2.5-8.el9')] })
    expect(await ask('almalinux9', {})).toEqual([])
    expect(await ask('rocky9', {})).toEqual([])
  })

  test("that two feeds bring are one, in the words of the distribution's own repository", async () => {
    const { osv, updateinfo, ask } = feed()
    osv({ ...ALSA, affected: [fixed('AlmaLinux:9', 'xz', '5.2.5-8.el9')] })
    await updateinfo(`<updates><update type="security"><id>ALSA-2026:1</id><title>xz: fixes</title><severity>Moderate</severity><issued date="2026-02-01 00:00:00"/>
      <references><reference href="https://e.example/CVE-2026-10003" id="CVE-2026-10003" type="cve"/></references>
      <pkglist><collection><package name="xz" epoch="0" version="5.2.5" release="8.el9" arch="x86_64"/><package name="xz-libs" epoch="0" version="5.2.5" release="8.el9" arch="i686"/></collection></pkglist></update></updates>`)
    const said = await ask('almalinux9', {}, { name: 'xz-libs' })
    expect(said).toEqual([
      expect.objectContaining({
        title: 'xz: fixes',
        severity: 'medium',
        at: '2026-02-01T00:00:00.000Z',
        cves: ['CVE-2026-10001', 'CVE-2026-10002', 'CVE-2026-10003'],
        packages: [expect.objectContaining({ name: 'xz' })],
      }),
    ])
  })

  test('do not depend on the order in which anything comes', async () => {
    const [one, other] = [feed(), feed()]
    const second = {
      ...ALSA,
      id: 'ALBA-2026:2',
      summary: 'xz bug fix update',
      affected: [fixed('AlmaLinux:9', 'xz', '5.2.5-8.el9')],
    }
    const first = {
      ...ALSA,
      affected: [fixed('AlmaLinux:9', 'xz', '5.2.5-8.el9'), fixed('AlmaLinux:9', 'xz-libs', '5.2.5-8.el9')],
    }
    for (const record of [first, second]) one.osv(record)
    for (const record of [second, first]) other.osv(record)
    const said = await one.ask('almalinux9', {}, { name: 'xz-libs' })
    expect(said.map(({ id, kind }) => [id, kind])).toEqual([
      ['ALBA-2026:2', 'bugfix'],
      ['ALSA-2026:1', 'security'],
    ])
    expect(await other.ask('almalinux9', { name: 'xz-libs' }, {})).toEqual(said)
  })
})
