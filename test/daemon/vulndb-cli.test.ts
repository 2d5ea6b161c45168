import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import * as openpgp from 'openpgp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DEFAULT_DISTRIBUTIONS } from '../../server/core/default-distributions.ts'
import { osvRecord, osvZip } from '../support/zip.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-cli-'))
  await mkdir(join(folder, 'feeds', 'osv', 'Debian'), { recursive: true })
  await writeFile(
    join(folder, 'feeds', 'osv', 'Debian', 'all.zip'),
    osvZip([osvRecord('DEBIAN-CVE-2026-10001', [['Debian:12', 'openssl', '3.0.14-1']])]),
  )
  await writeFile(join(folder, 'feeds', 'notes.txt'), 'nothing to see here')
  const { privateKey, publicKey } = await openpgp.generateKey({
    type: 'ecc',
    curve: 'ed25519Legacy',
    userIDs: [{ name: 'Bundles' }],
    format: 'armored',
  })
  await writeFile(join(folder, 'key.asc'), privateKey)
  await mkdir(join(folder, 'site'))
  await writeFile(join(folder, 'site', 'settings.json'), JSON.stringify({ security: { bundle_key: publicKey } }))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** Runs the program on a REPOS_ROOT of its own, as `npm run vulndb` does. */
function vulndb(
  root: string,
  args: readonly string[],
  input = '',
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  return new Promise((resolve, reject) => {
    const { PATH = '', HOME = '/root' } = process.env
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, '..', '..', 'server', 'cli', 'vulndb.ts'), ...args],
      { env: { PATH, HOME, ENV: 'test', REPOS_ROOT: join(folder, root) }, stdio: 'pipe' },
    )
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
    })
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk.toString()
    })
    child.once('error', reject)
    child.once('close', code => resolve({ code, out, err }))
    child.stdin.end(input)
  })
}

test('a bundle is made, signed, carried over, imported and asked', async () => {
  const bundle = join(folder, 'vulndb.tar')
  const made = await vulndb('online', [
    'make',
    join(folder, 'feeds'),
    '--out',
    bundle,
    '--sign',
    join(folder, 'key.asc'),
  ])
  expect([made.code, made.out]).toEqual([0, expect.stringContaining('1 files of at most 5000, signed')])
  expect((await readFile(bundle)).toString('latin1', 0, 13)).toBe('manifest.json')

  expect((await vulndb('site', ['status'])).out).toContain('No vulnerability data are loaded.')
  const imported = await vulndb('site', ['import', bundle])
  expect([imported.code, imported.out]).toEqual([0, expect.stringContaining('signature: verified')])
  const query = JSON.stringify({
    distribution: 'bookworm',
    name: 'libssl3',
    version: '3.0.13-1',
    source: { name: 'openssl', version: '3.0.13-1' },
  })
  expect(JSON.parse((await vulndb('site', ['match'], `${query}\n`)).out)).toMatchObject({
    findings: [{ id: 'CVE-2026-10001', package: 'libssl3', fixed_in: '3.0.14-1' }],
  })
  const status = JSON.parse((await vulndb('site', ['status', '--json'])).out) as {
    distributions: { distribution: string; coverage: string }[]
  }
  expect(status.distributions.find(({ distribution }) => distribution === 'bookworm')).toMatchObject({
    coverage: 'covered',
  })
}, 60_000)
test('what is not signed is refused where a key is pinned, and taken where none is', async () => {
  const refused = await vulndb('site', ['import', join(folder, 'feeds')])
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('only a bundle can be signed')])
  expect(await vulndb('elsewhere', ['import', join(folder, 'feeds')])).toMatchObject({
    code: 0,
    out: expect.stringContaining('osv/Debian: 1 record,'),
  })
}, 60_000)
test('an own distribution is known: what covers it, and what its packages have', async () => {
  await mkdir(join(folder, 'own'))
  const bookworm = DEFAULT_DISTRIBUTIONS.find(({ codename }) => codename === 'bookworm')
  await writeFile(
    join(folder, 'own', 'distributions.json'),
    JSON.stringify([{ ...bookworm, codename: 'acme', basedOn: 'bookworm', builtin: false }]),
  )
  await vulndb('own', ['import', join(folder, 'feeds')])
  expect((await vulndb('own', ['status'])).out).toMatch(/^acme: covered\. /m)
  const query = JSON.stringify({ distribution: 'acme', name: 'openssl', version: '3.0.13-1' })
  expect(JSON.parse((await vulndb('own', ['match'], `${query}\n`)).out)).toMatchObject({
    query: { ecosystem: 'debian-12' },
    findings: [{ id: 'CVE-2026-10001', package: 'openssl', fixed_in: '3.0.14-1' }],
  })

  await writeFile(join(folder, 'own', 'distributions.json'), '{}')
  expect(await vulndb('own', ['status'])).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/^\S+distributions\.json cannot be read: it is no list\n$/),
  })
}, 60_000)
test('without a command it says how it is used', async () => {
  expect(await vulndb('site', [])).toMatchObject({ code: 2, err: expect.stringContaining('npm run vulndb -- import') })
})
