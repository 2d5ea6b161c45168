import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDb } from '../../test/support/postgres.ts'
import type { DatabaseAddress, Db } from '../db/db.ts'
import { lineHash, NO_LINE } from './audit-file.ts'
import { appendAfter } from './audit-append.ts'
import { loadTail } from './audit-file.ts'
import { createAudit, nextFile, type Audit, type AuditEntry, type AuditFact } from './audit.ts'
import { ALL_SEEING } from '../core/viewer.ts'

let db: Db
let address: DatabaseAddress
let close: () => Promise<void>
let root: string
let now: Date

beforeAll(async () => {
  ;({ db, address, close } = await createTestDb())
})
afterAll(async () => close())
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'audit-'))
  now = new Date('2026-03-01T10:00:00Z')
  await db.query('delete from audit_pending')
  await db.query('delete from audit_head')
})
afterEach(async () => rm(root, { recursive: true, force: true }))

const at = (file: string): string => join(root, file)
const open = (over: Db = db): Audit =>
  createAudit({
    db: over,
    layout: { audit: root },
    clock: { now: () => now },
    outbox: { owe: async () => 1, nudge: () => undefined },
  })
/** A line whose sentence is this text. */
const saying = (why: string): Pick<AuditFact, 'facts'> => ({ facts: { kind: 'signatures.refused', why } })
const fact = (over: Partial<AuditFact> = {}): AuditFact => ({
  action: 'UPLOAD',
  result: 'SUCCESS',
  user: 'ada',
  package: 'hello',
  ...saying('hello_1.0_amd64.deb'),
  ip: '192.0.2.1',
  ...over,
})
const lines = async (file: string): Promise<AuditEntry[]> =>
  (await readFile(at(file), 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map(text => JSON.parse(text) as AuditEntry)
const pending = async (): Promise<number> => (await db.query('select 1 from audit_pending')).length
async function write(audit: Audit, ...facts: Partial<AuditFact>[]): Promise<void> {
  for (const one of facts) await audit.record(fact(one))
  await audit.deliver()
}
const users = async (audit: Audit, query: Partial<Parameters<Audit['search']>[1]> = {}): Promise<string[]> =>
  (await audit.search(ALL_SEEING, { page: 1, perPage: 100, ...query })).items.map(entry => entry.user)

describe('lines', () => {
  test('an entry is one JSON line of the day in UTC, with the hash of the line before it', async () => {
    const audit = open()
    await write(audit, { user: 'ada' }, { user: 'bob' })
    now = new Date('2026-03-02T00:00:00Z')
    await write(audit, { user: 'cyd', action: 'LOGIN', ...saying('') })
    const [first, second] = (await readFile(at('2026-03-01.jsonl'), 'utf8')).split('\n')
    const [third] = await lines('2026-03-02.jsonl')
    expect(JSON.parse(first ?? '')).toEqual({
      ...fact(),
      detail: 'hello_1.0_amd64.deb',
      id: expect.any(String),
      timestamp: '2026-03-01T10:00:00.000Z',
      prev: NO_LINE,
    })
    expect(JSON.parse(second ?? '')).toMatchObject({ user: 'bob', prev: lineHash(first ?? '') })
    expect(third).toMatchObject({ user: 'cyd', prev: lineHash(second ?? '') })
    expect(await pending()).toBe(0)
  })

  test('facts stand in the line, and its sentence is printed from them', async () => {
    const audit = open()
    const facts = { kind: 'package.copied', arch: 'amd64', from_distribution: 'jammy', sha256: '4a' } as const
    await audit.record({ action: 'PROMOTE', result: 'SUCCESS', user: 'ada', facts })
    await audit.deliver()
    const [text = ''] = (await readFile(at('2026-03-01.jsonl'), 'utf8')).split('\n')
    expect(text).toMatch(
      /"user":"ada","detail":"amd64, from jammy: the same bytes, SHA-256 4a\.","facts":\{.*\},"prev":"0{64}"\}$/,
    )
    expect((await audit.search(ALL_SEEING, { page: 1, perPage: 10, q: 'from jammy' })).items).toMatchObject([{ facts }])
  })

  test('lines of a release that knew no facts are read, continued and verified with the new ones', async () => {
    const audit = open()
    await db.query('insert into audit_pending (at, fact) values ($1, $2)', [
      now,
      JSON.stringify({ action: 'LOGIN', result: 'SUCCESS', user: 'old', detail: 'With a password.' }),
    ])
    await audit.record({ action: 'LOGIN', result: 'FAILURE', user: 'new', facts: { kind: 'refused', why: 'locked' } })
    await audit.deliver()
    expect((await audit.search(ALL_SEEING, { page: 1, perPage: 10 })).items).toMatchObject([
      { user: 'new', detail: 'The account is locked.', facts: { kind: 'refused', why: 'locked' } },
      { user: 'old', detail: 'With a password.' },
    ])
    expect(await audit.integrity()).toEqual({ ok: true, files: 1, lines: 2, broken: [] })
  })

  test('the chain covers the facts', async () => {
    const audit = open()
    await audit.record({
      action: 'RETENTION',
      result: 'SUCCESS',
      user: 'a',
      facts: { kind: 'retention.changed', keep: 3 },
    })
    await write(audit, { user: 'b' })
    const text = await readFile(at('2026-03-01.jsonl'), 'utf8')
    await writeFile(at('2026-03-01.jsonl'), text.replace('"keep":3', '"keep":9'))
    expect((await audit.integrity()).broken).toMatchObject([{ file: '2026-03-01.jsonl', line: 2 }])
  })

  test('a fact belongs to its transaction: no line without its change', async () => {
    const audit = open()
    await expect(
      db.tx(async tx => {
        await audit.owe(tx, fact())
        throw new Error('the change failed')
      }),
    ).rejects.toThrow('the change failed')
    await audit.deliver()
    expect(await readdir(root)).toEqual([])
  })

  test('a line never goes into a file before the newest one', () => {
    const row = (id: number, day: string) => ({ id, at: new Date(`${day}T12:00:00Z`), fact: fact() })
    expect(nextFile([row(1, '2026-03-01')], '2026-03-02.jsonl').file).toBe('2026-03-02.jsonl')
    const split = nextFile(
      [row(1, '2026-03-01'), row(2, '2026-03-01'), row(3, '2026-03-02'), row(4, '2026-03-01')],
      undefined,
    )
    expect([split.file, split.rows.map(one => one.id)]).toEqual(['2026-03-01.jsonl', [1, 2]])
  })

  test('deliveries at the same time write each line once, in order', async () => {
    const [one, other] = [open(), open()] // two instances over one folder and one database
    await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? one : other).record(fact({ user: `u${n}` }))))
    await Promise.all([one.deliver(), other.deliver(), one.deliver(), other.deliver()])
    expect((await lines('2026-03-01.jsonl')).map(entry => entry.user).sort()).toEqual(
      Array.from({ length: 40 }, (_, n) => `u${n}`).sort(),
    )
    expect(await one.integrity()).toEqual({ ok: true, files: 1, lines: 40, broken: [] })
  })

  test('two instances that write in turn make one chain', async () => {
    const [one, other] = [open(), open()]
    for (const audit of [one, other, one, one, other]) await write(audit, {})
    expect(await one.integrity()).toEqual({ ok: true, files: 1, lines: 5, broken: [] })
  })

  test('what an instance appended before it lost its connection is one link of the chain for the others', async () => {
    const other = open()
    await write(other, { user: 'ada' })
    const lost = open({
      ...db,
      tx: work =>
        db.tx(async tx => {
          await work(tx)
          throw new Error('the connection is gone')
        }),
    })
    await db.query('insert into audit_pending (at, fact) values ($1, $2)', [now, JSON.stringify(fact({ user: 'bob' }))])
    await expect(lost.deliver()).rejects.toThrow('the connection is gone')
    await write(other, { user: 'eve' })
    expect((await lines('2026-03-01.jsonl')).map(entry => entry.user)).toEqual(['ada', 'bob', 'eve'])
    expect([await pending(), await other.integrity()]).toEqual([0, { ok: true, files: 1, lines: 3, broken: [] }])
  })

  test('an instance that goes on after the others went on writes nothing over them', async () => {
    const [slow, other] = [open(), open()]
    await write(slow, { user: 'ada' })
    // it holds no lock any more, and has read its end before
    const rows = await db.query<{ id: number }>('insert into audit_pending (at, fact) values ($1, $2) returning id', [
      now,
      JSON.stringify(fact({ user: 'bob' })),
    ])
    const tail = await loadTail(root, 1)
    await write(other, { user: 'eve' })
    expect(await appendAfter(root, tail, '2026-03-01.jsonl', `{"id":"${rows[0]?.id}"}\n`)).toBe(false)
    expect((await lines('2026-03-01.jsonl')).map(entry => entry.user)).toEqual(['ada', 'bob', 'eve'])
    expect((await other.integrity()).ok).toBe(true)
  })

  test('more facts than one batch are all written', async () => {
    const audit = open()
    await db.query(`insert into audit_pending (at, fact) select $1, $2::jsonb from generate_series(1, 1234)`, [
      now,
      JSON.stringify(fact()),
    ])
    await audit.deliver()
    expect(await audit.integrity()).toEqual({ ok: true, files: 1, lines: 1234, broken: [] })
    expect(await pending()).toBe(0)
  })
})

