import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAptRoot, type AptRoot } from '../support/apt.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { startAlteringProxy, type AlteringProxy } from '../support/altering-proxy.ts'
import { buildDeb } from '../support/packages.ts'
import { lacking, mustRun } from '../support/tools.ts'

const ARCHS = ['amd64', 'arm64'] as const
const COMPONENTS = ['main', 'extra'] as const
const CODENAMES = ['trixie', 'acme'] as const

describe.skipIf(lacking('apt', 'dpkg', 'gpgv', 'gnupg').length > 0)(
  'apt with two architectures and two components (needs apt, gpgv, gnupg)',
  () => {
    let daemon: Daemon
    let mirror: AlteringProxy
    let token: string
    const roots: AptRoot[] = []

    beforeAll(async () => {
      daemon = await startDaemon()
      mirror = await startAlteringProxy(() => daemon.url)
      token = await daemon.setupAdmin()
      const set = await ask('PATCH', '/distributions/trixie', { components: COMPONENTS })
      expect(set, set.text).toMatchObject({ status: 200, body: { architectures: ARCHS, components: COMPONENTS } })
      const made = await ask('POST', '/distributions/', { codename: 'acme', based_on: 'trixie' })
      expect(made, made.text).toMatchObject({ status: 201, body: { architectures: ARCHS, components: COMPONENTS } })
      for (const codename of CODENAMES) {
        const init = await ask('POST', '/distributions/init', { codename })
        expect(init, init.text).toMatchObject({ status: 200, body: { status: 'ok' } })
        for (const component of COMPONENTS)
          for (const arch of [...ARCHS, 'all'])
            await publish({ name: `${component}-${arch}`, arch, version: '1.0' }, codename, component)
      }
    })
    afterAll(async () => {
      for (const root of roots) await root.close()
      await mirror.close()
      await daemon.close()
    })

    const ask = (method: string, path: string, body?: unknown) => daemon.call(method, path, { token, body })
    async function publish(
      spec: Parameters<typeof buildDeb>[0],
      distribution: string,
      component: string,
    ): Promise<void> {
      const form = new FormData()
      form.set('distribution', distribution)
      form.set('component', component)
      form.set('file', new Blob([new Uint8Array(await buildDeb(spec))]), 'package.deb')
      const answer = await daemon.call('POST', '/upload/', { token, form })
      expect(answer, answer.text).toMatchObject({ status: 201, body: { status: 'published' } })
    }
    async function client(arch: string, source: string, url = daemon.url): Promise<AptRoot> {
      const key = (await daemon.call('GET', '/repos/gpg.key')).text
      const root = await createAptRoot({ source: `${url}/repos ${source}`, key, arch })
      roots.push(root)
      return root
    }
    async function updated(arch: string, source: string): Promise<AptRoot> {
      const root = await client(arch, source)
      expect(await root.update()).toMatchObject({ code: 0, err: '' })
      return root
    }
    const names = async ({ folder }: AptRoot): Promise<readonly string[]> =>
      (await mustRun('apt-cache', ['pkgnames'], { env: { APT_CONFIG: join(folder, 'apt.conf') } }))
        .split('\n')
        .filter(name => name !== '')
        .sort()

    test.each(CODENAMES.flatMap(codename => ARCHS.map(arch => [codename, arch] as const)))(
      'in %s a client of %s finds what is for it in the components that it asks for, and nothing else',
      async (codename, arch) => {
        for (const component of COMPONENTS)
          expect(await names(await updated(arch, `${codename} ${component}`))).toEqual(
            [`${component}-all`, `${component}-${arch}`].sort(),
          )
        const both = await updated(arch, `${codename} main extra`)
        expect(await names(both)).toEqual(['extra-all', `extra-${arch}`, 'main-all', `main-${arch}`].sort())
        // dpkg takes packages of another architecture only where the machine knows it
        await writeFile(join(both.folder, 'var/lib/dpkg/arch'), `amd64\narm64\n`)
        const installed = await both.install(`main-${arch}`, `extra-${arch}`, 'main-all')
        expect(installed, installed.out + installed.err).toMatchObject({ code: 0 })
        expect(await both.installedVersion(`extra-${arch}`)).toBe('1.0')
        expect(await both.download('extra-all')).toMatchObject({ code: 0 })
        expect((await readdir(both.folder)).filter(name => name.endsWith('.deb'))).toEqual(['extra-all_1.0_all.deb'])
      },
    )

    test('one machine with both architectures installs from both', async () => {
      const root = await client('amd64', 'acme main extra')
      await writeFile(join(root.folder, 'var/lib/dpkg/arch'), 'amd64\narm64\n')
      const conf = join(root.folder, 'apt.conf')
      await mustRun('sed', ['-i', 's/Architectures { "amd64"; }/Architectures { "amd64"; "arm64"; }/', conf])
      expect(await root.update()).toMatchObject({ code: 0, err: '' })
      expect(await root.install('main-amd64', 'extra-arm64:arm64')).toMatchObject({ code: 0 })
      expect(await root.installedVersion('extra-arm64:arm64')).toBe('1.0')
    })

    /** What clients ask for meanwhile, through the mirror. */
    async function askedWhile(doing: () => Promise<unknown>): Promise<readonly string[]> {
      const asked: string[] = []
      mirror.alter = path => {
        asked.push(path)
        return undefined
      }
      await doing()
      mirror.alter = undefined
      return asked
    }

    test('every index is fetched by its hash, and the previous hash still answers', async () => {
      const asked = await askedWhile(async () => {
        for (const arch of ARCHS)
          expect(await (await client(arch, 'acme main extra', mirror.url)).update()).toMatchObject({ code: 0, err: '' })
      })
      const indexes = asked.filter(path => !path.endsWith('/InRelease'))
      for (const component of COMPONENTS)
        for (const arch of ARCHS)
          expect(indexes).toContainEqual(
            expect.stringMatching(
              new RegExp(`^/repos/dists/acme/${component}/binary-${arch}/by-hash/SHA256/[0-9a-f]+$`),
            ),
          )
      expect(indexes.filter(path => !path.includes('/by-hash/'))).toEqual([])
      await publish({ name: 'newer', version: '1.0', arch: 'arm64' }, 'acme', 'extra')
      for (const path of indexes) expect((await fetch(`${daemon.url}${path}`)).status, path).toBe(200)
      expect(await names(await updated('arm64', 'acme extra'))).toContain('newer')
    })

    test.each(ARCHS)(
      'the lines that the server gives work as they are on %s, with debug symbols and the index of sources',
      async arch => {
        interface Setup {
          readonly clients: readonly (Files & { readonly optional: readonly Files[] })[]
        }
        interface Files {
          readonly files: readonly { readonly path: string; readonly content: string }[]
        }
        const { body } = await daemon.call<Setup>('GET', '/distributions/acme/setup', { token })
        const [apt] = body.clients
        const root = await client(arch, 'acme main')
        await writeFile(join(root.folder, 'etc/apt/sources.list'), '')
        const keyring = join(root.folder, 'etc/apt/keyrings/gatehouse.asc')
        for (const { path, content } of [apt, ...(apt?.optional ?? [])].flatMap(one => one?.files ?? []))
          await writeFile(join(root.folder, path), content.replaceAll('/etc/apt/keyrings/gatehouse.asc', keyring))
        await publish(
          { name: 'extra-dbgsym', version: '1.0', arch, fields: { 'Auto-Built-Package': 'debug-symbols' } },
          'acme',
          'extra',
        )
        expect(await root.update()).toMatchObject({ code: 0, err: '' })
        for (const name of [`main-${arch}`, 'extra-all', 'extra-dbgsym'])
          expect(await root.download(name)).toMatchObject({ code: 0 })
      },
    )

    test('promotion keeps the component, there and back', async () => {
      for (const [from, to, name] of [
        ['acme', 'trixie', 'there'],
        ['trixie', 'acme', 'back'],
      ] as const) {
        for (const arch of ARCHS) await publish({ name, version: '2.0', arch }, from, 'extra')
        const answer = await ask('POST', '/distributions/promote', { package: name, from_dist: from, to_dist: to })
        expect(answer, answer.text).toMatchObject({ status: 200, body: { status: 'promoted' } })
        for (const arch of ARCHS) {
          const extra = await updated(arch, `${to} extra`)
          expect(await extra.download(name)).toMatchObject({ code: 0 })
          expect((await readdir(extra.folder)).filter(file => file.endsWith('.deb'))).toEqual([
            `${name}_2.0_${arch}.deb`,
          ])
          expect(await names(await updated(arch, `${to} main`))).not.toContain(name)
        }
      }
    })

    test('made private, acme needs a credential for every index and package', async () => {
      const noted = await askedWhile(async () => {
        const early = await client('arm64', 'acme main extra', mirror.url)
        await early.update()
        expect(await early.download('extra-arm64')).toMatchObject({ code: 0 })
      })
      expect(noted.filter(path => path.endsWith('.deb'))).toEqual([
        '/repos/pool/acme/extra/e/extra-arm64/extra-arm64_1.0_arm64.deb',
      ])
      const rule = await ask('PUT', '/access/distributions/acme', { private: true, roles: ['maintainer'] })
      expect(rule, rule.text).toMatchObject({ status: 200 })
      const tokenFor = async (codename: string): Promise<string> => {
        const scopes = { distributions: [codename] }
        return String((await ask('POST', '/auth/api-tokens', { name: codename, role: 'reader', scopes })).body.token)
      }
      const elsewhere = `Basic ${btoa(`apt:${await tokenFor('trixie')}`)}`
      for (const path of noted) {
        const none = await fetch(`${daemon.url}${path}`)
        const other = await fetch(`${daemon.url}${path}`, { headers: { authorization: elsewhere } })
        expect([none.status, other.status]).toEqual([401, 404])
        expect([await none.json(), await other.json()]).toEqual([
          expect.objectContaining({ code: 'private_tree', detail: expect.not.stringContaining('acme') as unknown }),
          expect.objectContaining({ code: 'not_found', detail: `There is nothing at ${path}.` }),
        ])
      }
      const one = await client('arm64', 'acme main extra')
      const refused = await one.update()
      expect([refused.code, refused.err]).toEqual([100, expect.stringContaining('401')])
      expect(await names(one)).toEqual([])
      await writeFile(
        join(one.folder, 'etc/apt/auth.conf'),
        `machine ${daemon.url}/repos login apt password ${await tokenFor('acme')}\n`,
      )
      expect(await one.update()).toMatchObject({ code: 0, err: '' })
      expect(await one.download('extra-arm64')).toMatchObject({ code: 0 })
      // the other one is as open as before
      expect(await names(await updated('arm64', 'trixie extra'))).toContain('extra-arm64')
    })
  },
)
