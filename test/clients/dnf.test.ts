import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { buildRpm } from '../support/packages-rpm.ts'
import { createDnfRoot } from '../support/dnf.ts'
import { describeRpmClient } from '../support/rpm-client-suite.ts'
import { lacking, run } from '../support/tools.ts'

const lacks = lacking('dnf', 'rpm', 'gnupg')

describeRpmClient({
  program: 'dnf',
  create: createDnfRoot,
  codename: 'almalinux9',
  lacks,
  badIndex: /GPG verification error|Signing key not found|Bad GPG signature|repomd\.xml GPG signature/i,
  badPackage: /is not signed|GPG check FAILED/i,
})

test.skipIf(lacks.length > 0)(
  'dnf finds a source and installs debug symbols from repositories that are off, and neither is written anew for a binary',
  async () => {
    const daemon = await startDaemon()
    try {
      const token = await daemon.setupAdmin()
      await daemon.call('POST', '/distributions/init', { token, body: { codename: 'almalinux9' } })
      const send = async (spec: Partial<Parameters<typeof buildRpm>[0]>): Promise<void> => {
        const content = await buildRpm({ name: 'acme', version: '1.0', release: '1', ...spec })
        const answer = await daemon.upload(content, { token, filename: 'package.rpm', distribution: 'almalinux9' })
        expect(answer, answer.text).toMatchObject({ status: 201, body: { status: 'published' } })
      }
      await send({ sourcerpm: '', requires: ['gcc'] })
      await send({ name: 'acme-debuginfo', group: 'Development/Debug' })
      const roots = (): Promise<string[]> =>
        Promise.all(
          ['src', 'x86_64/debug'].map(
            async folder => (await daemon.call('GET', `/repos/almalinux9/${folder}/repodata/repomd.xml`)).text,
          ),
        )
      const before = await roots()
      await send({})
      expect(await roots()).toEqual(before)
      const { body } = await daemon.call<{ clients: { manager: string; files: { content: string }[] }[] }>(
        'GET',
        '/distributions/almalinux9/setup',
        { token },
      )
      const repo = body.clients.find(({ manager }) => manager === 'dnf')?.files[0]?.content ?? ''
      const one = await createDnfRoot({ baseurl: '', key: '', signedPackages: false, repo })
      try {
        expect(await one.refresh()).toMatchObject({ code: 0 })
        expect(await one.available()).toEqual(['acme-1.0-1.x86_64'])
        const symbols = await one.dnf('install', '--enablerepo=gatehouse-debuginfo', 'acme-debuginfo')
        expect(symbols, symbols.out + symbols.err).toMatchObject({ code: 0 })
        expect(await one.installedVersion('acme-debuginfo')).toBe('1.0-1')
        // what `dnf download --source` asks, which is a plugin that Debian's dnf comes without
        const source = await one.dnf('-q', 'repoquery', '--enablerepo=gatehouse-source', '--location', 'acme.src')
        const address = `${daemon.url}/repos/almalinux9/src/Packages/a/acme-1.0-1.src.rpm`
        expect(source.out.trim(), source.err).toBe(address)
        const file = join(one.folder, 'acme.src.rpm')
        await writeFile(file, Buffer.from(await (await fetch(address)).arrayBuffer()))
        expect(await run('rpm', ['-K', '--nosignature', file])).toMatchObject({ code: 0 })
      } finally {
        await one.close()
      }
    } finally {
      await daemon.close()
    }
  },
)
