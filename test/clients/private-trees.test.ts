import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConfigFile, DockerSetup } from '../../server/core/client-setup.ts'
import { apkProgram, createApkRoot } from '../support/apk.ts'
import { createAptRoot, type AptRoot } from '../support/apt.ts'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { createDnfRoot } from '../support/dnf.ts'
import { buildDeb } from '../support/packages.ts'
import { buildApk } from '../support/packages-apk.ts'
import { buildRpm } from '../support/packages-rpm.ts'
import { lacking, run } from '../support/tools.ts'
import { createZypperRoot } from '../support/zypper.ts'

const CLOSED = ['noble', 'almalinux9', 'alpine3.20'] as const

let daemon: Daemon
let admin: string
/**
 * Limited to the closed ones; limited to an open one; without limits, and a role that no rule names; for uploads alone.
 */
const tokens = { machine: '', elsewhere: '', plain: '', uploads: '' }
const shared = await buildDeb({ name: 'shared', version: '1.0' })

const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  daemon.call(method, path, { token: admin, ...(body === undefined ? {} : { body }) })
async function tokenOf(body: object): Promise<string> {
  return String((await ask('POST', '/auth/api-tokens', body)).body.token)
}

beforeAll(async () => {
  daemon = await startDaemon()
  admin = await daemon.setupAdmin()
  for (const codename of ['jammy', ...CLOSED])
    expect((await ask('POST', '/distributions/init', { codename })).status, codename).toBe(200)
  const wanted: [Buffer, string, string][] = [
    [shared, 'jammy', 'shared.deb'],
    [shared, 'noble', 'shared.deb'],
    [await buildDeb({ name: 'closed', version: '1.0' }), 'noble', 'closed.deb'],
    [await buildRpm({ name: 'closed', version: '1.0', release: '1' }), 'almalinux9', 'closed.rpm'],
    [await buildApk({ name: 'closed', version: '1.0-r0' }), 'alpine3.20', 'closed.apk'],
  ]
  for (const [content, distribution, filename] of wanted) {
    const answer = await daemon.upload(content, { token: admin, distribution, filename })
    expect([answer.status, answer.body.status], answer.text).toEqual([201, 'published'])
  }
  for (const codename of CLOSED)
    expect(
      (await ask('PUT', `/access/distributions/${codename}`, { private: true, roles: ['maintainer'] })).status,
    ).toBe(200)
  tokens.machine = await tokenOf({ name: 'machine', role: 'reader', scopes: { distributions: [...CLOSED] } })
  tokens.elsewhere = await tokenOf({ name: 'elsewhere', role: 'maintainer', scopes: { distributions: ['jammy'] } })
  tokens.plain = await tokenOf({ name: 'plain', role: 'reader' })
  tokens.uploads = await tokenOf({ name: 'uploads', role: 'maintainer', scopes: { upload_only: true } })
})
afterAll(() => daemon.close())

const get = (path: string, token?: string): Promise<Response> =>
  fetch(`${daemon.url}${path}`, {
    headers:
      token === undefined ? {} : { Authorization: `Basic ${Buffer.from(`machine:${token}`).toString('base64')}` },
  })

