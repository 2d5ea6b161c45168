import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAptRoot, type AptRoot } from '../support/apt.ts'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { createDnfRoot } from '../support/dnf.ts'
import { buildDeb } from '../support/packages.ts'
import { buildApk } from '../support/packages-apk.ts'
import { buildRpm } from '../support/packages-rpm.ts'
import { lacking } from '../support/tools.ts'

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

describe.skipIf(lacking('apt', 'dpkg', 'gpgv').length > 0)('apt-get (needs apt, gpgv)', () => {
  let apt: AptRoot
  afterAll(() => apt.close())

  test('takes the token from auth.conf; without it, and once it is revoked, it gets nothing', async () => {
    apt = await createAptRoot({
      source: `${daemon.url}/repos noble main`,
      key: await (await get('/repos/gpg.key')).text(),
    })
    const refused = await apt.update()
    expect([refused.code === 0, refused.err.includes('401')]).toEqual([false, true])
    const token = await tokenOf({ name: 'apt', role: 'reader', scopes: { distributions: ['noble'] } })
    await writeFile(join(apt.folder, 'etc/apt/auth.conf'), `machine ${daemon.url}/repos login apt password ${token}\n`)
    expect(await apt.update()).toMatchObject({ code: 0 })
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
  test('takes the token from username and password of its repository', async () => {
    const key = await (await get('/repos/gpg.key')).text()
    const baseurl = `${daemon.url}/repos/almalinux9/x86_64/`
    const stranger = await createDnfRoot({ baseurl, key, signedPackages: false })
    const dnf = await createDnfRoot({ baseurl, key, signedPackages: false })
    try {
      expect((await stranger.refresh()).code).not.toBe(0)
      const repo = `[gatehouse]\nname=gatehouse\nbaseurl=${baseurl}\nenabled=1\ngpgcheck=0\nrepo_gpgcheck=1\ngpgkey=file://${join(dnf.folder, 'key.asc')}\nmetadata_expire=0\nusername=machine\npassword=${tokens.machine}\n`
      await writeFile(join(dnf.folder, 'repos.d/gatehouse.repo'), repo)
      const refreshed = await dnf.refresh()
      expect(refreshed.code, refreshed.err).toBe(0)
      const installed = await dnf.install('closed')
      expect(installed.code, installed.err + installed.out).toBe(0)
    } finally {
      await Promise.all([stranger.close(), dnf.close()])
    }
  })
})
