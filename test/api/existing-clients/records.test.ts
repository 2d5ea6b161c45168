import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../../support/daemon.ts'
import { buildDeb } from '../../support/packages.ts'
import { b, expectShape, i, list, nil, obj, or, page, s, t } from '../../support/shapes.ts'

let daemon: Daemon
let token: string
const get = (path: string): Promise<Answer> => daemon.call('GET', path, { token })

beforeAll(async () => {
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  for (const version of ['1', '2']) await daemon.upload(await buildDeb({ name: 'hello', version }), { token })
})
afterAll(() => daemon.close())

const STEPS = list(obj({ name: s, detail: s, passed: b, message: s }))

test('entries about packages tell of the gate, and the oldest come first where that is asked for', async () => {
  const { status, body } = await get('/artifacts/audit/logs?action=UPLOAD&sort=asc')
  expect(status).toBe(200)
  expectShape(
    body,
    page(
      obj({
        timestamp: t,
        action: s,
        user: s,
        result: s,
        package: s,
        version: s,
        detail: s,
        validation_steps: STEPS,
        cve_status: s,
        repo_format: s,
      }),
    ),
  )
  expect(body.items).toMatchObject([
    { version: '1', cve_status: 'approved', repo_format: 'deb' },
    { version: '2', cve_status: 'approved', repo_format: 'deb' },
  ])
  expect((await get('/artifacts/audit/logs?action=UPLOAD')).body.items).toMatchObject([
    { version: '2' },
    { version: '1' },
  ])
  const all = (await get('/artifacts/audit/logs')).body
  expectShape(all, page(obj({ validation_steps: STEPS, cve_status: or(s, nil), repo_format: or(s, nil) })))
})

test('the integrity of the log names each file with the digest, size and lines that it has', async () => {
  const { body } = await get('/artifacts/audit/integrity')
  expectShape(body, obj({ checked_at: t, files: list(obj({ file: s, sha256: s, size: i, lines: i })), total: i }))
  const files = body.files as { file: string; sha256: string; size: number; lines: number }[]
  expect(body.total).toBe(files.length)
  for (const { file, sha256, size, lines } of files) {
    const content = await readFile(join(daemon.root, 'audit', file))
    expect([sha256, size, lines]).toEqual([
      createHash('sha256').update(content).digest('hex'),
      content.length,
      content.toString().trimEnd().split('\n').length,
    ])
  }
})

test('the settings hold what existing clients change in them', async () => {
  const schedule = obj({ enabled: b, hour: i, minute: i, timezone: s })
  expectShape(
    (await get('/settings/')).body,
    obj({
      repo_url: s,
      sync: schedule,
      mirror: obj({ timezone: s, sources: obj({}) }),
      versioning: obj({}),
      sources: obj({}),
    }),
  )
})

test('what comes later is not there, and has no stub', async () => {
  for (const path of [
    '/artifacts/admin/pending-promotions',
    '/groups',
    '/groups/me',
    '/roles',
    '/templates',
    '/logs',
    '/downloads/stats',
    '/import/sync-status',
  ])
    expect([path, (await get(path)).status]).toEqual([path, 404])
  const install = await daemon.call('POST', '/artifacts/hello/install', { token, body: {} })
  expect([install.status, install.headers.get('allow')]).toEqual([405, 'HEAD, GET, DELETE'])
})