describe('a private tree, path by path', () => {
  const PATHS = [
    '/repos/dists/noble/InRelease',
    '/repos/dists/noble/Release.gpg',
    '/repos/dists/noble/main/binary-amd64/Packages',
    '/repos/dists/noble/main/binary-amd64/Packages.gz',
    '/repos/dists/noble@1/InRelease',
    '/repos/pool/noble/main/c/closed/closed_1.0_amd64.deb',
    '/repos/pool/noble/main/s/shared/shared_1.0_amd64.deb',
    '/repos/almalinux9/x86_64/repodata/repomd.xml',
    '/repos/almalinux9/x86_64/repodata/repomd.xml.asc',
    '/repos/almalinux9@1/x86_64/repodata/repomd.xml',
    '/apk/alpine3.20/main/x86_64/APKINDEX.tar.gz',
    '/apk/alpine3.20/main/x86_64/closed-1.0-r0.apk',
    '/apk/alpine3.20@1/main/x86_64/APKINDEX.tar.gz',
  ]
  test.each(PATHS)('%s asks for a credential, and is served to those who may see it', async path => {
    for (const none of [undefined, 'svc_wrong', 'x'.repeat(5_000)]) {
      const answer = await get(path, none)
      expect([answer.status, answer.headers.get('www-authenticate'), answer.headers.get('etag')]).toEqual([
        401,
        'Basic realm="Gatehouse", charset="UTF-8"',
        null,
      ])
    }
    for (const other of [tokens.elsewhere, tokens.plain, tokens.uploads]) {
      const answer = await get(path, other)
      expect([answer.status, answer.headers.get('etag'), answer.headers.get('last-modified')]).toEqual([
        404,
        null,
        null,
      ])
    }
    const answer = await get(path, tokens.machine)
    // of a first generation that is gone the address is gone with it
    expect(path.includes('@1') ? [200, 404] : [200]).toContain(answer.status)
    if (answer.status === 200) expect(answer.headers.get('cache-control')).toMatch(/private|no-cache/)
    // a tag that somebody knows opens nothing
    const tag = answer.headers.get('etag') ?? '"x"'
    expect((await fetch(`${daemon.url}${path}`, { headers: { 'If-None-Match': tag } })).status).toBe(401)
    expect((await fetch(`${daemon.url}${path}`, { method: 'HEAD' })).status).toBe(401)
  })

  test.each([
    '/repos/dists/NOBLE/InRelease',
    '/repos/dists//noble/InRelease',
    '/repos/dists/./noble/InRelease',
    '/repos/dists/jammy/../noble/InRelease',
    '/repos/dists/%2e%2e/dists/noble/InRelease',
    '/repos/dists/noble%00/InRelease',
    '/repos/dists/jammy%2f..%2fnoble/InRelease',
    '/repos/pool/jammy/main/../../noble/main/c/closed/closed_1.0_amd64.deb',
    '/repos/pool/jammy/main/c/closed/closed_1.0_amd64.deb',
    '/repos/pool/noble@1/main/c/closed/closed_1.0_amd64.deb',
    '/repos/dists/noble@01/InRelease',
    '/repos/dists/noble@/InRelease',
    '/repos/%6eoble/InRelease',
    '/apk/alpine3.20/main/x86_64/%2e%2e/x86_64/closed-1.0-r0.apk',
    '/repos/trees/noble/live/InRelease',
    '/repos/pool/main/c/closed/closed_1.0_amd64.deb',
  ])('%s does not get around it', async path => {
    const answer = await get(path)
    expect([400, 401, 404]).toContain(answer.status)
    expect(await answer.text()).not.toContain('BEGIN PGP')
  })

  test('the same bytes in an open distribution stay open, and only there', async () => {
    expect((await get('/repos/pool/jammy/main/s/shared/shared_1.0_amd64.deb')).status).toBe(200)
    expect((await get('/repos/pool/noble/main/s/shared/shared_1.0_amd64.deb')).status).toBe(401)
    expect((await get('/repos/gpg.key')).status).toBe(200)
  })
})

