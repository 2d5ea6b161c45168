import { link, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createAptRoot } from '../support/apt.ts'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { findProgram, lacking, run } from '../support/tools.ts'
import { packageNames } from '../support/tree.ts'
import { writeApkRepository, writeAptTree, writeRpmRepository } from '../support/upstream/trees.ts'

/** `ADOPT_ITEMS=2000 ADOPT_KILLS=10 npm test -- daemon adopt` */
const ITEMS = Number(process.env.ADOPT_ITEMS ?? 400)
const KILLS = Number(process.env.ADOPT_KILLS ?? 3)
const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')

interface Result {
  readonly added: number
  readonly held: number
  readonly blocked: number
  readonly skipped: number
  readonly failed: number
  readonly troubles: readonly { readonly path: string; readonly fate: string; readonly why: string }[]
  readonly indexes: readonly string[]
  readonly unlisted: number
  readonly unlisted_first: readonly string[]
}
interface Job {
  readonly job_id: string
  readonly status: string
  readonly done_count: number
  readonly total: number | null
  readonly result: Result | null
  readonly error: { readonly code: string; readonly message: string } | null
}

let roots: string
let daemon: Daemon
let token: string

beforeAll(async () => {
  roots = await mkdtemp(join(tmpdir(), 'gh-trees-'))
  daemon = await startDaemon({ env: { JWT_EXPIRE_MINUTES: '600', REPO_FORMAT: 'all', IMPORT_ROOTS: roots } })
  token = await daemon.setupAdmin()
  for (const codename of ['jammy', 'noble', 'bookworm', 'focal', 'almalinux9', 'alpine3.20'])
    await daemon.call('POST', '/distributions/init', { token, body: { codename } })
})
afterAll(async () => {
  await daemon.close()
  await rm(roots, { recursive: true, force: true })
})

const ask = (body: object): Promise<Answer<{ readonly job_id: string; readonly code?: string }>> =>
  daemon.call('POST', '/import/adopt', { token, body })
const job = async (id: string): Promise<Job> => (await daemon.call<Job>('GET', `/jobs/${id}`, { token })).body
const ended = (id: string): Promise<Job> =>
  vi.waitFor(
    async () => {
      const now = await job(id)
      expect(['done', 'error', 'cancelled']).toContain(now.status)
      return now
    },
    { timeout: 300_000, interval: 100 },
  )
async function adopt(path: string, distribution: string, more: object = {}): Promise<Job> {
  const { status, body, text } = await ask({ path, distribution, ...more })
  expect(status, text).toBe(202)
  return ended(body.job_id)
}
async function served(codename: string): Promise<string[]> {
  const { text } = await daemon.call('GET', `/repos/dists/${codename}/main/binary-amd64/Packages`)
  return packageNames(text)
}
const serves = (codename: string, names: readonly string[]): Promise<void> =>
  vi.waitFor(async () => expect(await served(codename)).toEqual([...names].sort()), { timeout: 60_000, interval: 200 })

async function differences(): Promise<unknown> {
  const { out, err } = await run(process.execPath, [VERIFY, '--json'], {
    env: {
      REPOS_ROOT: daemon.root,
      ENV: 'test',
      ...(daemon.databaseUrl === undefined ? {} : { DATABASE_URL: daemon.databaseUrl }),
    },
  })
  return (JSON.parse(out || err) as { differences: unknown }).differences
}
/** The manifests are written a moment after the commit. */
const isWhole = (): Promise<void> =>
  vi.waitFor(async () => expect(await differences()).toEqual([]), { timeout: 120_000, interval: 1_000 })

