import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listFiles } from '../../server/lib/list-files.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { startS3, type S3Server } from '../support/s3-server.ts'
import { packageNames } from '../support/tree.ts'

const CLI = join(import.meta.dirname, '..', '..', 'server', 'cli', 'restore.ts')
const PASSPHRASE = 'Eleven-blue-herons'

interface Backup {
  readonly file_name: string
  readonly place: string
  readonly address: string
  readonly size: number
  readonly encrypted: boolean
  readonly packages: number
  readonly proved_at: string | null
  readonly proof_failed: string | null
}
interface Made extends Backup {
  readonly status: string
  readonly message: string
  readonly places: readonly {
    readonly place: string
    readonly address: string
    readonly file_name: string | null
    readonly written: number
    readonly failed: string | null
  }[]
}
interface Listed {
  readonly backups: readonly Backup[]
  readonly targets: readonly {
    readonly place: string
    readonly done_at: string | null
    readonly trouble: string | null
  }[]
}

/** Runs the command beside this process, where the S3 server answers it. */
async function restore(root: string, what: string, env: Readonly<Record<string, string>>) {
  const { DATABASE_URL: _, ...rest } = process.env
  const child = spawn(process.execPath, [CLI, what], { env: { ...rest, REPOS_ROOT: root, ENV: 'test', ...env } })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const status = await new Promise<number | null>(resolve => child.once('close', resolve))
  return { status, said }
}

