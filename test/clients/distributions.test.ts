import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAptRoot, type AptRoot } from '../support/apt.ts'
import { buildApk } from '../support/packages-apk.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { lacking } from '../support/tools.ts'

const noApt = lacking('apt', 'dpkg', 'gpgv', 'gnupg').length > 0

let daemon: Daemon
let token: string
const roots: AptRoot[] = []

beforeAll(async () => {
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  const body = { codename: 'acme', based_on: 'trixie', components: ['main', 'tools'], origin: 'Acme', suite: 'stable' }
  const made = await daemon.call('POST', '/distributions/', { token, body })
  expect(made, made.text).toMatchObject({ status: 201, body: { architectures: ['amd64', 'arm64'], retired: false } })
  for (const codename of ['acme', 'trixie', 'alpine3.23']) {
    const init = await daemon.call('POST', '/distributions/init', { token, body: { codename } })
    expect(init, init.text).toMatchObject({ status: 200, body: { status: 'ok' } })
  }
})
afterAll(async () => {
  for (const root of roots) await root.close()
  await daemon.close()
})

async function send(
  content: Buffer,
  filename: string,
  fields: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly text: string }> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  form.set('file', new Blob([new Uint8Array(content)]), filename)
  return daemon.call('POST', '/upload/', { token, form })
}

async function client(arch: string, source: string): Promise<AptRoot> {
  const key = (await daemon.call('GET', '/repos/gpg.key')).text
  const root = await createAptRoot({ source: `${daemon.url}/repos ${source}`, key, arch })
  roots.push(root)
  const { code, err } = await root.update()
  expect(code, err).toBe(0)
  return root
}

const fetchText = async (path: string): Promise<string> => (await fetch(`${daemon.url}${path}`)).text()

describe.skipIf(noApt)('apt with an own distribution (needs apt, gpgv, gnupg)', () => {
  test('each architecture finds its own packages and the neutral ones, in each component', async () => {
    for (const arch of ['amd64', 'arm64', 'all'])
      expect(
        await send(await buildDeb({ name: `tool-${arch}`, version: '1', arch }), 'a.deb', {
          distribution: 'acme',
          component: 'tools',
        }),
      ).toMatchObject({ status: 201 })
    // the package says its component itself
    const asks = await buildDeb({ name: 'asks', version: '1', arch: 'arm64', fields: { Section: 'tools/misc' } })
    expect(await send(asks, 'asks.deb', { distribution: 'acme' })).toMatchObject({ status: 201 })
    expect(
      await send(await buildDeb({ name: 'plain', version: '1', arch: 'arm64' }), 'p.deb', { distribution: 'acme' }),
    ).toMatchObject({ status: 201 })

    const arm = await client('arm64', 'acme main tools')
    const [tool, neutral, other] = await Promise.all(
      ['tool-arm64', 'tool-all', 'tool-amd64'].map(name => arm.policy(name)),
    )
    expect([tool?.includes('Candidate: 1'), neutral?.includes('Candidate: 1'), other]).toEqual([true, true, ''])
    expect((await arm.download('asks')).code).toBe(0)
    const onlyMain = await client('arm64', 'acme main')
    expect([(await onlyMain.policy('plain')).includes('Candidate: 1'), await onlyMain.policy('asks')]).toEqual([
      true,
      '',
    ])
    const release = await fetchText('/repos/dists/acme/Release')
    expect(release).toContain('Origin: Acme\nLabel: Gatehouse\nSuite: stable\nCodename: acme\n')
    expect(release).toMatch(/^Architectures: amd64 arm64$/m)
    expect(release).toMatch(/^Components: main tools\b/m)
  })

  test('a neutral package counts once, though each architecture has it in its index', async () => {
    type List = { readonly generations: readonly { readonly live: boolean; readonly packages: number }[] }
    const { body } = await daemon.call<List>('GET', '/distributions/acme/generations', { token })
    expect(body.generations.find(one => one.live)?.packages).toBe(5)
  })

  test('promotion keeps the component where the target has it, and falls back to the first one', async () => {
    const answer = await daemon.call('POST', '/distributions/promote', {
      token,
      body: { package: 'tool-arm64', from_dist: 'acme', to_dist: 'trixie' },
    })
    expect(answer, answer.text).toMatchObject({ status: 200, body: { status: 'promoted' } })
    expect(await fetchText('/repos/dists/trixie/main/binary-arm64/Packages')).toContain(
      'Filename: pool/trixie/main/t/tool-arm64/tool-arm64_1_arm64.deb',
    )
    expect((await client('arm64', 'trixie main').then(root => root.download('tool-arm64'))).code).toBe(0)
  })

  test('a publication leaves the indexes of other architectures as they are', async () => {
    const date = async (path: string): Promise<string | null> =>
      (await fetch(`${daemon.url}${path}`, { method: 'HEAD' })).headers.get('etag')
    const path = '/repos/dists/acme/tools/binary-arm64/Packages.xz'
    const before = await date(path)
    expect(
      await send(await buildDeb({ name: 'one-more', version: '1' }), 'm.deb', { distribution: 'acme' }),
    ).toMatchObject({ status: 201 })
    expect(await date(path)).toBe(before)
  })

  test('a distribution with packages cannot be removed, and a retired one takes no packages and is served', async () => {
    const change = (method: string, path: string, body?: unknown) => daemon.call(method, path, { token, body })
    expect(await change('PATCH', '/distributions/acme', { architectures: ['amd64'] })).toMatchObject({ status: 409 })
    expect(await change('PATCH', '/distributions/acme', { components: ['main'] })).toMatchObject({ status: 409 })
    expect(await change('DELETE', '/distributions/acme')).toMatchObject({ status: 409 })
    expect(await change('DELETE', '/distributions/trixie')).toMatchObject({ status: 409 })
    expect(await change('POST', '/distributions/acme/retire')).toMatchObject({ status: 200, body: { retired: true } })
    expect(await send(await buildDeb({ name: 'late', version: '1' }), 'l.deb', { distribution: 'acme' })).toMatchObject(
      { status: 409 },
    )
    expect((await client('amd64', 'acme main tools').then(root => root.download('tool-all'))).code).toBe(0)
  })

  test('it survives a restart', async () => {
    await daemon.stop()
    await daemon.restart()
    expect((await client('arm64', 'acme main tools').then(root => root.download('tool-arm64'))).code).toBe(0)
  })
})