describe('after a crash', () => {
  /** The state between append and delete: the lines are there, the rows too. */
  async function crashBeforeDelete(count: number): Promise<void> {
    const audit = open()
    await db.query(
      `insert into audit_pending (at, fact) select $1, jsonb_build_object('action', 'UPLOAD', 'result', 'SUCCESS', 'user', 'u' || n, 'detail', '') from generate_series(1, $2::int) n`,
      [now, count],
    )
    const rows = await db.query('select id, at, fact from audit_pending')
    await audit.deliver()
    await db.query(
      'insert into audit_pending (id, at, fact) overriding system value select id, at, fact from jsonb_to_recordset($1::jsonb) as r (id bigint, at timestamptz, fact jsonb)',
      [JSON.stringify(rows)],
    )
    await db.query('delete from audit_head')
  }

  test('lines that were appended and not yet struck off are not written twice', async () => {
    await crashBeforeDelete(500)
    const audit = open()
    await write(audit, { user: 'later' })
    expect((await lines('2026-03-01.jsonl')).map(entry => entry.user)).toEqual([
      ...Array.from({ length: 500 }, (_, n) => `u${n + 1}`),
      'later',
    ])
    expect([await pending(), (await audit.integrity()).ok]).toEqual([0, true])
  })

  test.each(['audit:before-append', 'audit:after-append', 'audit:before-append#2', 'audit:after-append#2'])(
    'a process killed at %s leaves every line once',
    async point => {
      const import_ = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)
      const script = `
      import { createDb } from ${import_('../db/db.ts')}
      import { armFailpoint } from ${import_('../lib/failpoint.ts')}
      import { createAudit } from ${import_('./audit.ts')}
      const audit = createAudit({ db: createDb(${JSON.stringify(address)}), layout: { audit: ${JSON.stringify(root)} }, clock: { now: () => new Date() }, outbox: { owe: async () => 1, nudge() {} } })
      armFailpoint(${JSON.stringify(point)})
      await audit.deliver()`
      await db.query(
        `insert into audit_pending (at, fact) select $1, jsonb_build_object('action', 'UPLOAD', 'result', 'SUCCESS', 'user', 'u' || n, 'detail', '') from generate_series(1, 700) n`,
        [now],
      )
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' })
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
      expect(signal).toBe('SIGKILL')
      expect(await pending()).toBe(point.endsWith('#2') ? 200 : 700)
      const audit = open()
      // what it left is no fault, before anybody repairs it
      expect((await audit.integrity()).broken).toEqual([])
      await audit.deliver()
      expect((await lines('2026-03-01.jsonl')).map(entry => entry.user)).toEqual(
        Array.from({ length: 700 }, (_, n) => `u${n + 1}`),
      )
      expect([await pending(), (await audit.integrity()).ok]).toEqual([0, true])
    },
  )

  test('a line that was written in part is cut off and written whole', async () => {
    await write(open(), { user: 'ada' })
    await db.query('insert into audit_pending (at, fact) values ($1, $2)', [now, JSON.stringify(fact({ user: 'bob' }))])
    await appendFile(at('2026-03-01.jsonl'), '{"timestamp":"2026-03-01T10:00:00.000Z","id":"2","acti')
    const audit = open()
    expect((await audit.integrity()).broken).toEqual([])
    await audit.deliver()
    expect((await lines('2026-03-01.jsonl')).map(entry => entry.user)).toEqual(['ada', 'bob'])
    expect((await audit.integrity()).ok).toBe(true)
  })

  test('a line without its newline is kept', async () => {
    await crashBeforeDelete(2)
    const { size } = await stat(at('2026-03-01.jsonl'))
    await truncate(at('2026-03-01.jsonl'), size - 1)
    const audit = open()
    await write(audit, { user: 'later' })
    expect((await lines('2026-03-01.jsonl')).map(entry => entry.user)).toEqual(['u1', 'u2', 'later'])
    expect((await audit.integrity()).ok).toBe(true)
  })

  test('a line without its newline that is no longer pending is kept, too', async () => {
    await write(open(), { user: 'ada' }, { user: 'bob' })
    await truncate(at('2026-03-01.jsonl'), (await stat(at('2026-03-01.jsonl'))).size - 1)
    const audit = open()
    await write(audit, { user: 'later' })
    expect((await lines('2026-03-01.jsonl')).map(entry => entry.user)).toEqual(['ada', 'bob', 'later'])
    expect((await audit.integrity()).ok).toBe(true)
  })

  test('a database that restarts its numbering loses no line', async () => {
    await write(open(), { user: 'ada' })
    const [first] = await lines('2026-03-01.jsonl')
    now = new Date('2026-03-01T11:00:00Z')
    await db.query('insert into audit_pending (id, at, fact) overriding system value values ($1, $2, $3)', [
      first?.id,
      now,
      JSON.stringify(fact({ user: 'bob' })),
    ])
    await open().deliver()
    expect((await lines('2026-03-01.jsonl')).map(entry => entry.user)).toEqual(['ada', 'bob'])
  })

  test('a folder that cannot be written keeps the facts, and readers still get what is there', async () => {
    const audit = open()
    await write(audit, { user: 'ada' })
    await rm(root, { recursive: true })
    await writeFile(root, 'a file where the folder should be')
    await audit.record(fact({ user: 'bob' }))
    await expect(audit.deliver()).rejects.toThrow()
    expect(await pending()).toBe(1)
    await rm(root)
    await audit.deliver()
    expect((await lines('2026-03-01.jsonl')).map(entry => entry.user)).toEqual(['bob'])
  })
})

