import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAptRoot, type AptRoot } from '../support/apt.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildAcme, dput } from '../support/debianize.ts'
import { createDeveloper, type Developer } from '../support/gpg.ts'
import { buildDeb } from '../support/packages.ts'
import { lacking } from '../support/tools.ts'

const missing = lacking('apt', 'dpkg', 'dpkg-dev', 'dput', 'gnupg', 'gpgv')

/** A paragraph of Debian's with the lists of files that it is signed for. */
function describeFiles(
  fields: string,
  files: Readonly<Record<string, string>>,
  { section }: { readonly section: string },
): string {
  const list = (algorithm: string, word: string): string =>
    Object.entries(files)
      .map(
        ([name, text]) =>
          ` ${createHash(algorithm).update(text).digest('hex')} ${Buffer.byteLength(text)} ${word}${name}\n`,
      )
      .join('')
  return (
    `${fields}\nBinary: self\nArchitecture: all\nVersion: 2\nMaintainer: Jo <jo@example.test>\n` +
    `Checksums-Sha1:\n${list('sha1', '')}Checksums-Sha256:\n${list('sha256', '')}Files:\n${list('md5', section)}`
  )
}

describe.skipIf(missing.length > 0)('developers and their source packages (needs dput, dpkg-dev, apt, gnupg)', () => {
  let daemon: Daemon
  let admin: string
  let token: string
  let work: string
  let jo: Developer
  let eve: Developer
  const roots: AptRoot[] = []

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'gh-source-'))
    ;[daemon, jo, eve] = await Promise.all([
      startDaemon(),
      createDeveloper('Jo <jo@example.test>'),
      createDeveloper('Eve <eve@example.test>'),
    ])
    admin = await daemon.setupAdmin()
    for (const codename of ['bookworm', 'jammy'])
      expect((await daemon.call('POST', '/distributions/init', { token: admin, body: { codename } })).status).toBe(200)
    const made = await daemon.call('POST', '/auth/api-tokens', {
      token: admin,
      body: { name: 'ci', role: 'uploader', scopes: { distributions: ['bookworm'], upload_only: true } },
    })
    token = String(made.body.token)
    const key = await daemon.call('POST', '/uploader-keys', {
      token: admin,
      body: { name: 'jo', public_key: jo.publicKey, distributions: ['bookworm'] },
    })
    expect(key, key.text).toMatchObject({ status: 201, body: { fingerprint: jo.fingerprint } })
  })
  afterAll(async () => {
    await Promise.all([jo.close(), eve.close(), ...roots.map(root => root.close())])
    await daemon.close()
    await rm(work, { recursive: true, force: true })
  })

  const build = async (name: string, spec: Omit<Parameters<typeof buildAcme>[1], 'developer'>, developer = jo) => {
    const folder = join(work, name)
    await mkdir(folder, { recursive: true })
    return buildAcme(folder, { ...spec, developer })
  }
  const send = (changes: string, { codename = 'bookworm', secret = token, home = jo.home } = {}) =>
    dput(changes, { url: daemon.url, codename, token: secret, home })
  const listed = async (): Promise<readonly string[]> => {
    const { body } = await daemon.call<{ items: readonly Record<string, string>[] }>(
      'GET',
      '/distributions/bookworm/packages?per_page=100',
      { token: admin },
    )
    return body.items.map(({ name, version, arch, status }) => `${name} ${version} ${arch} ${status}`).sort()
  }

  test('source, binary and debug symbols of a signed .changes pass the gate', async () => {
    const sent = await send(await build('one', { version: '1.0-1', distribution: 'bookworm' }))
    expect(sent, sent.out + sent.err).toMatchObject({ code: 0 })
    expect(sent.out).toContain('need authentication')
    expect(await listed()).toEqual([
      'acme 1.0-1 amd64 published',
      'acme 1.0-1 source published',
      'acme-dbgsym 1.0-1 amd64 published',
    ])
  })

  test('lists name the kind of each package, and refuse an unknown kind', async () => {
    const of = async (kind: string) =>
      daemon.call<{ items?: readonly Record<string, string>[] }>(
        'GET',
        `/distributions/bookworm/packages?kind=${kind}`,
        {
          token: admin,
        },
      )
    expect((await of('debug')).body.items).toMatchObject([{ name: 'acme-dbgsym', kind: 'debug' }])
    expect((await of('source')).body.items).toMatchObject([{ name: 'acme', arch: 'source', kind: 'source' }])
    expect(await of('everything')).toMatchObject({ status: 422 })
    for (const list of ['packages', 'artifacts'])
      expect(await daemon.call('GET', `/${list}/?kind=everything`, { token: admin })).toMatchObject({ status: 422 })
  })

  test('a revision without its upstream tarball uses the one of an earlier version', async () => {
    const sent = await send(await build('one', { version: '1.0-2', distribution: 'bookworm', args: ['-S', '-sd'] }))
    expect(sent, sent.out + sent.err).toMatchObject({ code: 0 })
    expect(sent.out).not.toContain('orig.tar')
    expect(await listed()).toContain('acme 1.0-2 source published')
  })

  test('apt-get source fetches, checks and unpacks them; build-dep finds the build dependencies', async () => {
    for (const [name, version] of [
      ['libacme-dev', '2'],
      ['make', '9'],
      ['build-essential', '12'],
    ] as const)
      expect(
        (await daemon.upload(await buildDeb({ name, version }), { token: admin, distribution: 'bookworm' })).status,
      ).toBe(201)
    const apt = await createAptRoot({
      source: `${daemon.url}/repos bookworm main`,
      types: ['deb', 'deb-src'],
      key: (await daemon.call('GET', '/repos/gpg.key')).text,
    })
    try {
      expect(await apt.update()).toMatchObject({ code: 0, err: '' })
      const got = await apt.source('acme')
      expect(got, got.out + got.err).toMatchObject({ code: 0 })
      expect(got.out).toContain('acme 1.0-2 (dsc)')
      expect(await readFile(join(apt.folder, 'acme-1.0', 'hello'), 'utf8')).toBe('hello\n')
      expect(await apt.source('acme=1.0-1')).toMatchObject({ code: 0 })
      const needs = await apt.buildDep('acme')
      expect(needs, needs.out + needs.err).toMatchObject({ code: 0 })
      expect(needs.out).toMatch(/Inst libacme-dev \(2[\s\S]*Inst make \(9|Inst make \(9[\s\S]*Inst libacme-dev \(2/)
      expect((await apt.policy('acme')).includes('1.0-1')).toBe(true)
      expect(await apt.policy('acme-dbgsym')).toBe('')
    } finally {
      await apt.close()
    }
  })

  test('debug symbols are a component of their own', async () => {
    const apt = await createAptRoot({
      source: `${daemon.url}/repos bookworm main main/debug`,
      key: (await daemon.call('GET', '/repos/gpg.key')).text,
    })
    try {
      expect(await apt.update()).toMatchObject({ code: 0, err: '' })
      expect(await apt.install('acme-dbgsym')).toMatchObject({ code: 0 })
      expect(await apt.installedVersion('acme-dbgsym')).toBe('1.0-1')
    } finally {
      await apt.close()
    }
  })

  test('in an own distribution, dput brings source, arm64 and debug symbols into the component they ask for', async () => {
    const made = await daemon.call('POST', '/distributions/', {
      token: admin,
      body: { codename: 'acme', based_on: 'trixie', components: ['main', 'extra'] },
    })
    expect(made, made.text).toMatchObject({ status: 201, body: { architectures: ['amd64', 'arm64'] } })
    await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'acme' } })
    const ann = await createDeveloper('Ann <ann@example.test>')
    try {
      const key = await daemon.call('POST', '/uploader-keys', {
        token: admin,
        body: { name: 'ann', public_key: ann.publicKey, distributions: ['acme'] },
      })
      expect(key, key.text).toMatchObject({ status: 201 })
      const spec = { version: '1.0-1', distribution: 'acme', arch: 'arm64', component: 'extra' }
      const sent = await send(await build('acme', spec, ann), { codename: 'acme', secret: admin, home: ann.home })
      expect(sent, sent.out + sent.err).toMatchObject({ code: 0 })
    } finally {
      await ann.close()
    }
    const needs = [
      { name: 'libacme-dev', version: '2', arch: 'arm64' },
      { name: 'make', version: '9', arch: 'arm64' },
      { name: 'build-essential', version: '12', arch: 'arm64' },
    ]
    for (const one of needs)
      expect((await daemon.upload(await buildDeb(one), { token: admin, distribution: 'acme' })).status).toBe(201)
    const client = async (arch: string, components: string, types?: ['deb']) => {
      const root = await createAptRoot({
        source: `${daemon.url}/repos acme ${components}`,
        types: types ?? ['deb', 'deb-src'],
        key: (await daemon.call('GET', '/repos/gpg.key')).text,
        arch,
      })
      roots.push(root)
      expect(await root.update()).toMatchObject({ code: 0, err: '' })
      return root
    }
    const arm = await client('arm64', 'main extra')
    const got = await arm.source('acme')
    expect(got, got.out + got.err).toMatchObject({ code: 0 })
    expect(await readFile(join(arm.folder, 'acme-1.0', 'hello'), 'utf8')).toBe('hello\n')
    const built = await arm.buildDep('acme')
    expect(built, built.out + built.err).toMatchObject({ code: 0 })
    expect(built.out).toMatch(/^Inst libacme-dev \(2 .*\[arm64\]\)$/m)
    const symbols = await client('arm64', 'extra extra/debug', ['deb'])
    for (const name of ['acme', 'acme-dbgsym']) expect(await symbols.download(name)).toMatchObject({ code: 0 })
    expect((await readdir(symbols.folder)).filter(name => name.endsWith('.deb')).sort()).toEqual([
      'acme-dbgsym_1.0-1_arm64.deb',
      'acme_1.0-1_arm64.deb',
    ])
    // a source is for every architecture, and only where its component is asked for
    const intel = await client('amd64', 'extra')
    expect(await intel.source('acme')).toMatchObject({ code: 0 })
    expect(await intel.policy('acme')).toBe('')
    expect((await (await client('arm64', 'main')).source('acme')).code).toBe(100)
  })

  test('a held source is not served', async () => {
    const index = async (): Promise<string> =>
      (await daemon.call('GET', '/repos/dists/bookworm/main/source/Sources')).text
    expect(await index()).toContain('Version: 1.0-2')
    const held = await daemon.call('POST', '/security/packages/acme/1.0-2/quarantine', {
      token: admin,
      body: { reason: 'a test of it', distribution: 'bookworm', arch: 'source' },
    })
    expect(held, held.text).toMatchObject({ status: 200 })
    await expect.poll(index, { timeout: 20_000 }).not.toContain('Version: 1.0-2')
    expect((await daemon.call('GET', '/repos/pool/bookworm/main/a/acme/acme_1.0-2.dsc')).status).toBe(404)
    expect((await daemon.call('GET', '/repos/pool/bookworm/main/a/acme/acme_1.0.orig.tar.gz')).status).toBe(200)
  })

  test('uploads in the watched folder are taken, and refused ones get the reason', async () => {
    const [mine, hers] = [
      await build('one', { version: '1.0-6', distribution: 'bookworm' }),
      await build('six', { version: '1.0-7', distribution: 'bookworm', args: ['-S'] }, eve),
    ]
    const watched = join(work, 'watched')
    await mkdir(watched)
    const set = await daemon.call('PATCH', '/settings/', {
      token: admin,
      body: { developer_uploads: { watched_folder: watched } },
    })
    expect(set, set.text).toMatchObject({ status: 200 })
    for (const changes of [mine, hers]) {
      const names = (await readdir(dirname(changes))).filter(
        name => /1\.0-[67]|orig/.test(name) && !name.endsWith('.changes'),
      )
      for (const name of names) await cp(join(dirname(changes), name), join(watched, name))
      await cp(changes, join(watched, basename(changes)))
      await expect
        .poll(async () => (await readdir(watched)).filter(name => name.endsWith('.changes')), { timeout: 250_000 })
        .toEqual([])
    }
    expect(await listed()).toContain('acme 1.0-6 source published')
    expect(await readFile(join(watched, 'rejected', 'acme_1.0-7_source.changes.reason'), 'utf8')).toContain(
      'is not accepted',
    )
    expect((await listed()).some(line => line.includes('1.0-7'))).toBe(false)
  })

  test('a refused upload gets the reason on the line that dput shows, and nothing is taken', async () => {
    const before = await listed()
    const good = await build('two', { version: '1.0-3', distribution: 'bookworm', args: ['-S'] })
    const [stranger, elsewhere] = await Promise.all([
      build('three', { version: '1.0-4', distribution: 'bookworm', args: ['-S'] }, eve),
      build('four', { version: '1.0-5', distribution: 'jammy', args: ['-S'] }),
    ])
    const refused = async (sending: ReturnType<typeof send>): Promise<string> => {
      const { code, out } = await sending
      expect(code).toBe(1)
      return out.split('\n').findLast(line => line.includes('Upload failed')) ?? out
    }
    expect(await refused(send(stranger, { home: eve.home }))).toContain(
      `403 The signature of acme_1.0-4_source.changes is not accepted: no uploader key here has the id ${eve.fingerprint.slice(-16)}`,
    )
    expect(await refused(send(elsewhere))).toContain(
      '422 acme_1.0-5_source.changes is for jammy, but was sent to bookworm',
    )
    expect(await refused(send(good, { secret: 'wrong' }))).toContain('unauthorized')
    expect(await refused(send(good, { codename: 'jammy' }))).toContain('403 This API token may not touch jammy')
    expect(await refused(send(elsewhere, { codename: 'jammy', secret: admin }))).toContain(
      '403 The key jo may upload to bookworm, not to jammy',
    )
    expect(await listed()).toEqual(before)
    const { body } = await daemon.call<{ items: readonly Record<string, string>[] }>(
      'GET',
      '/artifacts/audit/logs?action=UPLOAD&result=FAILURE',
      { token: admin },
    )
    expect(body.items.map(({ user, package: name, version }) => [user, name, version])).toEqual([
      ['admin', 'acme', '1.0-5'],
      ['ci', 'acme', '1.0-4'],
      ['watched folder', 'acme', '1.0-7'],
    ])
  })

  /** Sends files as dput does; the last one's answer. */
  async function put(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
    let said = ''
    for (const [name, bytes] of Object.entries(files)) {
      const answer = await fetch(`${daemon.url}/incoming/bookworm/${name}`, {
        method: 'PUT',
        headers: { authorization: `Basic ${btoa(`x:${token}`)}` },
        body: new Uint8Array(Buffer.from(bytes)),
      })
      said = `${answer.status} ${await answer.text()}`
    }
    return said
  }
  const waiting = async (): Promise<number> => (await readdir(join(daemon.root, 'incoming'))).length

  test('a .changes with an invalid package is refused with the reason', async () => {
    const before = [await listed(), await waiting()]
    // by its first lines it is a .dsc, and the only file it names is called as itself is
    const self = describeFiles('Format: 3.0 (native)\nSource: self', { 'self_2.tar.xz': 'x' }, { section: '' })
    const of = (files: Readonly<Record<string, string>>): Promise<Buffer> =>
      jo.clearsign(
        describeFiles(
          'Format: 1.8\nDate: Sun, 22 Nov 2026 10:00:00 +0000\nSource: self\nDistribution: bookworm\nChanges:\n self (2) bookworm',
          files,
          { section: 'utils optional ' },
        ),
      )
    const send = async (files: Readonly<Record<string, string>>): Promise<string> =>
      put({ ...files, 'self.changes': await of(files) })
    expect(await send({ 'self_2.tar.xz': self })).toContain('self_2.tar.xz names itself as one of its parts')
    expect(await send({ 'self_2.tar.xz': self, 'self_2.dsc': self })).toContain(
      'it names several source packages: self_2.tar.xz, self_2.dsc',
    )
    expect(await send({ 'self_2_amd64.buildinfo': 'Format: 1.0\n' })).toContain('it names no package')
    expect(await put({ 'self.changes': Buffer.alloc(8 * 2 ** 20) })).toMatch(/^413 .*upload_too_large/)
    // what was refused waits for a better .changes
    expect([await listed(), (await waiting()) - 3]).toEqual(before)
  })

  test('a finished upload leaves nothing in incoming, also not its .buildinfo', async () => {
    const before = await waiting()
    const sent = await send(await build('sixteen', { version: '1.0-16', distribution: 'bookworm', args: ['-b'] }))
    expect(sent, sent.out + sent.err).toMatchObject({ code: 0 })
    expect(await waiting()).toBe(before)
  })

  test('a retired distribution takes nothing from developers either', async () => {
    const late = await build('seventeen', { version: '1.0-17', distribution: 'bookworm', args: ['-S'] })
    await daemon.call('POST', '/distributions/bookworm/retire', { token: admin })
    const before = await listed()
    expect((await send(late)).out).toContain('409 bookworm is retired')
    expect(await listed()).toEqual(before)
  })
})
