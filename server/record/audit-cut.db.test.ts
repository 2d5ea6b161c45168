import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import { codeOf } from '../../test/support/routes.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { DatabaseAddress, Db } from '../db/db.ts'
import { lineHash } from './audit-file.ts'
import { createAudit, type Audit } from './audit.ts'

let db: Db
let address: DatabaseAddress
let close: () => Promise<void>
let root: string
let now: Date
beforeAll(async () => {
  ;({ db, address, close } = await createTestDb())
})
afterAll(() => close())
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'audit-cut-'))
  await db.query('truncate audit_pending, audit_head, audit_cut')
})
afterEach(() => rm(root, { recursive: true, force: true }))

const open = (): Audit =>
  createAudit({
    db,
    layout: { audit: root },
    clock: { now: () => now },
    outbox: { owe: async () => 1, nudge: () => undefined },
  })
/** What was found of the log, with everything written that is owed. */
const check = async (audit: Audit) => {
  await audit.deliver()
  return audit.integrity()
}
const at = (file: string): string => join(root, file)
const names = (): Promise<string[]> => readdir(root).then(all => all.sort())

/** Two lines on each day of March up to this one, and it is noon of the last. */
async function write(days: number, from = 1): Promise<Audit> {
  const audit = open()
  for (let day = from; day <= days; day++) {
    now = new Date(`2026-03-${String(day).padStart(2, '0')}T12:00:00Z`)
    for (const why of ['one', 'two'])
      await audit.record({
        action: 'LOGIN',
        result: 'SUCCESS',
        user: 'ada',
        facts: { kind: 'signatures.refused', why },
      })
    await audit.deliver()
  }
  return audit
}
const wish = (days: number, acceptsBroken = false) => ({
  days,
  by: 'system',
  acceptsBroken,
  signal: new AbortController().signal,
})
const lastLine = async (file: string): Promise<string> =>
  (await readFile(at(file), 'utf8')).trimEnd().split('\n').at(-1) ?? ''

describe('retention of the audit log', () => {
  test('files older than the days go, and the rest verifies and says behind which line it begins', async () => {
    const audit = await write(6)
    const hash = lineHash(await lastLine('2026-03-03.jsonl'))
    const made = await audit.cut(wish(2))
    expect(made).toEqual({
      files: 3,
      lines: 6,
      bytes: expect.any(Number),
      first_day: '2026-03-01',
      last_day: '2026-03-03',
    })
    expect(await names()).toEqual(['2026-03-04.jsonl', '2026-03-05.jsonl', '2026-03-06.jsonl'])
    expect((await audit.integrity()).broken).toEqual([])
    expect(await check(audit)).toEqual({
      ok: true,
      files: 3,
      lines: 7,
      broken: [],
      cut: {
        at: '2026-03-06T12:00:00.000Z',
        by: 'system',
        days: 2,
        files: 3,
        lines: 6,
        last_day: '2026-03-03',
        hash,
        broken: 0,
      },
    })
    const { items, total } = await audit.search(ALL_SEEING, { page: 1, perPage: 1 })
    expect([total, items]).toMatchObject([
      7,
      [
        {
          action: 'RETENTION',
          user: 'system',
          detail:
            'Retention removed 3 files of this log with 6 lines, from 2026-03-01 to 2026-03-03: files are kept for 2 days.',
        },
      ],
    ])
    expect(await db.query('select asked_by, days, last_file, done_at is null as open from audit_cut')).toEqual([
      { asked_by: 'system', days: 2, last_file: '2026-03-03.jsonl', open: false },
    ])
  })

  test('nothing is written when nothing is old enough, and the newest file stays whatever its age', async () => {
    const audit = await write(2)
    expect(await audit.cut(wish(1))).toMatchObject({ files: 0, last_day: null })
    now = new Date('2027-01-01T00:00:00Z')
    expect(await audit.cut(wish(1))).toMatchObject({ files: 1, last_day: '2026-03-01' })
    await audit.deliver()
    expect(await audit.cut(wish(1))).toMatchObject({ files: 1, last_day: '2026-03-02' })
    expect(await audit.cut(wish(1))).toMatchObject({ files: 0 })
    expect(await check(audit)).toMatchObject({ ok: true, files: 1, cut: { last_day: '2026-03-02' } })
  })

  test('later cuts remove the lines of earlier ones, day by day', async () => {
    for (let day = 4; day <= 12; day++) {
      const audit = await write(day, day === 4 ? 1 : day)
      await audit.cut(wish(2))
      expect([day, (await check(audit)).broken]).toEqual([day, []])
    }
    expect(await names()).toEqual(['2026-03-10.jsonl', '2026-03-11.jsonl', '2026-03-12.jsonl'])
  })

  test('a database that was made again takes the word of the log, and cuts go on', async () => {
    await (await write(6)).cut(wish(2))
    await open().deliver()
    await db.query('truncate audit_pending, audit_head, audit_cut')
    expect(await open().integrity()).toMatchObject({ ok: true, files: 3, lines: 7, cut: { files: 3 } })
    const audit = await write(8, 7)
    expect(await audit.cut(wish(2))).toMatchObject({ files: 2, lines: 4 })
    expect(await check(audit)).toMatchObject({ ok: true, files: 3 })
  })

  test('of two processes that cut at once, one does, and the log verifies', async () => {
    const [one, other] = [await write(6), open()]
    const made = await Promise.all([one.cut(wish(2)), other.cut(wish(2))])
    expect(made.map(({ files }) => files).sort()).toEqual([0, 3])
    expect(await db.query('select files from audit_cut')).toEqual([{ files: 3 }])
    expect(await check(one)).toMatchObject({ ok: true, files: 3, lines: 7 })
  })
})