describe('search', () => {
  test('the newest entry comes first, over the days, in pages', async () => {
    const audit = open()
    for (const day of ['2026-03-01', '2026-03-02', '2026-03-03']) {
      now = new Date(`${day}T10:00:00Z`)
      await write(audit, { user: `${day.slice(-1)}a` }, { user: `${day.slice(-1)}b` }, { user: `${day.slice(-1)}c` })
    }
    for (let again = 0; again < 2; again++) {
      // the second time from remembered counts
      const pages = await Promise.all([1, 2, 3, 4].map(page => audit.search(ALL_SEEING, { page, perPage: 4 })))
      expect(pages.map(page => page.items.map(entry => entry.user))).toEqual([
        ['3c', '3b', '3a', '2c'],
        ['2b', '2a', '1c', '1b'],
        ['1a'],
        [],
      ])
      expect(pages.map(page => page.total)).toEqual([9, 9, 9, 9])
    }
    await write(audit, { user: 'new' })
    expect(await audit.search(ALL_SEEING, { page: 5, perPage: 1 })).toMatchObject({
      total: 10,
      items: [{ user: '2c' }],
    })
    expect(await audit.search(ALL_SEEING, { page: 1, perPage: 1 })).toMatchObject({
      total: 10,
      items: [{ user: 'new' }],
    })
  })

  test('filters are exact, and together', async () => {
    const audit = open()
    await write(
      audit,
      { user: 'a', package: 'hello' },
      { user: 'b', package: 'hello-doc' },
      { user: 'c', package: 'hello', action: 'DELETE' },
      { user: 'd', action: 'LOGIN', result: 'FAILURE', ...saying('the text "package":"hello" and "action":"DELETE"') },
    )
    expect(await users(audit, { package: 'hello' })).toEqual(['d', 'c', 'a'])
    expect(await users(audit, { action: 'DELETE' })).toEqual(['c'])
    expect(await users(audit, { package: 'hello', action: 'UPLOAD' })).toEqual(['a'])
    expect(await users(audit, { result: 'FAILURE' })).toEqual(['d'])
    expect(await users(audit, { user: 'b' })).toEqual(['b'])
    expect(await users(audit, { package: 'hello', q: 'DOC' })).toEqual([])
    expect(await users(audit, { actions: ['DELETE', 'LOGIN'] })).toEqual(['d', 'c'])
    expect(await users(audit, { package: '.*' })).toEqual([])
  })

  test.each([
    ['upper and lower case', 'HELLO world', 'o WoR'],
    ['a quote', 'said "no"', '"NO"'],
    ['a backslash', 'a\\b', 'A\\B'],
    ['beyond ASCII', 'Größe Ωmega', 'ωME'],
    ['a percent sign', '100 % done', '0 % D'],
    ['control characters', 'a\tb\nc', 'b\nC'],
  ])('free text is found in the detail: %s', async (_, detail, q) => {
    const audit = open()
    await write(audit, { user: 'yes', ...saying(detail) }, { user: 'no', ...saying('another') })
    expect(await users(audit, { q })).toEqual(['yes'])
  })

  test('free text looks in package, user and detail and nowhere else', async () => {
    const audit = open()
    await write(
      audit,
      { user: 'Needle' },
      { user: 'b', package: 'libneedle1' },
      { user: 'c', ...saying('a needle') },
      { user: 'd', distribution: 'needle', ip: 'needle' },
    )
    expect(await users(audit, { q: 'needle' })).toEqual(['c', 'b', 'Needle'])
    expect(await users(audit, { q: 'upload' })).toEqual([])
  })

  test('from and to are included', async () => {
    const audit = open()
    for (const hour of ['08', '09', '10', '11']) {
      now = new Date(`2026-03-01T${hour}:00:00Z`)
      await write(audit, { user: hour })
    }
    expect(await users(audit, { from: '2026-03-01T09:00:00.000Z', to: '2026-03-01T10:00:00.000Z' })).toEqual([
      '10',
      '09',
    ])
    expect(await users(audit, { from: '2026-03-02T00:00:00.000Z' })).toEqual([])
    expect(await users(audit, { to: '2026-02-28T23:59:59.999Z' })).toEqual([])
  })

  test('lines longer than a block, and what is no entry, do not stop a search', async () => {
    const audit = open()
    await write(audit, { user: 'a' }, { user: 'b', ...saying(`${'x'.repeat(9 << 20)}needle`) })
    await appendFile(at('2026-03-01.jsonl'), 'no JSON at all\n\n{"a":1}\n')
    await write(audit, { user: 'c' })
    expect(await users(audit)).toEqual(['c', 'b', 'a'])
    expect(await users(audit, { q: 'NEEDLE' })).toEqual(['b'])
  })

  test('the recent entries of some actions are found without reading on', async () => {
    const audit = open()
    await write(audit, { user: 'a' }, { user: 'b', action: 'LOGIN' }, { user: 'c', action: 'DELETE' }, { user: 'd' })
    expect((await audit.recent(ALL_SEEING, ['UPLOAD', 'DELETE'], 2)).map(entry => entry.user)).toEqual(['d', 'c'])
  })
})