describe('changes of own distributions', () => {
  test('a codename is given once, also to two requests at the same time', async () => {
    const add = (label: string) =>
      daemon.call('POST', '/distributions/', { token, body: { codename: 'twice', format: 'deb', label } })
    const answers = await Promise.all([add('One'), add('Two')])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
  })

  test('two changes of different fields at the same time both take effect', async () => {
    const change = (body: object) => daemon.call('PATCH', '/distributions/twice', { token, body })
    await Promise.all([change({ label: 'Both' }), change({ suite: 'both' })])
    expect((await daemon.call('GET', '/distributions/twice/definition', { token })).body).toMatchObject({
      label: 'Both',
      suite: 'both',
    })
  })

  test('a codename used again has no documents of the earlier distribution', async () => {
    const text = `Package: tool\nDescription-md5: ${'0'.repeat(32)}\nDescription-de: Ding\n Es tut etwas.\n`
    const put = await fetch(`${daemon.url}/api/v1/distributions/twice/documents/translation?component=main&name=de`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}` },
      body: text,
    })
    expect(put.status, await put.text()).toBe(200)
    expect((await daemon.call('DELETE', '/distributions/twice', { token })).status).toBe(204)
    const body = { codename: 'twice', format: 'deb' }
    expect((await daemon.call('POST', '/distributions/', { token, body })).status).toBe(201)
    expect((await daemon.call('GET', '/distributions/twice/documents', { token })).body).toMatchObject({
      documents: [],
    })
    await expect.poll(() => existsSync(join(daemon.root, 'documents', 'twice'))).toBe(false)
  })
})

test('an apk of each architecture lies in the index of its own, also under one name and version', async () => {
  for (const arch of ['x86_64', 'aarch64'])
    expect(
      await send(await buildApk({ name: 'both', version: '1-r0', arch }), `both-1-r0.apk`, {
        distribution: 'alpine3.23',
      }),
    ).toMatchObject({ status: 201 })
  for (const arch of ['x86_64', 'aarch64'])
    expect((await fetch(`${daemon.url}/apk/alpine3.23/main/${arch}/both-1-r0.apk`)).status).toBe(200)
  const bytes = await Promise.all(
    ['x86_64', 'aarch64'].map(async arch => fetchText(`/apk/alpine3.23/main/${arch}/both-1-r0.apk`)),
  )
  expect(bytes[0]).not.toBe(bytes[1])
})
