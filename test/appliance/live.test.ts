import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { bootMachine, type Machine } from './support/machine.ts'
import { createRoot, type Root } from './support/root.ts'

const { lacking, debian, bundle, suite } = inject('appliance')

describe.skipIf(lacking !== undefined)(`a machine that runs already (${lacking ?? suite})`, () => {
  let root: Root
  let machine: Machine
  beforeAll(async () => {
    root = await createRoot(debian, bundle)
    await writeFile(join(root.folder, 'etc/hostname'), 'packages\n')
    machine = await bootMachine(root, 'live')
  })
  afterAll(async () => {
    await machine?.close()
    await root?.close()
  })
  const provision = () => machine.inside('/provision/provision.sh', `/provision/${basename(bundle)}`)

  test("is an appliance when provision.sh has ended, in the place of Debian's own services", async () => {
    await machine.until(
      "Debian's nginx",
      async () => (await machine.inside('systemctl', 'is-active', 'nginx')).code === 0,
    )
    const { code, out, err } = await provision()
    expect([code, out.split('\n').at(-2)], err).toEqual([
      0,
      expect.stringMatching(/^This machine is an appliance: Gatehouse /),
    ])
    await machine.healthy()
    expect(await machine.call('GET', '/api/v1/setup/status')).toMatchObject({
      status: 200,
      body: { needs_setup: true },
    })
    for (const unit of ['nginx', 'postgresql'])
      expect((await machine.inside('systemctl', 'is-active', unit)).out).toBe('inactive\n')
    expect((await machine.must('hostname')).trim()).toBe('packages')
    expect(await machine.must('cat', '/run/gatehouse/screen')).toContain('https://packages.local')
  })

  const pidOf = async (unit: string): Promise<string> =>
    (await machine.must('systemctl', 'show', '-P', 'MainPID', unit)).trim()
  const pids = async (): Promise<readonly string[]> => Promise.all(['gatehouse', 'gatehouse-web'].map(pidOf))

  test('goes on as it is when provision.sh runs again', async () => {
    const before = await pids()
    expect((await provision()).code).toBe(0)
    expect(await pids()).toEqual(before)
  })

  test('another release is started, and nothing else', async () => {
    const [daemon, web] = await pids()
    await machine.must('cp', `/provision/${basename(bundle)}`, '/provision/gatehouse-9.9.9-linux-x64.tar.zst')
    const { code, err } = await machine.inside(
      '/provision/provision.sh',
      '/provision/gatehouse-9.9.9-linux-x64.tar.zst',
    )
    expect(code, err).toBe(0)
    expect((await machine.must('readlink', '/opt/gatehouse/current')).trim()).toMatch(/^releases\/9\.9\.9-/)
    expect(await pidOf('gatehouse')).not.toBe(daemon)
    expect(await pidOf('gatehouse-web')).toBe(web)
  })

  test('a file that somebody changed is as we bring it, and what reads it starts again', async () => {
    const [, web] = await pids()
    await machine.must('sh', '-c', 'echo "# mine" >>/usr/share/gatehouse/nginx.conf')
    expect((await provision()).code).toBe(0)
    expect(await root.read('usr/share/gatehouse/nginx.conf')).not.toContain('# mine')
    expect(await pidOf('gatehouse-web')).not.toBe(web)
    await machine.healthy()
  })
})
