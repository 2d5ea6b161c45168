import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildRpm } from '../../../test/support/packages-rpm.ts'
import { lacking, mustRun } from '../../../test/support/tools.ts'
import { isWellFormed } from './repomd.ts'
import { printUpdateinfo, type RpmAdvisory } from './updateinfo.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rpm-updateinfo-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const advised = (name: string, version = '2.0'): RpmAdvisory['packages'][number] => ({
  name,
  epoch: '0',
  version,
  release: '1',
  arch: 'x86_64',
  source: `${name}-${version}-1.src.rpm`,
  file: `${name}-${version}-1.x86_64.rpm`,
})

const ADVISORY: RpmAdvisory = {
  id: 'ALSA-2026:1234',
  title: 'Important: hello <security> & "fixes"',
  kind: 'security',
  severity: 'high',
  from: 'packager@example.test',
  description: 'It could greet\nstrangers.\u0000',
  issued: '2026-11-20T10:11:12.000Z',
  references: [
    { kind: 'cve', id: 'CVE-2026-1234', href: 'https://example.test/?id=CVE-2026-1234&x=1' },
    { kind: 'self', id: 'ALSA-2026:1234', href: 'https://example.test/a', title: 'The advisory' },
  ],
  packages: [advised('hello'), advised('not-offered')],
}
const options = { collection: 'almalinux9', isOffered: (one: { readonly name: string }) => one.name !== 'not-offered' }

describe('updateinfo.xml', () => {
  test('lists only builds that the repository has', () => {
    const document =
      printUpdateinfo([ADVISORY, { ...ADVISORY, id: 'ALSA-2026:2', packages: [advised('not-offered')] }], options) ?? ''
    expect(isWellFormed(document, 'updates')).toBe(true)
    expect(document.match(/<id>[^<]*/g)).toEqual(['<id>ALSA-2026:1234'])
    expect(document.match(/<filename>[^<]*/g)).toEqual(['<filename>hello-2.0-1.x86_64.rpm'])
    expect(document).toContain('<issued date="2026-11-20 10:11:12"/>')
    expect(document).toContain('<severity>Important</severity>')
  })

  test('is absent when there are no advisories', () => {
    expect(printUpdateinfo([], options)).toBeUndefined()
    expect(printUpdateinfo([{ ...ADVISORY, packages: [] }], options)).toBeUndefined()
  })

  test.skipIf(lacking('createrepo-c', 'dnf', 'rpm').length > 0)(
    'tells dnf which update is about security (needs createrepo-c, dnf, rpm)',
    async () => {
      const repository = await mkdtemp(join(folder, 'd-'))
      await mkRepository(repository, [await hello('1.0'), await hello('2.0')])
      await writeFile(join(repository, 'updateinfo.xml'), printUpdateinfo([ADVISORY], options) ?? '')
      await mustRun('modifyrepo_c', [
        '--mdtype=updateinfo',
        join(repository, 'updateinfo.xml'),
        join(repository, 'repodata'),
      ])
      const at = (name: string): string => join(repository, name)
      await writeFile(
        at('dnf.conf'),
        `[main]\nreposdir=${at('none')}\ncachedir=${at('cache')}\npersistdir=${at('persist')}\nlogdir=${at('log')}\nplugins=0\n[t]\nname=t\nbaseurl=file://${repository}\nenabled=1\ngpgcheck=0\n`,
      )
      const dnf = (...args: readonly string[]): Promise<string> =>
        mustRun(
          'dnf',
          ['-c', at('dnf.conf'), `--installroot=${at('root')}`, '--releasever=9', '--forcearch=x86_64', '-y', ...args],
          { env: { HOME: repository } },
        )
      await dnf('install', 'hello-1.0')
      expect(await dnf('-q', 'updateinfo', 'list', '--security')).toMatch(
        /^ALSA-2026:1234\s+Important\/Sec\.\s+hello-2\.0-1\.x86_64$/m,
      )
      expect(await dnf('-q', 'updateinfo', 'list', '--with-cve')).toContain('CVE-2026-1234')
      expect(await dnf('-q', 'updateinfo', 'info')).toMatch(/Important: hello <security> & "fixes"[^]*It could greet/)
    },
  )
})

const hello = (version: string): Promise<Buffer> => buildRpm({ name: 'hello', version, release: '1' })

async function mkRepository(repository: string, packages: readonly Buffer[]): Promise<void> {
  for (const [n, content] of packages.entries()) await writeFile(join(repository, `${n}.rpm`), content)
  await mustRun('createrepo_c', ['-q', '--no-database', repository])
}
