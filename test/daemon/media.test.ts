import { copyFile, mkdir, mkdtemp, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { writeCatalogue } from '../../appliance/machine/medium.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { lacking } from '../support/tools.ts'
import { buildDeb } from '../support/packages.ts'
import { packageNames } from '../support/tree.ts'

const PASSPHRASE = 'Eleven-blue-herons'
const ID = '4A1D-77F0'
const LABEL = 'GATEHOUSE-BKP'

interface Listed {
  readonly file_name: string
  readonly place: string
  readonly address: string
}

describe('a stick in the machine', () => {
  let folder: string
  let first: Daemon
  let second: Daemon
  let token: string
  let archive: string

  const media = (): string => join(folder, 'media')
  const onStick = (path: string): string => join(media(), ID, path)
  /** As the machine does when a stick is plugged in, or has other files. */
  async function plug(): Promise<void> {
    const state = join(folder, 'state')
    await writeFile(state, `id=${ID}\nlabel=${LABEL}\nfile_system=vfat\ndevice=/dev/sda1\npath=${join(media(), ID)}\n`)
    await writeCatalogue(state, join(media(), '.catalogue'))
  }
  const unplug = (): Promise<void> => rm(join(media(), '.catalogue', `${ID}.json`))
  const call = <Body = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
    second.call<Body>(method, path, { token, ...(body === undefined ? {} : { body }) })
  const audit = async (action: string) =>
    (await call<{ items: { detail: string; result: string }[] }>('GET', `/artifacts/audit/logs?action=${action}`)).body
      .items

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-media-'))
    await mkdir(join(media(), ID), { recursive: true })
    first = await startDaemon({ env: { DATABASE_URL: undefined } })
    const one = await first.setupAdmin()
    await first.call('POST', '/distributions/init', { token: one, body: { codename: 'jammy' } })
    await first.upload(await buildDeb({ name: 'kept', version: '1.0' }), { token: one })
    await first.call('PATCH', '/settings/', { token: one, body: { backup: { passphrase: PASSPHRASE } } })
    archive = (await first.call<{ file_name: string }>('POST', '/backup/', { token: one })).body.file_name
    await copyFile(join(first.root, 'backups', archive), onStick(archive))
    second = await startDaemon({ env: { DATABASE_URL: undefined, MEDIA_FOLDER: media(), JWT_EXPIRE_MINUTES: '600' } })
    token = await second.setupAdmin()
  })
  afterAll(async () => {
    await first.close()
    await second.close()
    await rm(folder, { recursive: true })
  })

  test('is not there before it was looked at', async () => {
    expect((await call('GET', '/backup/')).body).toMatchObject({ total: 0 })
    expect((await call('GET', '/bundles/media')).body).toMatchObject({ media: [{ label: null }] })
    expect(await call('POST', '/security/clamav/medium', { medium: ID })).toMatchObject({
      status: 404,
      body: { code: 'medium_not_found' },
    })
  })

  test('its backup is listed, looked at and proved, and cannot be deleted', async () => {
    await plug()
    const name = `${archive}@${ID}`
    const { body } = await call<{ backups: Listed[] }>('GET', '/backup/')
    expect(body.backups).toMatchObject([
      { file_name: name, place: 'medium', address: `${LABEL}:/${archive}`, encrypted: true, proved_at: null },
    ])
    // it is none that was made here
    expect((await call('GET', '/health')).body).not.toMatchObject({ backup: { count: 1 } })
    expect(await call('POST', `/backup/${name}/preview`, { passphrase: PASSPHRASE })).toMatchObject({
      status: 200,
      body: { refused: null, parts: expect.arrayContaining([{ part: 'packages', now: 0, backup: 1 }]) },
    })
    await call('PATCH', '/settings/', { backup: { passphrase: PASSPHRASE } })
    expect(await call('POST', `/backup/${name}/drill`)).toMatchObject({
      status: 200,
      body: { file_name: name, proved_at: expect.any(String), proof_failed: null },
    })
    expect(await call('DELETE', `/backup/${name}`)).toMatchObject({ status: 409, body: { code: 'backup_on_medium' } })
    expect((await call('GET', `/backup/${name}`)).status).toBe(200)
  })

  test('vulnerability data are imported, and the audit log names the stick', async () => {
    await mkdir(onStick('advisories'))
    await writeFile(
      onStick('advisories/kev.json'),
      JSON.stringify({
        title: 'CISA Catalog of Known Exploited Vulnerabilities',
        catalogVersion: '2026.11.01',
        dateReleased: '2026-11-01T00:00:00.000Z',
        count: 1,
        vulnerabilities: [{ cveID: 'CVE-2026-0001', dateAdded: '2026-10-01' }],
      }),
    )
    await plug()
    const file = { medium: ID, path: 'advisories/kev.json' }
    expect(await call('POST', '/security/database/medium', file)).toMatchObject({
      status: 200,
      body: { status: 'imported' },
    })
    expect(await audit('VULNDB_IMPORT')).toMatchObject([
      { result: 'SUCCESS', detail: expect.stringContaining(`${LABEL}:/advisories/kev.json, SHA-256`) },
    ])
    for (const path of ['advisories/../../../../etc/passwd', 'advisories', archive.replace('gatehouse', 'other')])
      expect(await call('POST', '/security/database/medium', { medium: ID, path })).toMatchObject({
        status: 404,
        body: { code: 'medium_file_not_found' },
      })
  })

  test('a file that became a link after it was listed is not followed', async () => {
    await writeFile(onStick('vulndb-1.tar'), 'x')
    await plug()
    await unlink(onStick('vulndb-1.tar'))
    await symlink('/etc/passwd', onStick('vulndb-1.tar'))
    expect(await call('POST', '/security/database/medium', { medium: ID, path: 'vulndb-1.tar' })).toMatchObject({
      status: 404,
      body: { code: 'medium_file_not_found' },
    })
    await unlink(onStick('vulndb-1.tar'))
  })

  test('a stick that was pulled out is said as such', async () => {
    const file = { medium: ID, path: 'vulndb-1.tar' }
    expect(await call('POST', '/security/database/medium', file)).toMatchObject({
      status: 502,
      body: {
        code: 'medium_unreadable',
        detail: `vulndb-1.tar on the stick ${LABEL} cannot be read any more: the stick was pulled out, or it is damaged. Nothing of it was taken in; plug it in again.`,
      },
    })
  })

  test('bundles on it are listed with its label, and looked at', async () => {
    await writeFile(onStick('x.bundle.tar'), 'no bundle')
    await plug()
    const { body } = await call<{ media: unknown[] }>('GET', '/bundles/media')
    expect(body.media[0]).toMatchObject({
      directory: join(media(), ID),
      label: LABEL,
      is_writable: false,
      files: [{ path: onStick('x.bundle.tar'), name: 'x.bundle.tar', kind: 'bundle' }],
    })
    expect(await call('POST', '/bundles/inspect', { path: onStick('x.bundle.tar') })).toMatchObject({
      status: 422,
      body: { code: 'bundle_refused', detail: [{ msg: expect.stringContaining(`${LABEL}:/x.bundle.tar`) }] },
    })
    // what is not listed is not read, wherever it lies
    await writeFile(onStick('late.bundle.tar'), '')
    for (const path of [onStick('late.bundle.tar'), join(media(), '.catalogue', `${ID}.json`)])
      expect((await call('POST', '/bundles/inspect', { path })).status).toBeGreaterThan(403)
  })

  describe.skipIf(lacking('clamav-freshclam').length > 0)('with signatures of ClamAV', () => {
    test('what is damaged is refused by name, and nothing is changed', async () => {
      await call('PATCH', '/settings/', { clamav: { database_folder: join(folder, 'clamav') } })
      await mkdir(join(folder, 'clamav'))
      await writeFile(onStick('main.cvd'), `ClamAV-VDB:01 Nov 2026 00-00 +0000:63:1:90:x:y:z:1:${'0'.repeat(512)}`)
      await plug()
      expect(await call('POST', '/security/clamav/medium', { medium: ID })).toMatchObject({
        status: 502,
        body: { code: 'signatures_not_updated' },
      })
      expect(await audit('CLAMAV_UPDATE')).toMatchObject([
        { result: 'FAILURE', detail: expect.stringContaining('Database test FAILED') },
        { result: 'FAILURE', detail: expect.stringContaining('No stick with the id') },
      ])
    })
  })

  test('its backup is restored, and the stick may go when that began', async () => {
    const { status } = await call('POST', '/backup/restore', {
      file_name: `${archive}@${ID}`,
      passphrase: PASSPHRASE,
    })
    expect(status).toBe(202)
    await vi.waitFor(
      async () => {
        const { text } = await second.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')
        expect(packageNames(text)).toEqual(['kept'])
      },
      { timeout: 120_000, interval: 200 },
    )
    await unplug()
    const line = await vi.waitFor(
      async () => {
        token = await second.setupAdmin()
        return audit('BACKUP_RESTORE')
      },
      { timeout: 60_000, interval: 200 },
    )
    expect(line).toMatchObject([
      { result: 'SUCCESS', detail: expect.stringContaining(` from the stick ${LABEL}:/${archive}: everything`) },
    ])
    expect((await call<{ backups: Listed[] }>('GET', '/backup/')).body.backups.map(({ place }) => place)).not.toContain(
      'medium',
    )
  })
})