describe('adopting a tree', () => {
  test(`killed ${KILLS} times it comes to its end, and did nothing twice`, { timeout: 900_000 }, async () => {
    const names = Array.from({ length: ITEMS }, (_, n) => `pack${n}`).sort()
    await writeAptTree(
      join(roots, 'killed'),
      names.map(name => ({ name, version: '1.0' })),
      { suite: 'jammy' },
    )
    const { body } = await ask({ path: join(roots, 'killed'), distribution: 'jammy' })
    for (let kill = 0; kill < KILLS; kill++) {
      await setTimeout(Math.random() * 1_500) // the moment is what is tried
      await daemon.kill9()
      await daemon.restart()
    }
    const { status, result } = await ended(body.job_id)
    expect({ status, result }).toMatchObject({
      status: 'done',
      result: { added: ITEMS, skipped: 0, held: 0, blocked: 0, failed: 0, troubles: [], unlisted: 0 },
    })
    await serves('jammy', names)
    const lines = await daemon.call<{ items: { package?: string; result: string }[] }>(
      'GET',
      `/artifacts/audit/logs?action=IMPORT&per_page=500`,
      { token },
    )
    // one line for each package: a batch that was under way is not on record twice
    expect(
      lines.body.items.flatMap(line => (line.package?.startsWith('pack') === true ? [line.package] : [])).sort(),
    ).toEqual(ITEMS <= 490 ? names : expect.anything())
    await isWhole()
  })

  test('the manifest says how it came, and asked again all is here already', async () => {
    await writeAptTree(join(roots, 'twice'), [{ name: 'twice', version: '1.0' }], { suite: 'noble' })
    expect((await adopt(join(roots, 'twice'), 'noble', { group: 'old-server' })).result).toMatchObject({ added: 1 })
    const { body } = await daemon.call('GET', '/artifacts/twice/versions/1.0/snapshot', { token })
    expect(body.source).toMatchObject({ import_method: 'adopted', import_group: 'old-server', imported_by: 'admin' })
    expect((await adopt(join(roots, 'twice'), 'noble')).result).toMatchObject({ added: 0, skipped: 1 })
  })

  test('one tree goes into two distributions, each from its own suite', async () => {
    const tree = join(roots, 'suites')
    await writeAptTree(tree, [{ name: 'for-noble', version: '1.0' }], { suite: 'noble' })
    await writeAptTree(tree, [{ name: 'for-focal', version: '1.0' }], { suite: 'focal' })
    await adopt(tree, 'noble')
    const other = await adopt(tree, 'bookworm')
    expect(other).toMatchObject({ status: 'error', error: { code: 'adopt_which_suite' } })
    expect(other.error?.message).toContain('focal')
    await adopt(tree, 'focal')
    await serves('noble', ['twice', 'for-noble'])
    await serves('focal', ['for-focal'])
  })

  test('a file that is not as its index says is left out, with the reason, and the others come in', async () => {
    const tree = join(roots, 'damaged')
    await writeAptTree(
      tree,
      ['good', 'flipped', 'cut', 'gone', 'wrong-arch'].map(name => ({ name, version: '1.0' })),
      { suite: 'bookworm' },
    )
    const at = (name: string): string => join(tree, `pool/main/${name}/${name}_1.0_amd64.deb`)
    const flipped = await readFile(at('flipped'))
    flipped.writeUInt8((flipped[300] ?? 0) ^ 1, 300)
    await writeFile(at('flipped'), flipped)
    await writeFile(at('cut'), (await readFile(at('cut'))).subarray(0, 300))
    await rm(at('gone'))
    await writeFile(join(tree, 'pool/main/stray_1.0_amd64.deb'), await buildDeb({ name: 'stray', version: '1.0' }))
    const { result } = await adopt(tree, 'bookworm')
    expect(result).toMatchObject({
      added: 2,
      failed: 3,
      unlisted: 1,
      unlisted_first: ['pool/main/stray_1.0_amd64.deb'],
    })
    const why = Object.fromEntries((result?.troubles ?? []).map(one => [one.path.split('/')[2], one.why]))
    expect(why).toEqual({
      flipped: expect.stringMatching(/its SHA-256 is .*, and its index says/) as string,
      cut: expect.stringMatching(/it has 300 bytes, and its index says/) as string,
      gone: expect.stringMatching(/it is not there/) as string,
    })
    await serves('bookworm', ['good', 'wrong-arch'])
  })

  test('folders without an index: package files are taken, what is none of this distribution is named', async () => {
    const tree = join(roots, 'plain')
    await mkdir(join(tree, 'deeper/still'), { recursive: true })
    await writeFile(join(tree, 'deeper/still/a.deb'), await buildDeb({ name: 'plain-a', version: '1.0' }))
    await writeFile(join(tree, 'b.deb'), await buildDeb({ name: 'plain-b', version: '1.0', arch: 'riscv64' }))
    await writeFile(join(tree, 'c.deb'), 'no package at all')
    await writeFile(join(tree, 'notes.txt'), 'not asked for')
    const { result } = await adopt(tree, 'focal')
    expect(result).toMatchObject({ added: 1, failed: 2, indexes: [] })
    expect(result?.troubles.map(({ path }) => path)).toEqual(['b.deb', 'c.deb'])
    await serves('focal', ['for-focal', 'plain-a'])
  })

  test('what the policy holds is not served, and the report says why', async () => {
    const change = { script_policy: { setuid_file: 'review' } }
    const { status, text } = await daemon.call('PATCH', '/settings/', { token, body: change })
    expect(status, text).toBe(200)
    const tree = join(roots, 'held')
    await writeAptTree(
      tree,
      [
        { name: 'calm', version: '1.0' },
        { name: 'mighty', version: '1.0', files: { 'usr/bin/mighty': { content: 'x', mode: 0o4755 } } },
      ],
      { suite: 'focal' },
    )
    const { result } = await adopt(tree, 'focal')
    expect(result).toMatchObject({ added: 1, held: 1, troubles: [{ fate: 'held' }] })
    expect(result?.troubles[0]?.why).toMatch(/setuid|root/i)
    await serves('focal', ['calm', 'for-focal', 'plain-a'])
  })

  test('no link leads out of the tree, and no path out of the roots', async () => {
    const tree = join(roots, 'links')
    const outside = await mkdtemp(join(tmpdir(), 'gh-outside-'))
    try {
      const secret = await buildDeb({ name: 'secret', version: '1.0' })
      await writeFile(join(outside, 'secret.deb'), secret)
      await mkdir(join(tree, 'real'), { recursive: true })
      await writeFile(join(tree, 'real/own.deb'), await buildDeb({ name: 'own', version: '1.0' }))
      await symlink(join(outside, 'secret.deb'), join(tree, 'link.deb'))
      await symlink(outside, join(tree, 'folder'))
      await link(join(tree, 'real/own.deb'), join(tree, 'again.deb'))
      const { result } = await adopt(tree, 'noble')
      expect(result).toMatchObject({ added: 1, skipped: 1, failed: 1 })
      expect(result?.troubles).toEqual([
        { path: 'link.deb', fate: 'failed', why: expect.stringContaining('symbolic link') as string },
      ])
      // an index may name a path that goes through a link
      await writeAptTree(join(roots, 'through'), [{ name: 'through', version: '1.0' }], { suite: 'noble' })
      await rm(join(roots, 'through/pool'), { recursive: true })
      await mkdir(join(outside, 'main/through'), { recursive: true })
      await writeFile(
        join(outside, 'main/through/through_1.0_amd64.deb'),
        await buildDeb({ name: 'through', version: '1.0' }),
      )
      await symlink(outside, join(roots, 'through/pool'))
      expect((await adopt(join(roots, 'through'), 'noble')).result).toMatchObject({ added: 0, failed: 1 })
      await symlink(outside, join(roots, 'door'))
      for (const path of [outside, join(roots, 'door'), `${roots}/../`, 'links', dirname(roots), '/etc'])
        expect((await ask({ path, distribution: 'noble' })).body.code, path).toBe('adopt_outside')
      expect((await ask({ path: join(roots, 'nothing'), distribution: 'noble' })).body.code).toBe('adopt_missing')
      await serves('noble', ['twice', 'for-noble', 'own'])
    } finally {
      await rm(outside, { recursive: true, force: true })
    }
  })

  test('the pool has bytes of its own: who writes into the tree later changes nothing', async () => {
    const tree = join(roots, 'mutable')
    await writeAptTree(tree, [{ name: 'mutable', version: '1.0' }], { suite: 'noble' })
    await adopt(tree, 'noble')
    const file = join(tree, 'pool/main/mutable/mutable_1.0_amd64.deb')
    await writeFile(file, 'something else', { flag: 'r+' })
    await isWhole()
  })

  test('cancelled, it stops where it is; asked again it goes on', { timeout: 300_000 }, async () => {
    const tree = join(roots, 'cancelled')
    const names = Array.from({ length: ITEMS }, (_, n) => `stop${n}`).sort()
    await writeAptTree(
      tree,
      names.map(name => ({ name, version: '1.0' })),
      { suite: 'bookworm' },
    )
    const { body } = await ask({ path: tree, distribution: 'bookworm' })
    await daemon.call('POST', `/jobs/${body.job_id}/cancel`, { token })
    const { status, done_count: done } = await ended(body.job_id)
    expect(status === 'cancelled' || done === ITEMS).toBe(true)
    const { result } = await adopt(tree, 'bookworm')
    expect((result?.added ?? 0) + (result?.skipped ?? 0)).toBe(ITEMS)
    await serves('bookworm', ['good', 'wrong-arch', ...names])
  })

  test('the roots and what lies in them are listed', async () => {
    const { body } = await daemon.call<{ roots: { path: string; readable: boolean; folders: object[] }[] }>(
      'GET',
      '/import/adopt/roots',
      { token },
    )
    expect(body.roots).toMatchObject([{ path: roots, readable: true }])
    expect(body.roots[0]?.folders).toContainEqual({ path: join(roots, 'plain'), index: 'none' })
    expect(body.roots[0]?.folders).toContainEqual({ path: join(roots, 'damaged'), index: 'apt' })
  })

  test('an apk tree, with a signed index and a package that is not as it says', async () => {
    const tree = join(roots, 'alpine')
    await writeApkRepository(tree, [
      { name: 'first', version: '1.0-r0' },
      { name: 'other', version: '1.0-r0' },
    ])
    // another package of the same size in its place
    await writeApkRepository(join(roots, 'alpine2'), [{ name: 'otter', version: '1.0-r0' }])
    const path = join(tree, 'x86_64/other-1.0-r0.apk')
    const bytes = await readFile(join(roots, 'alpine2/x86_64/otter-1.0-r0.apk'))
    expect(bytes.length).toBe((await readFile(path)).length)
    await writeFile(path, bytes)
    const { result } = await adopt(tree, 'alpine3.20')
    expect(result).toMatchObject({ added: 1, failed: 1 })
    expect(result?.troubles[0]).toMatchObject({ path: 'x86_64/other-1.0-r0.apk' })
    expect(result?.troubles[0]?.why).toMatch(/control data is .*, and its index says/)
  })

  test.skipIf(lacking('createrepo-c').length > 0)('an rpm tree (needs createrepo_c)', async () => {
    const tree = join(roots, 'rpms')
    await writeRpmRepository(tree, [
      { name: 'one', version: '1.0', release: '1' },
      { name: 'two', version: '1.0', release: '1' },
    ])
    const { result } = await adopt(tree, 'almalinux9')
    expect(result).toMatchObject({ added: 2, failed: 0, indexes: ['repodata/repomd.xml'] })
    await vi.waitFor(
      async () => {
        const { body } = await daemon.call<{ packages: { name: string }[] }>(
          'GET',
          '/distributions/almalinux9/packages',
          { token },
        )
        expect(body.packages.map(({ name }) => name).sort()).toEqual(['one', 'two'])
      },
      { timeout: 60_000, interval: 200 },
    )
    await isWhole()
  })

  test.skipIf(findProgram('apt-get') === undefined || lacking('gpgv').length > 0)(
    'apt installs from what was adopted (needs apt, gpgv)',
    { timeout: 120_000 },
    async () => {
      const key = (await daemon.call('GET', '/repos/gpg.key')).text
      const client = await createAptRoot({ source: `${daemon.url}/repos jammy main`, key })
      try {
        expect(await client.update()).toMatchObject({ code: 0 })
        await client.install('pack1')
        expect(await client.installedVersion('pack1')).toBe('1.0')
      } finally {
        await client.close()
      }
    },
  )
})
