import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apkProgram, createApkRoot, readServedApks, type ApkRoot, type Served } from '../support/apk.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildApk } from '../support/packages-apk.ts'

const ARCHS = ['x86_64', 'aarch64'] as const
const COMPONENTS = ['main', 'extra'] as const

let daemon: Daemon
let token: string
const roots: ApkRoot[] = []

const ask = (method: string, path: string, body?: unknown) => daemon.call(method, path, { token, body })
async function publish(spec: Parameters<typeof buildApk>[0], distribution: string, component: string): Promise<void> {
  const form = new FormData()
  form.set('distribution', distribution)
  form.set('component', component)
  form.set('file', new Blob([new Uint8Array(await buildApk(spec))]), 'package.apk')
  const answer = await daemon.call('POST', '/upload/', { token, form })
  expect(answer, answer.text).toMatchObject({ status: 201, body: { status: 'published' } })
}
const keys = async (): Promise<Record<string, string>> => {
  const { body } = await daemon.call<{ apk_keys: { key_name: string }[] }>('GET', '/settings/gpg', { token })
  return Object.fromEntries(
    await Promise.all(
      body.apk_keys.map(async ({ key_name }) => [key_name, (await daemon.call('GET', `/apk/${key_name}`)).text]),
    ),
  ) as Record<string, string>
}
/** A client with repositories: codename and component of each. */
async function client(arch: string, repositories: readonly string[], url = daemon.url): Promise<ApkRoot> {
  const repository = repositories.map(one => `${url}/apk/${one}`).join('\n')
  const root = await createApkRoot({ repository, keys: await keys(), arch })
  roots.push(root)
  return root
}

beforeAll(async () => {
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  const made = await ask('POST', '/distributions/', {
    codename: 'acme',
    based_on: 'alpine3.23',
    components: COMPONENTS,
  })
  expect(made, made.text).toMatchObject({ status: 201, body: { architectures: ARCHS, components: COMPONENTS } })
  const set = await ask('PATCH', '/distributions/alpine3.23', { components: COMPONENTS })
  expect(set, set.text).toMatchObject({ status: 200, body: { components: COMPONENTS } })
  for (const codename of ['acme', 'alpine3.23']) {
    expect(await ask('POST', '/distributions/init', { codename })).toMatchObject({
      status: 200,
      body: { status: 'ok' },
    })
    for (const component of COMPONENTS) {
      await publish({ name: `${component}-doc`, version: '1.0-r0', arch: 'noarch' }, codename, component)
      for (const arch of ARCHS)
        await publish(
          { name: `${component}-tool`, version: '1.0-r0', arch, fields: { depend: ['main-doc'] } },
          codename,
          component,
        )
    }
  }
})
afterAll(async () => {
  for (const root of roots) await root.close()
  await daemon.close()
})

/** What the index of one component and architecture names; each of its packages was fetched and checked. */
async function named(codename: string, of: Served): Promise<readonly string[]> {
  const { packages, problems, signatures } = await readServedApks(daemon.url, codename, of)
  expect(problems).toEqual([])
  expect(signatures.length).toBeGreaterThan(0)
  return packages.map(({ P, V }) => `${P}-${V}`)
}

describe('apk trees of two architectures and two components, by the rules of apk-tools', () => {
  test.each(COMPONENTS.flatMap(component => ARCHS.map(arch => [component, arch] as const)))(
    '%s of %s has its own signed index, with what is for it and the neutral, and nothing else',
    async (component, arch) => {
      for (const codename of ['acme', 'alpine3.23'])
        expect(await named(codename, { component, arch })).toEqual([
          `${component}-doc-1.0-r0`,
          `${component}-tool-1.0-r0`,
        ])
    },
  )

  test('promotion keeps the component and brings both architectures', async () => {
    for (const arch of ARCHS) await publish({ name: 'moved', version: '2.0-r0', arch }, 'acme', 'extra')
    const answer = await ask('POST', '/distributions/promote', {
      package: 'moved',
      from_dist: 'acme',
      to_dist: 'alpine3.23',
    })
    expect(answer, answer.text).toMatchObject({ status: 200, body: { status: 'promoted' } })
    for (const arch of ARCHS) {
      expect(await named('alpine3.23', { component: 'extra', arch })).toContain('moved-2.0-r0')
      expect(await named('alpine3.23', { component: 'main', arch })).not.toContain('moved-2.0-r0')
    }
  })
})

describe.skipIf(apkProgram === undefined)('apk of another architecture (needs an apk on PATH; Debian has none)', () => {
  test.each(ARCHS)('on %s it installs from both components, and from one alone what is there', async arch => {
    const both = await client(arch, ['acme/main', 'acme/extra'])
    expect(await both.apk('update')).toMatchObject({ code: 0 })
    const added = await both.apk('add', 'extra-tool')
    expect(added, added.out + added.err).toMatchObject({ code: 0 })
    expect((await both.apk('info', '-e', 'main-doc')).out).toContain('main-doc')
    const alone = await client(arch, ['alpine3.23/main'])
    expect((await alone.apk('add', 'extra-tool')).code).not.toBe(0)
    expect(await alone.apk('add', 'main-tool')).toMatchObject({ code: 0 })
  })
})

describe('a private apk tree', () => {
  const tokens = { mine: '', elsewhere: '' }
  beforeAll(async () => {
    const rule = await ask('PUT', '/access/distributions/acme', { private: true, roles: ['maintainer'] })
    expect(rule, rule.text).toMatchObject({ status: 200 })
    const tokenFor = async (codename: string): Promise<string> => {
      const scopes = { distributions: [codename] }
      return String((await ask('POST', '/auth/api-tokens', { name: codename, role: 'reader', scopes })).body.token)
    }
    Object.assign(tokens, { mine: await tokenFor('acme'), elsewhere: await tokenFor('alpine3.23') })
  })

  test('is for those with a credential alone, in each component and architecture', async () => {
    const basic = (secret: string) => ({ authorization: `Basic ${btoa(`apk:${secret}`)}` })
    for (const path of ['extra/aarch64/APKINDEX.tar.gz', 'extra/aarch64/extra-tool-1.0-r0.apk']) {
      const address = `${daemon.url}/apk/acme/${path}`
      const [none, other, known] = await Promise.all([
        fetch(address),
        fetch(address, { headers: basic(tokens.elsewhere) }),
        fetch(address, { headers: basic(tokens.mine) }),
      ])
      expect([none.status, other.status, known.status], path).toEqual([401, 404, 200])
      expect([await none.json(), await other.json()]).toMatchObject([{ code: 'private_tree' }, { code: 'not_found' }])
    }
    expect(await named('acme', { component: 'extra', arch: 'aarch64', headers: basic(tokens.mine) })).toContain(
      'extra-tool-1.0-r0',
    )
  })

  test.skipIf(apkProgram === undefined)('gives apk nothing, and with the token in the address everything', async () => {
    const stranger = await client('aarch64', ['acme/main'])
    expect((await stranger.apk('add', 'main-tool')).code).not.toBe(0)
    const known = await client('aarch64', ['acme/main'], daemon.url.replace('://', `://apk:${tokens.mine}@`))
    const added = await known.apk('add', 'main-tool')
    expect(added, added.out + added.err).toMatchObject({ code: 0 })
  })
})
