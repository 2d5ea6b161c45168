import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lineHash, NO_LINE } from '../../server/record/audit-file.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { run } from '../support/tools.ts'

const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')
const OLD = ['2020-01-01.jsonl', '2020-01-02.jsonl']

let root: string
let it: Daemon
let admin: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-retention-'))
  // a log that was begun years ago
  await mkdir(join(root, 'audit'))
  let prev = NO_LINE
  for (const file of OLD) {
    const fact = { action: 'LOGIN', result: 'SUCCESS', user: 'ada', detail: 'With a password.' }
    const line = JSON.stringify({ timestamp: `${file.slice(0, 10)}T10:00:00.000Z`, id: '1', ...fact, prev })
    await writeFile(join(root, 'audit', file), `${line}\n`)
    prev = lineHash(line)
  }
  it = await startDaemon({ root })
  admin = await it.setupAdmin()
})
afterAll(async () => {
  await it.close()
  await rm(root, { recursive: true, force: true })
})

const ask = (method: string, path: string, body?: unknown) =>
  it.call(method, path, { token: admin, ...(body === undefined ? {} : { body }) })
const verify = async () => {
  const { code, out, err } = await run(process.execPath, [VERIFY], {
    env: {
      REPOS_ROOT: root,
      ENV: 'test',
      ...(it.databaseUrl === undefined ? {} : { DATABASE_URL: it.databaseUrl }),
    },
  })
  return { code, err, out: out.split('\n').filter(line => line !== '') }
}

test('old audit files go by hand, the chain verifies, and everybody who looks is told', async () => {
  expect((await ask('PATCH', '/settings/', { retention: { audit_days: 365 } })).status).toBe(200)
  expect(await ask('GET', '/artifacts/audit/integrity')).toMatchObject({ body: { ok: true, file_count: 3, cut: null } })
  const { status, body } = await ask('POST', '/settings/run-retention')
  expect({ status, audit: body.audit }).toEqual({
    status: 200,
    audit: {
      days: 365,
      files: 2,
      lines: 2,
      bytes: expect.any(Number),
      first_day: '2020-01-01',
      last_day: '2020-01-02',
      message: '2 files of the audit log with 2 lines, up to 2020-01-02, were removed; its chain still verifies.',
    },
  })
  expect((await readdir(join(root, 'audit'))).filter(file => OLD.includes(file))).toEqual([])
  const { items } = (await ask('GET', '/artifacts/audit/logs?action=RETENTION')).body as { items: object[] }
  expect(items).toMatchObject([{ user: 'admin', facts: { kind: 'audit.cut', files: 2, days: 365 } }])
  expect((await ask('GET', '/artifacts/audit/integrity')).body).toMatchObject({
    ok: true,
    file_count: 1,
    cut: { by: 'admin', days: 365, files: 2, lines: 2, last_day: '2020-01-02', broken: 0 },
    broken: [],
  })
  expect(await verify()).toEqual({
    code: 0,
    err: '',
    out: [
      expect.stringMatching(
        /^note: audit: up to 2020-01-02: 2 lines were removed at \S+ by admin, after 365 days as the settings say$/,
      ),
      expect.stringMatching(/^verified: .* \d+ audit lines, no difference$/),
    ],
  })
  const jobs = (await ask('GET', '/jobs?kind=audit-retention')).body as { items: object[] }
  expect(jobs.items).toMatchObject([{ status: 'done' }])
})

test('a file that comes back is a difference', async () => {
  await writeFile(join(root, 'audit', OLD[0] ?? ''), '{}\n')
  const { code, out } = await verify()
  expect([code, out.filter(line => line.startsWith('audit'))]).toEqual([
    1,
    ['audit: 2020-01-01.jsonl, line 1: retention removed this file, and it is there again; move it away'],
  ])
  expect((await ask('POST', '/settings/run-retention')).body).toMatchObject({ code: 'audit_not_whole' })
  // it is no part of the log: accepting does not make it one
  expect((await ask('POST', '/settings/run-retention?accept_broken=true')).body.audit).toMatchObject({ files: 0 })
  expect((await verify()).code).toBe(1)
  await rm(join(root, 'audit', OLD[0] ?? ''))
  expect((await verify()).code).toBe(0)
})
