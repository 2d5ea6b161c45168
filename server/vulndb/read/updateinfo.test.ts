import { describe, expect, test } from 'vitest'
import { bytes, feed } from '../../../test/support/advisory-set.ts'
import { readUpdateinfo } from './updateinfo.ts'

describe('updateinfo.xml', () => {
  const pkg = (name: string, version: string, release: string, { epoch = '0', arch = 'x86_64' } = {}) =>
    `<package name="${name}" epoch="${epoch}" version="${version}" release="${release}" arch="${arch}" src="a.src.rpm"><filename>f.rpm</filename></package>`
  const update = (
    id: string,
    body: string,
    { type = 'security', refs = '', head = '' } = {},
  ) => `<update from="x" status="final" type="${type}" version="1"><id>${id}</id><title>Important: a security update</title>
    <issued date="2026-01-02 03:04:05"/><updated date="2026-02-03 04:05:06"/><release>Rocky Linux 9</release><severity>Moderate</severity>${head}<references>${refs}</references><pkglist>${body}</pkglist></update>`
  const cve = (id: string) => `<reference href="https://example.test/${id}" id="${id}" type="cve" title="${id}"/>`
  const document = (...updates: string[]) => `<?xml version="1.0"?><updates>${updates.join('')}</updates>`

  test('epoch, architecture, severity and CVEs are taken; source packages and bug fixes are not', async () => {
    const { context, match, ids } = feed()
    const { records, newest, ecosystems } = await readUpdateinfo(
      bytes(
        document(
          update(
            'RLSA-2026:1',
            `<collection short="c"><name>c</name>${pkg('a', '2', '1.el9', { epoch: '3' })}${pkg('a', '2', '1.el9', { epoch: '3', arch: 'src' })}${pkg('b', '2', '1.el9', { arch: 'aarch64' })}</collection>`,
            { refs: cve('CVE-2026-10001') },
          ),
          update('RLBA-2026:2', `<collection short="c">${pkg('a', '9', '1.el9')}</collection>`, { type: 'bugfix' }),
          update('RLBA-2026:3', `<collection short="c">${pkg('c', '2', '1.el9')}</collection>`, {
            type: 'bugfix',
            refs: '<reference href="https://bugs.example.test/1" type="bugzilla" title="CVE-2026-10003 c: overflow"/>',
          }),
        ),
      ),
      context,
    )
    expect([records, newest, [...ecosystems]]).toEqual([3, '2026-02-03T04:05:06.000Z', ['rocky-9']])
    expect(match({ ecosystem: 'rocky-9', name: 'a', version: '3:1-1.el9', arch: 'x86_64' }).findings).toMatchObject([
      { id: 'CVE-2026-10001', severity: 'medium', fixed_in: '3:2-1.el9', advisories: ['RLSA-2026:1'] },
    ])
    expect(ids('rocky-9', 'a', '3:2-1.el9', { arch: 'x86_64' })).toEqual([])
    expect([ids('rocky-9', 'b', '1-1', { arch: 'x86_64' }), ids('rocky-9', 'b', '1-1', { arch: 'aarch64' })]).toEqual([
      [],
      ['CVE-2026-10001'],
    ])
    expect(ids('rocky-9', 'c', '1-1')).toEqual(['CVE-2026-10003'])
  })
  test('a module is named by its collection', async () => {
    const { context, ids } = feed()
    await readUpdateinfo(
      bytes(
        document(
          update(
            'RLSA-2026:1',
            `<collection short="c"><name>c</name><module name="php" stream="8.1" version="9" context="x" arch="x86_64"/>${pkg('php', '8.1.20', '1.module+el9.2.0+1+a')}</collection>`,
            { refs: cve('CVE-2026-10001') },
          ),
        ),
      ),
      context,
    )
    expect(ids('rocky-9', 'php', '8.1.10-1.module+el9.1.0+1+a', { module: 'php:8.1:9:x' })).toEqual(['CVE-2026-10001'])
    expect(ids('rocky-9', 'php', '8.0.30-1.module+el9.1.0+1+a', { module: 'php:8.0:9:x' })).toEqual([])
    expect(ids('rocky-9', 'php', '8.0.27-1.el9')).toEqual([])
  })
  test('one that names no distribution needs to be told', async () => {
    const { context, ids } = feed()
    const text = document(
      update('X-1', `<collection short="c">${pkg('a', '2', '1')}</collection>`, { refs: cve('CVE-2026-10001') }),
    ).replace('Rocky Linux 9', '0')
    await expect(readUpdateinfo(bytes(text), context)).rejects.toThrow('does not say which distribution')
    await readUpdateinfo(bytes(text), context, 'oracle-8')
    expect(ids('oracle-8', 'a', '1-1')).toEqual(['CVE-2026-10001'])
  })
  test('damage is refused', async () => {
    const { context } = feed()
    await expect(readUpdateinfo(bytes('<updates><update type="security"><id>1</id>'), context)).rejects.toThrow(
      'damaged',
    )
    await expect(readUpdateinfo(bytes('<html></html>'), context)).rejects.toThrow('no updateinfo')
  })
  test('a live patch of the C library is not its update', async () => {
    const { context, ids } = feed()
    await readUpdateinfo(
      bytes(
        document(
          update(
            'ELSA-2026:1',
            `<collection short="c">${pkg('glibc', '2.28', '164.0.1.ksplice1.el8', { epoch: '2' })}</collection>`,
            { refs: cve('CVE-2026-10001') },
          ),
        ),
      ),
      context,
      'oracle-8',
    )
    expect([ids('oracle-8', 'glibc', '2.28-151.el8'), ids('oracle-8', 'glibc', '2:2.28-151.0.1.ksplice1.el8')]).toEqual(
      [[], ['CVE-2026-10001']],
    )
  })
})