describe('what was not done by retention is still reported', () => {
  test.each([
    ['a file more is removed', () => rm(at('2026-03-04.jsonl')), 'the lines before this one are missing'],
    [
      'a file more is removed, and the database made to agree',
      async () => {
        await db.query('update audit_head set starts = $1', [lineHash(await lastLine('2026-03-04.jsonl'))])
        await rm(at('2026-03-04.jsonl'))
      },
      'the lines before this one are missing, and no line of the log says that retention removed them',
    ],
    [
      'the line that records it is changed',
      async () => {
        const text = await readFile(at('2026-03-06.jsonl'), 'utf8')
        await writeFile(at('2026-03-06.jsonl'), text.replace('"lines":6', '"lines":2'))
      },
      'the newest lines are missing or changed: the last line is not the one that was written last',
    ],
    [
      'a removed file is there again',
      () => writeFile(at('2026-03-02.jsonl'), '{}\n'),
      'retention removed this file, and it is there again; move it away',
    ],
  ])('%s', async (_, tamper, why) => {
    const audit = await write(6)
    await audit.cut(wish(2))
    expect((await check(audit)).ok).toBe(true)
    await tamper()
    const { ok, broken } = await audit.integrity()
    expect([ok, broken.map(one => one.why)]).toEqual([false, [why]])
  })

  test('a log without any cut does not begin later', async () => {
    const audit = await write(3)
    await rm(at('2026-03-01.jsonl'))
    expect((await audit.integrity()).broken).toEqual([
      { file: '2026-03-02.jsonl', line: 1, why: 'the lines before this one are missing' },
    ])
  })

  test('a part that was changed is evidence: it stays until somebody accepts that, which is on record', async () => {
    const audit = await write(6)
    const text = await readFile(at('2026-03-02.jsonl'), 'utf8')
    await writeFile(at('2026-03-02.jsonl'), text.replace('"why":"one"', '"why":"won"'))
    expect(await codeOf(audit.cut(wish(2)))).toBe('audit_not_whole')
    expect([(await names()).length, (await db.query('select 1 from audit_cut')).length]).toEqual([6, 0])
    expect(await audit.cut(wish(2, true))).toMatchObject({ files: 3 })
    expect(await check(audit)).toMatchObject({ ok: true, files: 3, cut: { broken: 1 } })
  })
})

describe('a run that is killed', () => {
  const cutElsewhere = async (point: string): Promise<void> => {
    const import_ = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)
    const script = `
      import { createDb } from ${import_('../db/db.ts')}
      import { armFailpoint } from ${import_('../lib/failpoint.ts')}
      import { createAudit } from ${import_('./audit.ts')}
      const audit = createAudit({ db: createDb(${JSON.stringify(address)}), layout: { audit: ${JSON.stringify(root)} }, clock: { now: () => new Date(${now.getTime()}) }, outbox: { owe: async () => 1, nudge() {} } })
      armFailpoint(${JSON.stringify(point)})
      await audit.cut({ days: 2, by: 'system', acceptsBroken: false, signal: new AbortController().signal })`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' })
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
    expect(signal).toBe('SIGKILL')
  }

  test.each([
    ['audit:before-cut', 6],
    ['audit:after-cut', 6],
    ['audit:between-files', 5],
    ['audit:between-files#3', 3],
    ['audit:before-cut-done', 3],
  ])('at %s leaves a log that verifies, and the next one finishes it', async (point, left) => {
    await write(6)
    await cutElsewhere(point)
    expect(await names()).toHaveLength(left)
    const audit = open()
    expect((await audit.integrity()).broken).toEqual([])
    // work goes on before the next run
    await audit.record({
      action: 'LOGIN',
      result: 'SUCCESS',
      user: 'bob',
      facts: { kind: 'signatures.refused', why: '' },
    })
    await audit.deliver()
    expect((await audit.integrity()).broken).toEqual([])
    await audit.cut(wish(2))
    expect(await names()).toEqual(['2026-03-04.jsonl', '2026-03-05.jsonl', '2026-03-06.jsonl'])
    expect(await check(audit)).toMatchObject({ ok: true, files: 3, lines: 8, cut: { files: 3, lines: 6 } })
    expect(await db.query('select files, done_at is null as open from audit_cut')).toEqual([{ files: 3, open: false }])
  })

  test('does not hide what somebody else removed', async () => {
    await write(6)
    await cutElsewhere('audit:between-files')
    await rm(at('2026-03-04.jsonl'))
    expect((await open().integrity()).broken).toEqual([
      { file: '2026-03-05.jsonl', line: 1, why: 'the lines before this one are missing' },
    ])
  })
})
