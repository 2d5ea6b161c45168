import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { buildRpm, type RpmSpec } from '../support/packages-rpm.ts'
import { buildDeb } from '../support/packages.ts'

interface Dependencies {
  readonly all_satisfied: boolean
  readonly missing: readonly string[]
  readonly dependencies: readonly {
    readonly need: string
    readonly status: string
    readonly by: { readonly name: string } | null
  }[]
}

describe('rpms over HTTP', () => {
  let daemon: Daemon
  let token: string
  beforeAll(async () => {
    daemon = await startDaemon()
    token = await daemon.setupAdmin()
    for (const codename of ['fedora', 'jammy'])
      await daemon.call('POST', '/distributions/init', { token, body: { codename } })
  })
  afterAll(() => daemon.close())

  const upload = async (
    spec: Partial<RpmSpec> & { readonly name: string },
    distribution = 'fedora',
  ): ReturnType<Daemon['upload']> =>
    daemon.upload(await buildRpm({ version: '1.0', release: '1', ...spec }), {
      token,
      filename: `${spec.name}.rpm`,
      distribution,
    })
  const dependencies = async (name: string): Promise<Answer<Dependencies>> =>
    daemon.call<Dependencies>('GET', `/artifacts/${name}/dependencies`, { token })

  test('an rpm is published under its name, version with epoch and release, and architecture', async () => {
    const answer = await upload({ name: 'plain', epoch: 2, version: '1.0~rc1', release: '3.el9', arch: 'noarch' })
    expect(answer, answer.text).toMatchObject({
      status: 201,
      body: { name: 'plain', version: '2:1.0~rc1-3.el9', arch: 'noarch', distribution: 'fedora', status: 'published' },
    })
    const again = await upload({
      name: 'plain',
      epoch: 2,
      version: '1.0~rc1',
      release: '3.el9',
      arch: 'noarch',
      summary: 'other bytes',
    })
    expect(again.status, again.text).toBe(409)
  })

  test('the architecture under which a source package stands finds it', async () => {
    expect((await upload({ name: 'sources', sourcerpm: '' })).body).toMatchObject({ arch: 'src', status: 'published' })
    const found = await daemon.call<{ items: { name: string }[] }>('GET', '/packages/?arch=src', { token })
    expect([found.status, found.body.items.map(({ name }) => name)]).toEqual([200, ['sources']])
  })

  test('a format is taken only by its own distributions, and the refusal names what the codename takes', async () => {
    const rpm = await upload({ name: 'misplaced' }, 'jammy')
    const deb = await daemon.upload(await buildDeb({ name: 'misplaced', version: '1' }), {
      token,
      filename: 'm.deb',
      distribution: 'fedora',
    })
    for (const [answer, takes] of [
      [rpm, /Debian package/],
      [deb, /RPM package/],
    ] as const) {
      expect(answer.status, answer.text).toBe(422)
      expect(answer.text).toMatch(takes)
    }
  })

  test('dependencies are satisfied by names, bounds, files of either kind and rich dependencies', async () => {
    const needy = {
      name: 'needy',
      requires: [
        'virt >= 2',
        '/usr/bin/tool',
        '/usr/share/tool/data',
        '(nowhere or tool >= 1)',
        '(absent if something)',
        'tool = 1:1.0',
        'config(needy) = 1.0-1',
        'needy(x86-64)',
      ],
      provides: ['config(needy) = 1.0-1'],
    }
    expect((await upload(needy)).status).toBe(201)
    const before = await dependencies('needy')
    expect(before.body.missing).toEqual([
      'virt (>= 2)',
      '/usr/bin/tool',
      '/usr/share/tool/data',
      'nowhere | tool (>= 1)',
      'tool (= 1:1.0)',
    ])

    expect(
      (
        await upload({
          name: 'tool',
          epoch: 1,
          provides: ['virt = 3-1'],
          files: { 'usr/bin/tool': 'x', 'usr/share/tool/data': 'y' },
        })
      ).status,
    ).toBe(201)
    const after = await dependencies('needy')
    expect(after.body, after.text).toMatchObject({ all_satisfied: true, missing: [] })
    expect(after.body.dependencies.map(({ need, status, by }) => [need, status, by?.name])).toEqual([
      ['virt (>= 2)', 'satisfied', 'tool'],
      ['/usr/bin/tool', 'satisfied', 'tool'],
      ['/usr/share/tool/data', 'satisfied', 'tool'],
      ['nowhere | tool (>= 1)', 'satisfied', 'tool'],
      ['tool (= 1:1.0)', 'satisfied', 'tool'],
      ['config(needy) (= 1.0-1)', 'satisfied', 'needy'],
      ['needy(x86-64)', 'satisfied', 'needy'],
    ])
    const later = await upload({ ...needy, name: 'needy2', provides: ['config(needy) = 1.0-1', 'needy(x86-64) = 1'] })
    expect(later, later.text).toMatchObject({ status: 201 })
    expect(later.text).not.toContain('not served here')
    const [detail] = (await daemon.call<{ versions: { reports?: unknown }[] }>('GET', '/artifacts/needy2', { token }))
      .body.versions
    expect(JSON.stringify(detail)).not.toContain('are not served here')
  })

  test('the newest version is the newest in rpm’s order', async () => {
    for (const [version, epoch] of [['1.10'], ['1.9'], ['1.10~rc1'], ['1.10^git1'], ['0.5', 1]] as const) {
      expect((await upload({ name: 'ordered', version, ...(epoch === undefined ? {} : { epoch }) })).status).toBe(201)
    }
    const { body } = await daemon.call<{ versions: { version: string }[] }>('GET', '/artifacts/ordered', { token })
    expect(body.versions.map(({ version }) => version)).toEqual([
      '1:0.5-1',
      '1.10^git1-1',
      '1.10-1',
      '1.10~rc1-1',
      '1.9-1',
    ])
  })

  test('the line that installs it is dnf’s', async () => {
    const { body } = await daemon.call<{ command: string; format: string }>('GET', '/artifacts/plain/install', {
      token,
    })
    expect(body).toMatchObject({
      format: 'rpm',
      command: expect.stringContaining('dnf install plain-2:1.0~rc1-3.el9') as string,
    })
  })
})
