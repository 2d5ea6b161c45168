import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAptRoot, type AptOptions, type AptRoot } from '../support/apt.ts'
import { hasClamd, startClamd } from '../support/clamd.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb, EICAR } from '../support/packages.ts'
import { lacking, mustRun, run } from '../support/tools.ts'

const noApt = lacking('apt', 'dpkg', 'gpgv', 'gnupg').length > 0

/** Real packages as Debian built them; none where its archive is out of reach. */
async function downloadReal(...names: readonly string[]): Promise<Map<string, Buffer>> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-debs-'))
  try {
    const { code } = await run('apt-get', ['download', ...names], { cwd: folder })
    if (code !== 0) return new Map()
    const files = await readdir(folder)
    return new Map(
      await Promise.all(
        names.map(
          async name =>
            [name, await readFile(join(folder, files.find(file => file.startsWith(`${name}_`)) ?? ''))] as const,
        ),
      ),
    )
  } finally {
    await rm(folder, { recursive: true })
  }
}

const real = noApt ? new Map<string, Buffer>() : await downloadReal('hello', 'tree')

describe.skipIf(noApt)('apt-get (needs apt, gpgv, gnupg)', () => {
  let daemon: Daemon
  let token: string
  let work: string
  const roots: AptRoot[] = []

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'gh-client-'))
    daemon = await startDaemon()
    token = await daemon.setupAdmin()
    const init = await daemon.call('POST', '/distributions/init', { token, body: {} })
    expect(init, init.text).toMatchObject({ status: 200 })
  })
  afterAll(async () => {
    for (const root of roots) await root.close()
    await daemon.close()
    await rm(work, { recursive: true, force: true })
  })

  const publicKey = async (): Promise<string> => (await daemon.call('GET', '/repos/gpg.key')).text
  async function client(codename = 'jammy', more: Partial<AptOptions> = {}): Promise<AptRoot> {
    const root = await createAptRoot({
      source: `${daemon.url}/repos ${codename} main`,
      key: more.key ?? (await publicKey()),
      ...more,
    })
    roots.push(root)
    return root
  }
  async function publish(content: Buffer, filename: string, distribution = 'jammy'): Promise<void> {
    const answer = await daemon.upload(content, { token, filename, distribution })
    expect(answer, answer.text).toMatchObject({ status: 201, body: { status: 'published' } })
  }
  const raw = async (path: string): Promise<Buffer> =>
    Buffer.from(await (await fetch(`${daemon.url}${path}`)).arrayBuffer())

  test.skipIf(real.size === 0)(
    "hello and tree, as Debian built them, are installed, run and removed (needs Debian's archive)",
    async () => {
      for (const [name, content] of real) await publish(content, `${name}_amd64.deb`, 'bookworm')
      const apt = await client('bookworm', { has: ['libc6'] })
      expect(await apt.update()).toMatchObject({ code: 0, err: '' })
      expect(await apt.install('hello', 'tree')).toMatchObject({ code: 0 })
      expect(await mustRun(join(apt.folder, 'usr/bin/hello'), [])).toBe('Hello, world!\n')
      expect(await mustRun(join(apt.folder, 'usr/bin/tree'), ['--version'])).toMatch(/^tree v/)
      expect(await apt.remove('hello')).toMatchObject({ code: 0 })
      expect(await apt.installedVersion('hello')).toBeUndefined()
      expect(await readdir(join(apt.folder, 'usr/bin'))).not.toContain('hello')
    },
  )

  test('a second version appears beside the first; when one is deleted, the other is still installable', async () => {
    const version = (number: string): Promise<Buffer> =>
      buildDeb({ name: 'beside', version: number, files: { 'usr/share/beside': number } })
    await publish(await version('1.0~rc1'), 'beside.deb')
    await publish(await version('1.0'), 'beside.deb')
    const apt = await client()
    await apt.update()
    expect(await apt.policy('beside')).toMatch(/Candidate: 1\.0\n[^]*1\.0 500[^]*1\.0~rc1 500/)
    expect(await apt.install('beside=1.0~rc1')).toMatchObject({ code: 0 })
    expect(await apt.install('beside')).toMatchObject({ code: 0 })
    expect(await readFile(join(apt.folder, 'usr/share/beside'), 'utf8')).toBe('1.0')

    expect(await daemon.call('DELETE', '/artifacts/beside/1.0', { token })).toMatchObject({ status: 200 })
    expect(await apt.update()).toMatchObject({ code: 0 })
    const fresh = await client()
    await fresh.update()
    expect(await fresh.policy('beside')).not.toMatch(/ 1\.0 /)
    expect(await fresh.install('beside')).toMatchObject({ code: 0 })
    expect(await fresh.installedVersion('beside')).toBe('1.0~rc1')
  })

  test('what a package needs is found in the same distribution, in any order of upload', async () => {
    await publish(
      await buildDeb({ name: 'needs-lib', version: '2', fields: { Depends: 'lib-needed (>= 1.2)' } }),
      'a.deb',
    )
    await publish(await buildDeb({ name: 'lib-needed', version: '1:0.9', arch: 'all' }), 'b.deb')
    const apt = await client()
    await apt.update()
    expect(await apt.install('needs-lib')).toMatchObject({ code: 0 })
    expect(await apt.installedVersion('lib-needed')).toBe('1:0.9')
  })

  test('the same name in two distributions is two packages', async () => {
    await publish(await buildDeb({ name: 'twice', version: '22.04' }), 'twice.deb', 'jammy')
    await publish(await buildDeb({ name: 'twice', version: '24.04' }), 'twice.deb', 'noble')
    const [jammy, noble] = await Promise.all([client('jammy'), client('noble')])
    await Promise.all([jammy.update(), noble.update()])
    expect(await jammy.policy('twice')).toContain('Candidate: 22.04')
    expect(await noble.policy('twice')).toContain('Candidate: 24.04')
  })

  test('gpgv accepts InRelease and Release.gpg, and neither after a changed byte', async () => {
    const [keyring, inRelease, release, signature] = ['key.gpg', 'InRelease', 'Release', 'Release.gpg'].map(name =>
      join(work, name),
    ) as [string, string, string, string]
    await writeFile(keyring, await raw('/repos/dists/gatehouse.gpg'))
    for (const path of [inRelease, release, signature])
      await writeFile(path, await raw(`/repos/dists/jammy/${path.slice(work.length + 1)}`))
    const verify = async (...args: readonly string[]): Promise<number | null> =>
      (await run('gpgv', ['--keyring', keyring, ...args])).code
    expect(await verify(inRelease)).toBe(0)
    expect(await verify(signature, release)).toBe(0)
    await writeFile(release, (await readFile(release, 'utf8')).replace('jammy', 'jammx'))
    await writeFile(inRelease, (await readFile(inRelease, 'utf8')).replace('jammy', 'jammx'))
    expect(await verify(inRelease)).not.toBe(0)
    expect(await verify(signature, release)).not.toBe(0)
  })

  test('a client with another key refuses the repository', async () => {
    const home = join(work, 'other')
    await mkdir(home, { mode: 0o700 })
    const env = { GNUPGHOME: home }
    await mustRun(
      'gpg',
      [
        '--batch',
        '-q',
        '--pinentry-mode',
        'loopback',
        '--passphrase',
        '',
        '--quick-gen-key',
        'Other <other@example.test>',
        'ed25519',
        'sign',
        'never',
      ],
      { env },
    )
    const apt = await client('jammy', {
      key: await mustRun('gpg', ['--armor', '--export', 'other@example.test'], { env }),
    })
    const { code, err } = await apt.update()
    expect({ code, err }).toEqual({ code: 100, err: expect.stringMatching(/NO_PUBKEY|not signed/) as string })
    await run('gpgconf', ['--kill', 'gpg-agent'], { env })
  })

  test('after a new signing key both a client with the old one and a client with only the new one update', async () => {
    const old = await publicKey()
    const oldClient = await client('focal', { key: old })
    expect(await oldClient.update()).toMatchObject({ code: 0 })
    const made = await daemon.call<{ fingerprint: string }>('POST', '/settings/gpg/generate', {
      token,
      body: { type: 'ed25519Legacy', overlap_days: 30 },
    })
    expect(made, made.text).toMatchObject({ status: 201 })

    const home = join(work, 'split')
    await mkdir(home, { mode: 0o700 })
    await writeFile(join(work, 'both.asc'), await publicKey())
    await mustRun('gpg', ['--batch', '-q', '--import', join(work, 'both.asc')], { env: { GNUPGHOME: home } })
    const onlyNew = await mustRun('gpg', ['--armor', '--export', made.body.fingerprint], { env: { GNUPGHOME: home } })
    await run('gpgconf', ['--kill', 'all'], { env: { GNUPGHOME: home } })
    const newClient = await client('focal', { key: onlyNew })

    // all trees are signed again
    await expect.poll(async () => (await newClient.update()).code, { timeout: 60_000, interval: 500 }).toBe(0)
    expect(await oldClient.update()).toMatchObject({ code: 0, err: '' })
    await publish(await buildDeb({ name: 'after-rotation', version: '1' }), 'x.deb', 'focal')
    for (const apt of [oldClient, newClient]) {
      expect(await apt.update()).toMatchObject({ code: 0, err: '' })
      expect(await apt.policy('after-rotation')).toContain('Candidate: 1')
    }
  })

  test('200 uploads are published while clients update over and over, one with fresh lists each time: no mismatch, no 404', async () => {
    const [apt, fresh] = [await client('noble'), await client('noble')]
    let left = 200
    const uploader = async (lane: number): Promise<void> => {
      for (let number = 0; left > 0; number++) {
        left--
        await publish(await buildDeb({ name: `busy-${lane}-${number}`, version: '1' }), 'busy.deb', 'noble')
      }
    }
    let isDone = false
    const uploads = Promise.all([1, 2, 3, 4].map(uploader)).finally(() => {
      isDone = true
    })
    const updateOverAndOver = async (root: AptRoot, before: () => Promise<void>): Promise<number> => {
      let updates = 0
      for (; !isDone; updates++) {
        await before()
        const { code, err, out } = await root.update()
        expect({ code, err }, out).toEqual({ code: 0, err: '' })
        expect(out).not.toMatch(/Hash Sum mismatch|404 +Not Found|^Err:/m)
      }
      return updates
    }
    const [, ...counts] = await Promise.all([
      uploads,
      updateOverAndOver(apt, async () => undefined),
      updateOverAndOver(fresh, fresh.forgetLists),
    ])
    expect(Math.min(...counts)).toBeGreaterThan(2)
    for (const root of [apt, fresh]) {
      expect(await root.update()).toMatchObject({ code: 0 })
      expect(
        (await mustRun('apt-cache', ['pkgnames', 'busy-'], { env: { APT_CONFIG: join(root.folder, 'apt.conf') } }))
          .trim()
          .split('\n'),
      ).toHaveLength(200)
    }
  })

  test('a held package is not visible to a client, and a package with an epoch is installed under its whole version', async () => {
    const hold = (how: string): ReturnType<Daemon['call']> =>
      daemon.call('PATCH', '/settings/', { token, body: { validation: { on_scanner_unavailable: how } } })
    expect(await hold('hold')).toMatchObject({ status: 200 })
    const held = await daemon.upload(await buildDeb({ name: 'held', version: '1' }), { token })
    expect(await hold('warn')).toMatchObject({ status: 200 })
    expect(held, held.text).toMatchObject({ status: 201, body: { status: 'pending_review' } })
    await publish(await buildDeb({ name: 'epochal', version: '1:2.0-1' }), 'epochal_2.0-1_amd64.deb')
    const apt = await client()
    expect(await apt.update()).toMatchObject({ code: 0 })
    expect(await apt.install('held')).toMatchObject({
      code: 100,
      err: expect.stringContaining('Unable to locate package') as string,
    })
    expect(await daemon.call('GET', '/repos/pool/jammy/main/h/held/held_1_amd64.deb')).toMatchObject({ status: 404 })
    expect(await apt.install('epochal=1:2.0-1')).toMatchObject({ code: 0 })
    expect(await apt.installedVersion('epochal')).toBe('1:2.0-1')
  })

  test('packages of lists fetched before a publication can still be downloaded after it', async () => {
    await publish(await buildDeb({ name: 'early', version: '1' }), 'early.deb')
    const apt = await client()
    await apt.update()
    await publish(await buildDeb({ name: 'late', version: '1' }), 'late.deb')
    expect(await apt.install('early')).toMatchObject({ code: 0 })
  })
})