describe('backups on targets', () => {
  let daemon: Daemon
  let token: string
  let folder: string
  let disk: string
  let bucket: S3Server
  const upload = async (name: string): Promise<void> => {
    const answer = await daemon.upload(await buildDeb({ name, version: '1.0' }), { token })
    expect(answer.body.status).toBe('published')
  }
  const call = <Body>(method: string, path: string, body?: unknown) =>
    daemon.call<Body>(method, path, { token, ...(body === undefined ? {} : { body }) })
  const set = async (backup: Record<string, unknown>): Promise<void> => {
    const { status, text } = await call('PATCH', '/settings/', { backup })
    expect(status, text).toBe(200)
    expect(text).not.toContain(bucket.keys.secretKey)
  }
  async function back(status = 201): Promise<Made> {
    const answer = await call<Made>('POST', '/backup/')
    expect(answer.status, answer.text).toBe(status)
    return answer.body
  }
  const list = async (): Promise<Listed> => (await call<Listed>('GET', '/backup/')).body
  const found = async (place: string): Promise<string[]> =>
    (await list()).backups.filter(one => one.place === place).map(one => one.file_name)
  const keysOf = () => ({ AWS_ACCESS_KEY_ID: bucket.keys.accessKey, AWS_SECRET_ACCESS_KEY: bucket.keys.secretKey })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-targets-'))
    disk = join(folder, 'disk')
    await mkdir(disk)
    bucket = await startS3()
    daemon = await startDaemon({ env: { JWT_EXPIRE_MINUTES: '600', DATABASE_URL: undefined } })
    token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    for (const name of ['one', 'two', 'three']) await upload(name)
  })
  afterAll(async () => {
    await daemon.close()
    await bucket.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('are refused while no place is set, and a target that is not set cannot be tried', async () => {
    await set({ to_folder: false })
    expect(await call('POST', '/backup/')).toMatchObject({ status: 422, body: { code: 'backup_nowhere' } })
    expect(await call('POST', '/backup/targets/s3/try')).toMatchObject({
      status: 404,
      body: { code: 'backup_no_target', detail: expect.stringContaining('backup.s3_endpoint') },
    })
  })

  test('a target is tried before it is used: what is wrong is told, without any secret', async () => {
    const { endpoint, keys } = bucket
    const own = { s3_endpoint: endpoint, s3_bucket: 'backups', s3_prefix: 'site/a', s3_region: keys.region }
    await set({ ...own, s3_access_key: keys.accessKey, s3_secret_key: 'Planted-wrong-secret' })
    const wrong = await call('POST', '/backup/targets/s3/try')
    expect(wrong).toMatchObject({ status: 502, body: { detail: expect.stringContaining('SignatureDoesNotMatch') } })
    expect(wrong.text).not.toContain('Planted')
    expect((await list()).targets).toMatchObject([
      { place: 's3', done_at: null, trouble: expect.stringContaining('403') },
    ])
    await set({ s3_secret_key: keys.secretKey })
    expect(await call('POST', '/backup/targets/s3/try')).toMatchObject({
      status: 200,
      body: { place: 's3', address: `${endpoint}/backups/site/a`, trouble: null, backups: 0 },
    })
    expect([...bucket.objects.keys()]).toEqual(['site/a/gatehouse-target.json'])
    for (const [directory, why] of [
      [join(daemon.root, 'pool'), 'lies in REPOS_ROOT'],
      [join(folder, 'nothing'), 'it does not exist'],
    ]) {
      await set({ directory })
      expect(await call('POST', '/backup/targets/directory/try')).toMatchObject({
        status: 502,
        body: { detail: expect.stringContaining(why ?? '') },
      })
    }
    expect((await call('PATCH', '/settings/', { backup: { directory: 'relative' } })).status).toBe(422)
  })

  test('go to every place, and the second one costs what changed', async () => {
    await set({ to_folder: true, directory: disk, passphrase: PASSPHRASE, retention_count: 2 })
    const { targets: warned } = await list()
    // the folders of this test are on one disk
    const warning = expect.stringContaining('on the disk of REPOS_ROOT')
    expect(warned).toMatchObject([
      { place: 'directory', warning },
      { place: 's3', warning: null },
    ])
    const reported = async (as?: string) =>
      (
        await daemon.call<{ checks: { info: { backups: { targets: object[] } } } }>('GET', '/health', {
          ...(as === undefined ? {} : { token: as }),
        })
      ).body.checks.info.backups.targets
    expect([await reported(token), await reported()]).toMatchObject([[{ warning }, { warning: null }], []])
    const first = await back()
    expect(first).toMatchObject({ status: 'created', place: 'folder', encrypted: true, packages: 3 })
    expect(first.places.map(({ place, failed }) => [place, failed])).toEqual([
      ['folder', null],
      ['directory', null],
      ['s3', null],
    ])
    await upload('four')
    bucket.received = 0
    const second = await back()
    const [archive, onDisk, inBucket] = second.places.map(({ written }) => written)
    expect(bucket.received).toBe(inBucket)
    // rows, settings, the audit log of today and one package, of all that an archive holds
    const changed = 100_000
    expect([(onDisk ?? 0) < changed, (inBucket ?? 0) < changed, (archive ?? 0) > changed]).toEqual([true, true, true])
    const { backups, targets } = await list()
    expect(backups.map(one => one.place)).toEqual(['folder', 's3', 'directory', 'folder', 's3', 'directory'])
    expect(targets).toMatchObject([
      { place: 'directory', address: disk, trouble: null },
      { place: 's3', trouble: null },
    ])
  })

  test('are no single file; a drill proves one where it lies, and that is on record', async () => {
    const [name = ''] = await found('s3')
    expect(await call('GET', `/backup/${name}`)).toMatchObject({
      status: 409,
      body: {
        code: 'backup_in_pieces',
        detail: expect.stringContaining(`npm run restore -- ${bucket.endpoint}/backups/site/a/${name.split('@')[0]}`),
      },
    })
    expect(await call('POST', `/backup/${name}/drill`)).toMatchObject({
      status: 200,
      body: { file_name: name, proved_at: expect.any(String), proof_failed: null },
    })
    expect((await call('GET', '/health')).body).toMatchObject({
      checks: { info: { backups: { ok: true, last_proved_restore: expect.any(String) } } },
    })
  })

  test('are too many after a time: each place keeps its newest and the last one that was proved', async () => {
    const [proved = ''] = await found('s3')
    await set({ retention_count: 1 })
    await back()
    await back()
    expect([(await found('folder')).length, (await found('directory')).length]).toEqual([1, 1])
    expect(await found('s3')).toEqual([expect.any(String), proved])
    await set({ retention_count: 2 })
  })

  test('with a flipped byte is refused by a drill with the reason, and the next backup is whole', async () => {
    const blobs = (await listFiles(disk)).filter(one => one.includes('/sealed-'))
    for (const path of blobs) {
      const bytes = await readFile(path)
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
      await writeFile(path, bytes)
    }
    const [name = ''] = await found('directory')
    expect(await call('POST', `/backup/${name}/drill`)).toMatchObject({
      status: 422,
      text: expect.stringContaining('on the target is damaged'),
      body: { code: 'backup_refused' },
    })
    expect((await list()).backups.find(one => one.file_name === name)?.proof_failed).toContain('is damaged')
    // the drill removed what this backup names; what only older ones name it did not look at
    for (const path of blobs) await rm(path, { force: true })
    await back()
    const [next = ''] = await found('directory')
    expect((await call('POST', `/backup/${next}/drill`)).status).toBe(200)
    // rows and audit lines of that moment are nowhere else
    expect(await call('POST', `/backup/${name}/drill`)).toMatchObject({
      status: 422,
      text: expect.stringContaining('The target lacks the blob of '),
    })
  })

  test.each([
    ['the directory', 'directory'],
    ['the bucket', 's3'],
  ])('are restored on another machine from %s, the newest or one by its name', async (_what, place) => {
    const [name = ''] = await found(place)
    const address = place === 's3' ? `${bucket.endpoint}/backups/site/a` : disk
    const env = { ...keysOf(), AWS_REGION: bucket.keys.region, GATEHOUSE_BACKUP_PASSPHRASE: PASSPHRASE }
    const root = await mkdtemp(join(folder, 'other-'))
    for (const [what, more, why] of [
      [address, { GATEHOUSE_BACKUP_PASSPHRASE: 'other' }, 'is not the one that'],
      [`${address}/gatehouse_backup_20200101_000000`, {}, 'There is no gatehouse_backup_20200101_000000 on'],
    ] as const) {
      expect(await restore(root, what, { ...env, ...more })).toMatchObject({
        status: 1,
        said: expect.stringContaining(why),
      })
      expect((await readdir(root)).filter(one => one !== '.pg')).toEqual([])
    }
    const { status, said } = await restore(root, `${address}/${name.split('@')[0]}`, env)
    expect([status, said]).toEqual([0, expect.stringContaining('restored: 4 packages')])
    const other = await startDaemon({ root, env: { DATABASE_URL: undefined } })
    try {
      const { text } = await other.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')
      expect(packageNames(text)).toEqual(['four', 'one', 'three', 'two'])
    } finally {
      await other.stop()
    }
    expect(await restore(root, address, env)).toMatchObject({ status: 0 })
  })

  test('whose disk is not plugged in fails there alone, and nothing is written where it was', async () => {
    await rename(disk, `${disk}-unplugged`)
    await mkdir(disk)
    const made = await back()
    expect(made).toMatchObject({ status: 'partial', message: expect.stringContaining('Is the disk plugged in') })
    expect(made.places.map(one => one.failed === null)).toEqual([true, false, true])
    expect(await readdir(disk)).toEqual([])
    expect((await call('GET', '/health')).body).toMatchObject({ checks: { info: { backups: { ok: false } } } })
    const { body: jobs } = await call<{ items: { job_id: string }[] }>('GET', '/jobs?kind=backup')
    const { body: job } = await call('GET', `/jobs/${jobs.items[0]?.job_id}`)
    expect(job).toMatchObject({ status: 'done', result: { places: made.places } })
    // what lies on it is still listed, and can neither be proved nor deleted now
    const [name = ''] = await found('directory')
    for (const [method, path] of [
      ['POST', `/backup/${name}/drill`],
      ['DELETE', `/backup/${name}`],
    ] as const)
      expect(await call(method, path)).toMatchObject({ status: 502, body: { code: 'backup_target_failed' } })
    expect((await list()).backups.find(one => one.file_name === name)?.proof_failed).toBeNull()
    await set({ to_folder: false, s3_endpoint: '' })
    expect((await back(502)).places).toBeUndefined()
    await rm(disk, { recursive: true })
    await rename(`${disk}-unplugged`, disk)
    expect(await back()).toMatchObject({ status: 'created', place: 'directory' })
  })

  test('of another installation are left alone', async () => {
    const other = await startDaemon({ env: { DATABASE_URL: undefined } })
    try {
      const admin = await other.setupAdmin()
      const body = { backup: { directory: disk, to_folder: false } }
      await other.call('PATCH', '/settings/', { token: admin, body })
      const before = await listFiles(disk)
      expect(await other.call('POST', '/backup/', { token: admin })).toMatchObject({
        status: 502,
        body: { detail: expect.stringContaining('another installation') },
      })
      expect(await listFiles(disk)).toEqual(before)
    } finally {
      await other.close()
    }
  })

  test('cut short at any moment are not there, and the next one is', async () => {
    await set({ retention_count: 9 })
    for (const point of ['target:after-blob#2', 'target:before-snapshot']) {
      await upload(`more-${point.replace(/\W/g, '-')}`)
      const before = (await readdir(join(disk, 'snapshots'))).sort()
      await daemon.stop()
      await daemon.restart({ GATEHOUSE_FAILPOINT: point })
      await call('POST', '/backup/').catch(() => undefined) // it died under the request
      await daemon.kill9()
      expect((await readdir(join(disk, 'snapshots'))).sort(), point).toEqual(before)
      await daemon.restart()
      const made = await back()
      expect((await call('POST', `/backup/${made.file_name}/drill`)).status, point).toBe(200)
    }
  })

  test('are deleted from where they lie', async () => {
    const [name = '', ...others] = await found('directory')
    expect((await call('DELETE', `/backup/${name}`)).status).toBe(200)
    expect(await found('directory')).toEqual(others)
    expect((await readdir(join(disk, 'snapshots'))).filter(one => one.startsWith(name.split('@')[0] ?? ''))).toEqual([])
  })
})
