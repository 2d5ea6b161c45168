import { describe, expect, test } from 'vitest'
import { affected, feed, fixed, record } from '../../../test/support/advisory-set.ts'

describe('module streams', () => {
  const postgres = (stream: string, fix: string) =>
    record(
      `ALSA-2024:${stream}`,
      [affected('AlmaLinux:8', 'postgresql', fixed(`${fix}-1.module_el8.9.0+3627+db8ec155`))],
      { related: ['CVE-2024-10001'], summary: `Important: postgresql:${stream} security update` },
    )
  const untitled = (n: number, fix: string) =>
    record(`ALSA-2024:${n}`, [affected('AlmaLinux:8', 'postgresql', fixed(`${fix}-1.module_el8.9.0+3627+db8ec155`))], {
      related: ['CVE-2024-10001'],
      summary: 'Important: postgresql security update',
    })

  test('a package is only compared with fixes of its own stream', () => {
    const { osv, ids } = feed()
    osv(postgres('10', '10.23'), postgres('12', '12.15'), postgres('13', '13.11'))
    const at = (version: string, module?: string) =>
      ids('almalinux-8', 'postgresql', version, module === undefined ? {} : { module }).length
    expect([
      at('10.23-1.module_el8.9.0+3627+db8ec155', 'postgresql:10:8090020230:a'),
      at('10.21-1.module_el8.6.0+1+a', 'postgresql:10:8060020220:a'),
    ]).toEqual([0, 1])
    expect([
      at('12.15-1.module_el8.9.0+3627+db8ec155'),
      at('12.12-1.module_el8.6.0+1+a'),
      at('9.6.22-1.module_el8.3.0+1+a'),
    ]).toEqual([0, 1, 0])
  })
  test('where no stream is named the first number of the version decides', () => {
    const { osv, ids } = feed()
    osv(untitled(1, '10.23'), untitled(2, '12.15'))
    expect(
      [
        '10.23-1.module_el8.9.0+3627+db8ec155',
        '10.22-1.module_el8.9.0+1+a',
        '12.14-1.module_el8.9.0+1+a',
        '13.1-1.module_el8.9.0+1+a',
      ].map(version => ids('almalinux-8', 'postgresql', version).length),
    ).toEqual([0, 1, 1, 0])
  })
  test("a module's fix does not concern a package outside modules", () => {
    const { osv, ids } = feed()
    osv(
      postgres('12', '12.15'),
      record('ALSA-2024:9', [affected('AlmaLinux:8', 'nginx', fixed('1:1.20-1.el8'))], { related: ['CVE-2024-10002'] }),
    )
    expect(ids('almalinux-8', 'postgresql', '12.1-1.el8')).toEqual([])
    expect(ids('almalinux-8', 'nginx', '1:1.14-1.module_el8.3.0+1+a', { module: 'nginx:1.14:1:a' })).toEqual([])
  })
  test('streams within one first number are told apart by the label', () => {
    const { osv, ids } = feed()
    const php = (stream: string, fix: string) =>
      record(`ALSA-2023:${stream}`, [affected('AlmaLinux:8', 'php', fixed(`${fix}-1.module_el8.7.0+1+a`))], {
        related: ['CVE-2023-10001'],
        summary: `Moderate: php:${stream} security update`,
      })
    osv(php('7.2', '7.2.34'), php('7.4', '7.4.33'))
    expect(ids('almalinux-8', 'php', '7.2.34-1.module_el8.7.0+1+a')).toEqual([])
    expect(ids('almalinux-8', 'php', '7.4.19-1.module_el8.6.0+1+a')).toEqual(['CVE-2023-10001'])
  })
  test('of several builds in one update each has the fix', () => {
    const { osv, ids } = feed()
    osv(
      record(
        'ALSA-2024:2084',
        ['3627', '3821'].map(build =>
          affected('AlmaLinux:8', 'aardvark-dns', fixed(`2:1.0.1-38.module_el8.9.0+${build}+db8ec155`)),
        ),
        { related: ['CVE-2024-10001'], summary: 'Important: container-tools:4.0 security update' },
      ),
    )
    const at = (version: string) =>
      ids('almalinux-8', 'aardvark-dns', version, { module: 'container-tools:4.0:8090020240:a' }).length
    expect([at('2:1.0.1-38.module_el8.9.0+3627+db8ec155'), at('2:1.0.1-37.module_el8.8.0+3400+aaaaaaaa')]).toEqual([
      0, 1,
    ])
    expect(
      ids('almalinux-8', 'aardvark-dns', '2:1.0.1-37.module_el8.8.0+1+a', { module: 'container-tools:rhel8:1:a' }),
    ).toEqual([])
  })
  test('the record itself may name the module', () => {
    const { osv, ids } = feed()
    osv(
      record(
        'ALSA-2021:4537',
        [
          affected('AlmaLinux:8', 'httpd', fixed('2.4.37-43.module_el8.5.0+1+a'), {
            ecosystem_specific: { rpm_modularity: 'httpd:2.4' },
          }),
        ],
        { related: ['CVE-2021-10001'] },
      ),
    )
    expect([
      ids('almalinux-8', 'httpd', '2.4.37-40.module_el8.4.0+1+a', { module: 'httpd:2.4:1:a' }),
      ids('almalinux-8', 'httpd', '2.4.37-40.module_el8.4.0+1+a', { module: 'httpd:2.6:1:a' }),
    ]).toEqual([['CVE-2021-10001'], []])
  })
})