describe.skipIf(noApt || !hasClamd)('apt-get and the gate (needs apt, clamav-daemon)', () => {
  test('an infected package is quarantined and never served; a clean one is published', async () => {
    const clamd = await startClamd()
    const daemon = await startDaemon({ env: { CLAMD_SOCKET: clamd.address.socket } })
    try {
      const token = await daemon.setupAdmin()
      await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
      const bad = await daemon.upload(
        await buildDeb({ name: 'infected', version: '1', files: { 'usr/bin/infected': EICAR }, compression: 'xz' }),
        { token, filename: 'infected.deb' },
      )
      expect(bad, bad.text).toMatchObject({ status: 200, body: { status: 'quarantined' } })
      const script = await daemon.upload(
        await buildDeb({ name: 'scripted', version: '1', scripts: { postinst: `#!/bin/sh\n# ${EICAR}\n` } }),
        { token, filename: 'scripted.deb' },
      )
      expect(script, script.text).toMatchObject({ status: 200, body: { status: 'quarantined' } })
      const good = await daemon.upload(await buildDeb({ name: 'clean', version: '1' }), {
        token,
        filename: 'clean.deb',
      })
      expect(good, good.text).toMatchObject({
        status: 201,
        body: { status: 'published', pipeline: { antivirus: 'clean' } },
      })

      const apt = await createAptRoot({
        source: `${daemon.url}/repos jammy main`,
        key: (await daemon.call('GET', '/repos/gpg.key')).text,
      })
      try {
        expect(await apt.update()).toMatchObject({ code: 0 })
        for (const name of ['infected', 'scripted'])
          expect(await apt.install(name)).toMatchObject({
            code: 100,
            err: expect.stringContaining('Unable to locate package') as string,
          })
        expect(await apt.install('clean')).toMatchObject({ code: 0 })
      } finally {
        await apt.close()
      }
      for (const path of [
        `pool/jammy/main/i/infected/infected_1_amd64.deb`,
        `../quarantine/${bad.body.sha256}`,
        `%2e%2e/quarantine/${bad.body.sha256}`,
      ]) {
        expect(await daemon.call('GET', `/repos/${path}`)).toMatchObject({ status: 404 })
      }
    } finally {
      await daemon.close()
      await clamd.close()
    }
  })
})