interface Setups {
  readonly token_place: string | null
  readonly fingerprints: readonly string[]
  readonly clients: readonly {
    readonly manager: string
    readonly files: readonly ConfigFile[]
    readonly check: string
    readonly docker: DockerSetup
  }[]
}
/** What the console shows for a client, with the token in its place: the lines of these tests. */
async function shown(codename: string, manager: string, token: string) {
  const { body, text } = await daemon.call<Setups>('GET', `/distributions/${codename}/setup`, { token: admin })
  const place = body.token_place ?? ''
  expect(place).toBe('YOUR_TOKEN')
  const filled = JSON.parse(text.replaceAll(place, token)) as Setups
  const client = filled.clients.find(one => one.manager === manager)
  if (client === undefined) throw new Error(`no set-up for ${manager}`)
  return { ...client, fingerprints: filled.fingerprints }
}
/** Writes the files as they are shown, below a root. */
async function put(root: string, files: readonly ConfigFile[], adapt = (text: string): string => text): Promise<void> {
  for (const { path, content, secret } of files) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), adapt(content), { mode: secret === true ? 0o600 : 0o644 })
  }
}
/** The command prints the fingerprint that the console shows, grouped as there. */
async function expectFingerprint(command: string, [fingerprint = '']: readonly string[]): Promise<void> {
  const { out, err } = await run('sh', ['-c', command])
  expect(fingerprint).toMatch(/^[0-9A-Fa-f]{40,64}$/)
  expect(out.replaceAll(' ', ''), err).toContain(fingerprint)
  expect(out).toMatch(/([0-9A-Fa-f]{4} ){4}/)
}
/** The files that a Dockerfile writes by heredoc, and the one that it mounts. */
const inImage = ({ lines, secret }: DockerSetup): ConfigFile[] => [
  ...lines.flatMap(line => {
    const [, path, content] = /^COPY <<'EOF' (\S+)\n([^]*)EOF$/.exec(line) ?? []
    return path === undefined ? [] : [{ path, content: content ?? '' }]
  }),
  ...lines.flatMap(line => {
    const [, path] = /--mount=type=secret,id=gatehouse,target=(\S+)/.exec(line) ?? []
    return path === undefined || secret === null ? [] : [{ path, content: secret.content, secret: true as const }]
  }),
]

test('an open tree is set up without a token', async () => {
  const { body, text } = await daemon.call<Setups>('GET', '/distributions/jammy/setup', { token: admin })
  expect([body.token_place, text.includes('auth.conf'), body.clients[0]?.docker.secret]).toEqual([null, false, null])
})

describe.skipIf(lacking('apt', 'dpkg', 'gpgv').length > 0)('apt-get (needs apt, gpgv)', () => {
  let apt: AptRoot
  afterAll(() => apt.close())

  test('takes the token from the file that is shown; without it, and once it is revoked, it gets nothing', async () => {
    apt = await createAptRoot({
      source: `${daemon.url}/repos noble main`,
      key: await (await get('/repos/gpg.key')).text(),
    })
    const refused = await apt.update()
    expect([refused.code === 0, refused.err.includes('401')]).toEqual([false, true])
    const token = await tokenOf({ name: 'apt', role: 'reader', scopes: { distributions: ['noble'] } })
    const { files, docker, check, fingerprints } = await shown('noble', 'apt', token)
    expect(inImage(docker)).toEqual(files)
    expect(docker.lines.join('\n').includes(token)).toBe(false)
    await rm(join(apt.folder, 'etc/apt/sources.list.d'), { recursive: true })
    await rm(join(apt.folder, 'etc/apt/sources.list'), { force: true })
    const keyring = join(apt.folder, 'etc/apt/keyrings/gatehouse.asc')
    await put(apt.folder, files, text => text.replaceAll('/etc/apt/keyrings/gatehouse.asc', keyring))
    await writeFile(keyring, await (await get('/repos/gpg.key')).text())
    await expectFingerprint(check.replaceAll('/etc/apt/keyrings/gatehouse.asc', keyring), fingerprints)
    const updated = await apt.update()
    expect(updated.code, updated.err).toBe(0)
    expect((await apt.install('closed', 'shared')).code).toBe(0)
    expect([await apt.installedVersion('closed'), await apt.installedVersion('shared')]).toEqual(['1.0', '1.0'])
    const { body } = await daemon.call<{ tokens: { id: string; name: string }[] }>('GET', '/auth/api-tokens', {
      token: admin,
    })
    await ask('DELETE', `/auth/api-tokens/${body.tokens.find(one => one.name === 'apt')?.id ?? ''}`)
    await apt.forgetLists()
    expect((await apt.update()).code).not.toBe(0)
  })
})