describe('integrity', () => {
  /** Three days of three lines. */
  async function filled(): Promise<Audit> {
    const audit = open()
    for (const day of [1, 2, 3]) {
      now = new Date(`2026-03-0${day}T10:00:00Z`)
      await write(audit, { user: `${day}a` }, { user: `${day}b` }, { user: `${day}c` })
    }
    return audit
  }
  async function edit(file: string, change: (lines: string[]) => string[]): Promise<void> {
    const texts = (await readFile(at(file), 'utf8')).split('\n').slice(0, -1)
    await writeFile(
      at(file),
      change(texts)
        .map(text => `${text}\n`)
        .join(''),
    )
  }
  const places = async (audit: Audit): Promise<string[]> =>
    (await audit.integrity()).broken.map(({ file, line }) => `${file.slice(8, 10)}:${line}`)

  test('an untouched log is whole, also before its first line', async () => {
    expect(await open().integrity()).toEqual({ ok: true, files: 0, lines: 0, broken: [] })
    expect(await (await filled()).integrity()).toEqual({ ok: true, files: 3, lines: 9, broken: [] })
  })

  test.each<[string, () => Promise<void>, string[]]>([
    [
      'a changed line shows at the line after it',
      () => edit('2026-03-02.jsonl', ls => ls.map((l, i) => (i === 1 ? l.replace('2b', 'xx') : l))),
      ['02:3'],
    ],
    [
      'the last line of a day shows at the next day',
      () => edit('2026-03-02.jsonl', ls => ls.map((l, i) => (i === 2 ? l.replace('2c', 'xx') : l))),
      ['03:1'],
    ],
    ['a removed line', () => edit('2026-03-01.jsonl', ls => ls.toSpliced(1, 1)), ['01:2']],
    ['the first line removed', () => edit('2026-03-01.jsonl', ls => ls.slice(1)), ['01:1']],
    [
      'an inserted line',
      () => edit('2026-03-01.jsonl', ls => ls.toSpliced(1, 0, JSON.stringify({ user: 'x', prev: NO_LINE }))),
      ['01:2', '01:3'],
    ],
    [
      'two lines swapped',
      () => edit('2026-03-01.jsonl', ls => [ls[0], ls[2], ls[1]] as string[]),
      ['01:2', '01:3', '02:1'],
    ],
    ['a removed file', () => rm(at('2026-03-02.jsonl')), ['03:1']],
    ['the first file removed', () => rm(at('2026-03-01.jsonl')), ['02:1']],
    [
      'the newest line changed',
      () => edit('2026-03-03.jsonl', ls => ls.map((l, i) => (i === 2 ? l.replace('3c', 'xx') : l))),
      ['03:4'],
    ],
    ['a cut tail', () => edit('2026-03-03.jsonl', ls => ls.slice(0, 1)), ['03:2']],
    ['the newest file removed', () => rm(at('2026-03-03.jsonl')), ['02:4']],
    [
      'everything removed',
      async () => {
        for (const day of [1, 2, 3]) await rm(at(`2026-03-0${day}.jsonl`))
      },
      [':1'],
    ],
    ['a line without end', () => appendFile(at('2026-03-03.jsonl'), '{"half'), ['03:4', '03:4']],
  ])('%s', async (_, damage, expected) => {
    const audit = await filled()
    await damage()
    expect(await places(audit)).toEqual(expected)
    expect(await places(open())).toEqual(expected)
  })

  test('what is written during the walk is no damage', async () => {
    const audit = await filled()
    const writing = (async () => {
      for (let n = 0; n < 30; n++) await write(audit, { user: `u${n}` })
    })()
    const walks = []
    for (let n = 0; n < 10; n++) walks.push(await audit.integrity())
    await writing
    expect(walks.flatMap(walk => walk.broken)).toEqual([])
  })

  test('a line forged at the end is detected, though it has the right hash', async () => {
    const audit = await filled()
    const last = (await readFile(at('2026-03-03.jsonl'), 'utf8')).split('\n').at(-2) ?? ''
    await appendFile(
      at('2026-03-03.jsonl'),
      `${JSON.stringify({ timestamp: now.toISOString(), id: '99', ...fact(), prev: lineHash(last) })}\n`,
    )
    expect(await places(audit)).toEqual(['03:4'])
  })
})
