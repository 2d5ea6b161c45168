import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../../support/daemon.ts'
import { buildDeb } from '../../support/packages.ts'
import { b, day, expectShape, i, list, nil, obj, or, page, s, t } from '../../support/shapes.ts'

let daemon: Daemon
let token: string
const get = (path: string): Promise<Answer> => daemon.call('GET', path, { token })

beforeAll(async () => {
  daemon = await startDaemon({ env: { LOG_LEVEL: 'info' } })
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

test('the log is a list of entries for each of its services', async () => {
  const { services } = (await get('/logs/services')).body as { services: readonly { id: string }[] }
  expectShape(services, list(obj({ id: s, label: s, available: b })))
  expect(services.map(({ id }) => id)).toEqual(['backend', 'apt-repo/access', 'apt-repo/downloads', 'apt-repo/error'])
  const { entries, total } = (await get('/logs?service=backend&level=INFO&lines=20')).body as {
    entries: readonly Record<string, unknown>[]
    total: number
  }
  expect(total).toBe(entries.length)
  for (const entry of entries) {
    expect(Object.keys(entry)).toEqual(expect.arrayContaining(['ts', 'level', 'name', 'message', 'service']))
    expect([typeof entry.ts, entry.level, entry.service]).toEqual(['number', 'INFO', 'backend'])
  }
  expect((await get('/logs?lines=19')).status).toBe(422)
})

test('a stream of the log begins with entries as unnamed events, then says that it is connected', async () => {
  const answer = await fetch(`${daemon.url}/api/v1/logs/stream?service=backend`, {
    headers: { Authorization: `Bearer ${token}` },
  })
  let text = ''
  for await (const chunk of answer.body ?? []) {
    text += Buffer.from(chunk).toString('utf8')
    if (text.includes(': connected')) break
  }
  expect(text).toMatch(/^(data: \{"ts":.*\}\n\n)*: connected\n/)
})

test('the statistics of downloads have the fields that existing clients read', async () => {
  const sums = { downloads: i, bytes: i }
  expectShape(
    (await get('/downloads/stats?days=7')).body,
    obj({
      summary: obj({
        total_downloads: i,
        unique_packages: i,
        unique_clients: i,
        total_bytes: i,
        per_format: obj({ deb: i, rpm: i, apk: i }),
        per_client_type: obj({ apt: i, dnf: i, apk: i, curl: i, wget: i, other: i }),
        avg_per_day: i,
        peak_day: or(obj({ date: day, ...sums }), nil),
        log_available: b,
      }),
      per_package: list(obj({ name: s, ...sums, versions: list(s), clients: i, format: s })),
      per_day: list(obj({ date: s, ...sums })),
      recent: list(
        obj({
          ip: s,
          date: s,
          hour: i,
          filename: s,
          name: s,
          version: s,
          arch: s,
          pkg_format: s,
          client_type: s,
          bytes: i,
          user_agent: s,
          status: i,
          path: s,
        }),
      ),
    }),
  )
})

test('what comes later is not there, and has no stub', async () => {
  for (const path of ['/artifacts/admin/pending-promotions', '/groups', '/groups/me', '/roles', '/templates'])
    expect([path, (await get(path)).status]).toEqual([path, 404])
  const install = await daemon.call('POST', '/artifacts/hello/install', { token, body: {} })
  expect([install.status, install.headers.get('allow')]).toEqual([405, 'HEAD, GET, DELETE'])
})