describe.skipIf(lacking('dnf', 'rpm').length > 0)('dnf (needs dnf, rpm)', () => {
  test('takes the token from username and password of the file that is shown', async () => {
    const key = await (await get('/repos/gpg.key')).text()
    const baseurl = `${daemon.url}/repos/almalinux9/x86_64/`
    const { files, docker, check, fingerprints } = await shown('almalinux9', 'dnf', tokens.machine)
    expect(inImage(docker)).toEqual(files)
    await expectFingerprint(check, fingerprints)
    const stranger = await createDnfRoot({ baseurl, key, signedPackages: false })
    const dnf = await createDnfRoot({ baseurl, key, signedPackages: false, repo: files[0]?.content ?? '' })
    try {
      expect((await stranger.refresh()).code).not.toBe(0)
      const refreshed = await dnf.refresh()
      expect(refreshed.code, refreshed.err).toBe(0)
      const installed = await dnf.install('closed')
      expect(installed.code, installed.err + installed.out).toBe(0)
    } finally {
      await Promise.all([stranger.close(), dnf.close()])
    }
  })
})

describe.skipIf(lacking('zypper', 'rpm').length > 0)('zypper (needs zypper, rpm)', () => {
  test('takes the token from the file of credentials that the address names', async () => {
    const key = await (await get('/repos/gpg.key')).text()
    const baseurl = `${daemon.url}/repos/almalinux9/x86_64/`
    const { files, docker } = await shown('almalinux9', 'zypper', tokens.machine)
    expect(inImage(docker)).toEqual(files)
    const zypper = await createZypperRoot({ baseurl, key, signedPackages: false })
    try {
      expect((await zypper.refresh()).code).not.toBe(0)
      await put(join(zypper.folder, 'root'), files)
      const refreshed = await zypper.refresh()
      expect(refreshed.code, refreshed.err + refreshed.out).toBe(0)
      expect(await zypper.available()).toContain('closed-1.0-1.x86_64')
    } finally {
      await zypper.close()
    }
  })
})

test('the lines for apk carry the token in the address, and name a key whose fingerprint is shown', async () => {
  const { files, docker, check, fingerprints } = await shown('alpine3.20', 'apk', tokens.machine)
  const [address = ''] = (files[0]?.content ?? '').split('\n')
  expect(docker.secret?.content).toBe(files[0]?.content)
  // as its HTTP client sends it
  const { username, password, origin, pathname } = new URL(address)
  const answer = await fetch(`${origin}${pathname}/x86_64/APKINDEX.tar.gz`, {
    headers: { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
  })
  expect(answer.status).toBe(200)
  const folder = await mkdtemp(join(tmpdir(), 'gh-key-'))
  const [, name = ''] = /\/etc\/apk\/keys\/(\S+)/.exec(check) ?? []
  await writeFile(join(folder, name), await (await get(`/apk/${name}`)).text())
  await expectFingerprint(check.replaceAll('/etc/apk/keys', folder), fingerprints)
  await rm(folder, { recursive: true })
})

describe.skipIf(apkProgram === undefined)('apk (needs apk)', () => {
  test('installs with the address that is shown', async () => {
    const { files, check } = await shown('alpine3.20', 'apk', tokens.machine)
    const [, name = ''] = /\/etc\/apk\/keys\/(\S+)/.exec(check) ?? []
    const keys = { [name]: await (await get(`/apk/${name}`)).text() }
    const repository = (files[0]?.content ?? '').trimEnd()
    const root = await createApkRoot({ repository, keys })
    try {
      const added = await root.apk('add', '--no-scripts', 'closed')
      expect(added.code, added.err + added.out).toBe(0)
    } finally {
      await root.close()
    }
  })
})
