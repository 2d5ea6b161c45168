import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAptRoot, type AptRoot } from '../support/apt.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { createDnfRoot, type DnfRoot } from '../support/dnf.ts'
import { buildDeb } from '../support/packages.ts'
import { buildRpm } from '../support/packages-rpm.ts'
import { lacking } from '../support/tools.ts'

const noApt = lacking('apt', 'dpkg', 'gpgv', 'gnupg').length > 0
const noDnf = lacking('dnf', 'rpm', 'gnupg').length > 0

let daemon: Daemon
let token: string
let key: string
const closing: (() => Promise<void>)[] = []

beforeAll(async () => {
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  for (const codename of ['trixie', 'almalinux10'])
    expect((await daemon.call('POST', '/distributions/init', { token, body: { codename } })).status).toBe(200)
  key = (await daemon.call('GET', '/repos/gpg.key')).text
})
afterAll(async () => {
  for (const close of closing) await close()
  await daemon.close()
})

/** What the gate said of a package's needs. */
const gateSaid = new Map<string, string>()
async function send(content: Buffer, filename: string, distribution: string): Promise<void> {
  const { status, body, text } = await daemon.upload(content, { token, filename, distribution })
  expect(status, text).toBe(201)
  gateSaid.set(body.name, (body.pipeline as { dependencies: string }).dependencies)
}
/** Whether all needs are met: as the gate had it, which must be what the API says now. */
async function isMet(name: string): Promise<boolean> {
  const { body } = await daemon.call<{ all_satisfied: boolean }>('GET', `/artifacts/${name}/dependencies`, { token })
  expect(gateSaid.get(name), name).toBe(body.all_satisfied ? 'satisfied' : 'missing')
  return body.all_satisfied
}

describe.skipIf(noApt)('the needs of a .deb (needs apt, dpkg, gpgv, gnupg)', () => {
  const WANTED: string[] = []
  let arm: AptRoot
  /** It has amd64 enabled beside its own. */
  let both: AptRoot

  beforeAll(async () => {
    const put = async (name: string, arch: string, fields: Record<string, string> = {}): Promise<void> =>
      send(await buildDeb({ name, version: '1', arch, fields }), 'package.deb', 'trixie')
    for (const multi of ['no', 'foreign', 'allowed'])
      for (const arch of ['arm64', 'amd64', 'all']) {
        const name = `lib-${multi}-${arch}`
        await put(name, arch, { 'Multi-Arch': multi, 'Provides': `virtual-${name}` })
        for (const [way, need] of [
          ['plain', name],
          ['any', `${name}:any`],
          ['native', `${name}:native`],
          ['virtual', `virtual-${name}`],
        ] as const) {
          WANTED.push(`want-${way}-${multi}-${arch}`)
          await put(`want-${way}-${multi}-${arch}`, 'arm64', { Depends: need })
        }
      }
    const source = `${daemon.url}/repos trixie main`
    arm = await createAptRoot({ source, key, arch: 'arm64' })
    both = await createAptRoot({ source, key, arch: 'arm64', foreign: ['amd64'] })
    closing.push(arm.close, both.close)
    for (const root of [arm, both]) expect(await root.update()).toMatchObject({ code: 0 })
  }, 240_000)

  test('are met where apt could install it on a machine of its architecture that has the others enabled', async () => {
    const ours: string[] = []
    const theirs: string[] = []
    for (const name of WANTED) {
      if (await isMet(name)) ours.push(name)
      if (await both.canInstall(name)) theirs.push(name)
    }
    expect(ours).toEqual(theirs)
    expect(ours.length).toBeGreaterThan(10)
    expect(WANTED.length - ours.length).toBeGreaterThan(10)
  })

  test('are not met by what is there for another architecture alone', async () => {
    expect([await isMet('want-plain-no-amd64'), await isMet('want-plain-no-arm64')]).toEqual([false, true])
    expect([await arm.canInstall('want-plain-no-amd64'), await arm.canInstall('want-plain-no-arm64')]).toEqual([
      false,
      true,
    ])
    expect(await arm.canInstall('want-plain-no-all')).toBe(true)
  })
})

test.skipIf(noDnf)(
  'the needs of an .rpm are met where dnf could install it on a machine of its architecture (needs dnf, rpm, gnupg)',
  async () => {
    const put = async (name: string, arch: string, more: Partial<Parameters<typeof buildRpm>[0]> = {}): Promise<void> =>
      send(await buildRpm({ name, version: '1.0', release: '1', arch, ...more }), 'package.rpm', 'almalinux10')
    const needs: [name: string, requires: string][] = []
    for (const [arch, isa] of [
      ['x86_64', 'x86-64'],
      ['aarch64', 'aarch-64'],
      ['noarch', ''],
    ] as const) {
      const name = `rlib-${arch}`
      await put(name, arch)
      needs.push([`rwant-${arch}`, name], [`rwant-isa-${arch}`, `${name}(${isa || 'aarch-64'})`])
    }
    for (const [name, requires] of needs) await put(name, 'aarch64', { requires: [requires] })
    const root: DnfRoot = await createDnfRoot({
      baseurl: `${daemon.url}/repos/almalinux10/aarch64/`,
      key,
      signedPackages: false,
      arch: 'aarch64',
    })
    closing.push(root.close)
    expect(await root.refresh()).toMatchObject({ code: 0 })
    const theirs: [string, boolean][] = []
    for (const [name] of needs) theirs.push([name, (await root.dnf('install', '--downloadonly', name)).code === 0])
    const ours: [string, boolean][] = []
    for (const [name] of needs) ours.push([name, await isMet(name)])
    expect(ours).toEqual(theirs)
    expect(Object.fromEntries(ours)).toEqual({
      'rwant-x86_64': false,
      'rwant-isa-x86_64': false,
      'rwant-aarch64': true,
      'rwant-isa-aarch64': true,
      'rwant-noarch': true,
      'rwant-isa-noarch': false,
    })
  },
  240_000,
)
