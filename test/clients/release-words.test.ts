import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAptRoot, type AptRoot } from '../support/apt.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { lacking, mustRun } from '../support/tools.ts'

const lacks = lacking('apt', 'dpkg', 'gpgv', 'gnupg', 'faketime')

/** The environment in which a program's clock is 8 days behind. */
async function eightDaysAgo(): Promise<Readonly<Record<string, string>>> {
  const preload = await mustRun('faketime', ['-f', '-8d', 'sh', '-c', 'printf %s "$LD_PRELOAD"'])
  // waits go by the clock that only goes forward, which stays as it is
  return { LD_PRELOAD: preload, FAKETIME: '-8d', DONT_FAKE_MONOTONIC: '1' }
}

describe.skipIf(lacks.length > 0)('the words of a Release file (needs apt, gpgv, gnupg, faketime)', () => {
  let daemon: Daemon
  let token: string
  let past: Readonly<Record<string, string>>
  const roots: AptRoot[] = []

  beforeAll(async () => {
    past = await eightDaysAgo()
    daemon = await startDaemon({ env: past })
    token = await daemon.setupAdmin()
    expect(await ask('POST', '/distributions/', { codename: 'acme', based_on: 'trixie' })).toMatchObject({
      status: 201,
    })
    for (const codename of ['trixie', 'acme']) {
      const init = await ask('POST', '/distributions/init', { codename })
      expect(init, init.text).toMatchObject({ status: 200, body: { status: 'ok' } })
    }
    await publish('1.0', 'trixie')
    await publish('2.0', 'acme')
  })
  afterAll(async () => {
    for (const root of roots) await root.close()
    await daemon.close()
  })

  const ask = (method: string, path: string, body?: unknown) => daemon.call(method, path, { token, body })
  async function publish(version: string, distribution: string): Promise<void> {
    const answer = await daemon.upload(await buildDeb({ name: 'tool', version }), { token, distribution })
    expect(answer, answer.text).toMatchObject({ status: 201, body: { status: 'published' } })
  }
  async function say(words: object): Promise<void> {
    const answer = await ask('PATCH', '/distributions/acme/release', words)
    expect(answer, answer.text).toMatchObject({ status: 200, body: words })
  }
  const release = async (): Promise<string> => (await daemon.call('GET', '/repos/dists/acme/Release')).text
  /** A client of both distributions. */
  async function client(): Promise<AptRoot> {
    const key = (await daemon.call('GET', '/repos/gpg.key')).text
    const root = await createAptRoot({ source: `${daemon.url}/repos trixie main`, key })
    await mustRun('sed', ['-i', 'p;s/trixie/acme/', `${root.folder}/etc/apt/sources.list`])
    roots.push(root)
    return root
  }

  /** Priority of the newest version, which is acme's, and the one that apt would take by itself. */
  async function preference(root: AptRoot, ...options: readonly string[]): Promise<string> {
    const { code, err } = await root.update(...options)
    expect(code, err).toBe(0)
    const said = await root.policy('tool')
    return `${/Version table:\n\s+\S+ (\d+)$/m.exec(said)?.[1]}, ${/Candidate: (\S+)/.exec(said)?.[1]}`
  }
  /** apt takes other words for a distribution that it knows only when it is told to. */
  const ALLOW = '--allow-releaseinfo-change'

  test('with NotAutomatic apt takes from there only what it is told to take, with ButAutomaticUpgrades its upgrades too', async () => {
    const one = await client()
    expect(await preference(one)).toBe('500, 2.0')
    await say({ not_automatic: true })
    await expect.poll(release).toContain('NotAutomatic: yes')
    const asked = await one.update()
    expect([asked.code, asked.err]).toEqual([
      100,
      expect.stringMatching(/acme InRelease' changed its default priority/),
    ])
    expect(await preference(one, ALLOW)).toBe('1, 1.0')
    expect(await one.install('tool')).toMatchObject({ code: 0 })
    expect(await one.installedVersion('tool')).toBe('1.0')
    expect(await one.install('tool=2.0')).toMatchObject({ code: 0 })
    expect(await one.installedVersion('tool')).toBe('2.0')
    await publish('2.1', 'acme')
    expect(await preference(one)).toBe('1, 2.0')
    await say({ but_automatic_upgrades: true })
    await expect.poll(release).toContain('ButAutomaticUpgrades: yes')
    expect(await preference(one, ALLOW)).toBe('100, 2.1')
    expect(await preference(await client())).toBe('100, 1.0')
  })

  test('of a distribution that it knows apt takes another suite and version, but another origin and label only when told to', async () => {
    const one = await client()
    expect(await one.update()).toMatchObject({ code: 0 })
    const change = async (field: string, line: string): Promise<void> => {
      const value = line.replace(/.*: /, '')
      expect((await ask('PATCH', '/distributions/acme', { [field]: value })).status).toBe(200)
      await expect.poll(release).toContain(`${line}\n`)
    }
    for (const [field, line] of [
      ['suite', 'Suite: stable'],
      ['version', 'Version: 10'],
    ] as const) {
      await change(field, line)
      expect(await one.update()).toMatchObject({ code: 0, err: '' })
    }
    for (const [field, line] of [
      ['origin', 'Origin: Acme'],
      ['release_label', 'Label: Acme'],
    ] as const) {
      await change(field, line)
      const { code, err } = await one.update()
      expect([code, err]).toEqual([100, expect.stringContaining(`changed its '${line.split(':')[0]}' value`)])
      expect(await one.update(ALLOW)).toMatchObject({ code: 0 })
    }
  })

  test('apt refuses a tree whose date has passed; signed again at the next start, it is good again', async () => {
    // written a while after the packages, so that they make no other publication at the start below
    await expect.poll(release, { timeout: 60_000 }).toContain('Contents-amd64')
    await say({ not_automatic: false, but_automatic_upgrades: false, valid_days: 7 })
    await expect.poll(release).toContain('Valid-Until: ')
    const one = await client()
    const refused = await one.update()
    expect([refused.code, refused.err]).toEqual([
      100,
      expect.stringMatching(/dists\/acme\/InRelease is expired \(invalid since (1d|24h) /),
    ])
    // whose clock goes with the service's sees nothing wrong
    const then = await mustRun('apt-get', ['update'], { env: { ...past, APT_CONFIG: `${one.folder}/apt.conf` } })
    expect(then).toContain('acme InRelease')
    const before = await signings()
    await daemon.stop()
    await daemon.restart(Object.fromEntries(Object.keys(past).map(name => [name, undefined])))
    token = await daemon.setupAdmin()
    const two = await client()
    await expect.poll(async () => (await two.update()).code).toBe(0)
    expect(await two.policy('tool')).toContain('/repos acme/main')
    await expect.poll(signings).toBe(before + 1)
  })

  async function signings(): Promise<number> {
    const path = '/artifacts/audit/logs?action=RESIGN&result=SUCCESS'
    return (await daemon.call<{ items: readonly unknown[] }>('GET', path, { token })).body.items.length
  }
})
