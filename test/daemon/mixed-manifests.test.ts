import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildApk } from '../support/packages-apk.ts'
import { buildDeb } from '../support/packages.ts'
import { readServedTree } from '../support/tree.ts'

interface Manifest {
  readonly ref: Readonly<Record<string, string>>
  readonly files: readonly { readonly path: string; readonly blob: object }[]
  readonly paths: readonly string[]
}

const NAMES = ['old', 'torn', 'empty', 'future', 'strayed', 'new']
const FUTURE = 'it has schema 3 and this release reads 1 and 2: use the release that wrote it, or a later one'

describe('a start without its database', () => {
  let daemon: Daemon
  let token: string
  const place = (name: string, codename = 'bookworm'): string =>
    join(daemon.root, 'manifests', 'deb', codename, name, '1_amd64.json')
  const read = async (name: string): Promise<Manifest> => JSON.parse(await readFile(place(name), 'utf8')) as Manifest
  const write = async (path: string, value: unknown): Promise<void> => {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, typeof value === 'string' ? value : JSON.stringify(value))
  }

  const listed = async (): Promise<readonly string[]> => {
    const { body } = await daemon.call<{ items: readonly { name: string; distribution: string }[] }>(
      'GET',
      '/packages/?per_page=200',
      { token },
    )
    return body.items.map(({ name, distribution }) => `${distribution} ${name}`).sort()
  }
  const served = async (codename: string): Promise<readonly (string | undefined)[]> =>
    (await readServedTree(daemon.url, codename)).packages.map(({ Package }) => Package).sort()
  const rebuild = async (): Promise<unknown> =>
    (await daemon.call('POST', '/artifacts/admin/sync-index', { token })).body
  /** What the log says of manifests, by their paths. */
  function leftOut(): ReadonlyMap<string, string> {
    const lines = daemon
      .log()
      .split('\n')
      .filter(line => line.includes('a manifest was left out'))
      .map(line => JSON.parse(line) as { readonly path: string; readonly why: string })
    return new Map(lines.map(({ path, why }) => [path, why]))
  }

  beforeAll(async () => {
    daemon = await startDaemon({ env: { LOG_LEVEL: 'warn', DATABASE_URL: undefined } })
    token = await daemon.setupAdmin()
    for (const codename of ['bookworm', 'alpine3.22'])
      await daemon.call('POST', '/distributions/init', { token, body: { codename } })
    for (const name of NAMES)
      expect(
        await daemon.upload(await buildDeb({ name, version: '1' }), { token, distribution: 'bookworm' }),
      ).toMatchObject({ status: 201 })
  })
  afterAll(() => daemon.close())

  const saved = new Map<string, string>()

  test('reads both schemas, names every manifest that it cannot read, and loses none of them', async () => {
    await daemon.stop()
    for (const name of NAMES) saved.set(name, await readFile(place(name), 'utf8'))
    const { files, paths, ...old } = await read('old')
    const [{ path, blob } = { path: '', blob: {} }] = files
    await write(place('old'), { ...old, schema: 1, filename: path, blob, files: paths })
    await write(place('torn'), saved.get('torn')?.slice(0, 80))
    await write(place('empty'), '')
    await write(place('future'), { ...(await read('future')), schema: 3 })
    await rm(place('strayed'))
    await write(place('elsewhere'), saved.get('strayed'))
    const fresh = await read('new')
    await write(place('new', 'lost'), { ...fresh, ref: { ...fresh.ref, codename: 'lost' } })
    const foreign = { ...fresh, ref: { ...fresh.ref, format: 'later' } }
    await write(join(daemon.root, 'manifests', 'later', 'bookworm', 'new', '1_amd64.json'), foreign)
    // the database takes no such text
    await write(place('ha%00lf'), { ...fresh, ref: { ...fresh.ref, name: 'ha\u0000lf' } })
    await rm(join(daemon.root, '.pg'), { recursive: true })
    await daemon.restart()
    token = await daemon.setupAdmin()
    expect(await listed()).toEqual(['bookworm new', 'bookworm old', 'lost new'])
    expect(await served('bookworm')).toEqual(['new', 'old'])
    const log = daemon.log()
    expect(log).toContain('packages are of a distribution that is not there')
    expect(await readdir(join(daemon.root, 'manifests', 'deb', 'bookworm'))).toEqual([
      'elsewhere',
      'empty',
      'future',
      'ha%00lf',
      'new',
      'old',
      'strayed',
      'torn',
    ])
  })

  test('and says what is wrong with each', () => {
    const why = leftOut()
    expect(why.get('manifests/deb/bookworm/future/1_amd64.json')).toBe(FUTURE)
    expect(why.get('manifests/deb/bookworm/elsewhere/1_amd64.json')).toBe(
      'it is of deb:strayed@1/amd64 in bookworm, whose place is manifests/deb/bookworm/strayed/1_amd64.json: move it there, or remove it',
    )
    expect([...why.keys()].sort()).toEqual([
      'manifests/deb/bookworm/elsewhere/1_amd64.json',
      'manifests/deb/bookworm/empty/1_amd64.json',
      'manifests/deb/bookworm/future/1_amd64.json',
      'manifests/deb/bookworm/ha%00lf/1_amd64.json',
      'manifests/deb/bookworm/torn/1_amd64.json',
      'manifests/later/bookworm/new/1_amd64.json',
    ])
  })

  test('of two that claim one address the second is named, and clients get the first', async () => {
    const one = await buildApk({ name: 'twin', version: '1-r0', arch: 'x86_64' })
    await daemon.upload(one, { token, distribution: 'alpine3.22', filename: 'twin-1-r0.apk' })
    const folder = join(daemon.root, 'manifests', 'apk', 'alpine3.22', 'twin')
    const first = JSON.parse(await readFile(join(folder, '1-r0_x86_64.json'), 'utf8')) as Manifest
    const files = first.files.map(file => ({ ...file, blob: { ...file.blob, sha256: 'f'.repeat(64) } }))
    await write(join(folder, '1-r0_noarch.json'), { ...first, ref: { ...first.ref, arch: 'noarch' }, files })
    expect(await rebuild()).toMatchObject({ unreadable: 7 })
    expect(leftOut().get('manifests/apk/alpine3.22/twin/1-r0_noarch.json')).toBe(
      'apk:twin@1-r0/x86_64 in alpine3.22 has the same address and other bytes: remove one of the two',
    )
    await rm(join(folder, '1-r0_noarch.json'))
  })

  test('once they are mended, everything is there again', async () => {
    for (const [name, text] of saved) await write(place(name), text)
    for (const name of ['elsewhere', 'ha%00lf']) await rm(dirname(place(name)), { recursive: true })
    await rm(join(daemon.root, 'manifests', 'later'), { recursive: true })
    expect(await rebuild()).toMatchObject({ unreadable: 0 })
    await daemon.call('POST', '/distributions/', { token, body: { codename: 'lost', based_on: 'bookworm' } })
    await expect.poll(() => served('bookworm')).toEqual([...NAMES].sort())
    await expect.poll(() => served('lost'), { timeout: 30_000 }).toEqual(['new'])
  })
})
