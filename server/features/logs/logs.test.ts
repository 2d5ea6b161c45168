import {
  appendFile,
  copyFile,
  mkdir,
  mkdtemp,
  open,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { codeOf, createCaller } from '../../../test/support/routes.ts'
import type { StreamEvent } from '../../core/contract.ts'
import { logs } from './contract.ts'
import type { LogEntry } from './entry.ts'
import { logHandlers } from './handlers.ts'
import { createSources } from './sources.ts'

let folder: string
let accessLog: string | undefined
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-logs-'))
  accessLog = undefined
})
afterEach(() => rm(folder, { recursive: true, force: true }))
const { call } = createCaller(logs, logHandlers, () => ({
  sources: createSources({ folder, accessLog: () => accessLog }),
}))
const messages = async (query: Record<string, unknown> = {}): Promise<string[]> =>
  (await call('GET /logs', { query: { lines: 2_000, ...query } })).entries.map(({ message }) => message)

const START = Date.parse('2026-03-01T10:00:00Z')
/** A line of the service, `n` seconds after the start. */
const own = (n: number, more: object = {}): string =>
  `${JSON.stringify({ level: 30, time: new Date(START + n * 1000).toISOString(), msg: `line ${n}`, ...more })}\n`
const put = (name: string, ...lines: readonly string[]): Promise<void> => writeFile(join(folder, name), lines.join(''))
const COMBINED = (status: number): string =>
  `192.0.2.7 - - [01/Mar/2026:10:00:0${status % 10} +0000] "GET /repos/x HTTP/1.1" ${status} 12 "-" "apt"\n`

test('a log without files has no lines, and the services say what is available', async () => {
  expect(await call('GET /logs')).toEqual({ entries: [], total: 0, cursor: null, unread: [] })
  await put('gatehouse-a.log', own(1))
  await put('error.log', '2026/03/01 10:00:00 [error] 7#7: *1 open() failed\n')
  expect((await call('GET /logs/services')).services.map(({ id, available }) => [id, available])).toEqual([
    ['backend', true],
    ['apt-repo/access', false],
    ['apt-repo/downloads', false],
    ['apt-repo/error', true],
  ])
})

test('a line shows its time, level, part, request and message, and the rest as data', async () => {
  await put(
    'gatehouse-a.log',
    own(1, { component: 'http', request_id: 'r1', msg: 'request', method: 'GET', path: '/x', status: 404, ms: 3 }),
    own(2, { level: 50, component: 'publish', err: { message: 'no room', stack: 'at x' } }),
    '{"level":30,"time":"20',
    '\nno JSON\n[]\n',
  )
  expect((await call('GET /logs', { query: { service: 'backend' } })).entries).toEqual([
    {
      ts: START / 1000 + 1,
      level: 'INFO',
      name: 'http',
      message: 'GET /x 404, 3 ms',
      service: 'backend',
      request_id: 'r1',
      data: { method: 'GET', path: '/x', status: 404, ms: 3 },
    },
    {
      ts: START / 1000 + 2,
      level: 'ERROR',
      name: 'publish',
      message: 'line 2: no room',
      service: 'backend',
      data: { err: { message: 'no room', stack: 'at x' } },
    },
    ...['{"level":30,"time":"20', 'no JSON', '[]'].map(message => ({
      ts: null,
      level: 'INFO',
      name: 'gatehouse',
      message,
      service: 'backend',
    })),
  ])
})

test('the logs of a web server come after the own one, each oldest first, with levels by status or by word', async () => {
  await put('gatehouse-a.log', own(9))
  await put('access.log', COMBINED(200), COMBINED(404), COMBINED(503), 'broken\n')
  await put('downloads.log', COMBINED(200))
  await put('error.log', '2026/03/01 10:00:00 [warn] 7#7: a\n', '2026/03/01 10:00:00 [crit] 7#7: b\n')
  const { entries, total } = await call('GET /logs')
  expect(entries.map(({ service, log_type, level, ts }) => [service, log_type, level, ts === null])).toEqual([
    ['backend', undefined, 'INFO', false],
    ['apt-repo', 'access', 'INFO', false],
    ['apt-repo', 'access', 'WARNING', false],
    ['apt-repo', 'access', 'ERROR', false],
    ['apt-repo', 'access', 'INFO', true],
    ['apt-repo', 'downloads', 'INFO', false],
    ['apt-repo', 'error', 'WARNING', false],
    ['apt-repo', 'error', 'ERROR', false],
  ])
  expect(total).toBe(8)
  expect(entries[1]?.ts).toBe(START / 1000)
  expect(await messages({ service: 'apt-repo', level: 'ERROR' })).toHaveLength(2)
})

test('the access log that a setting names is shown instead of the one in the folder, with its rotated files', async () => {
  accessLog = join(folder, 'elsewhere.log')
  await put('access.log', 'not this\n')
  await put('trees-a.log', 'nor this\n')
  await put('elsewhere.log.1', 'older\n')
  await put('elsewhere.log', 'newer\n')
  expect(await messages({ service: 'apt-repo' })).toEqual(['older', 'newer'])
})

test('files that logrotate packed are read and searched too, each line once while one is being packed', async () => {
  await put('access.log', 'd\n')
  await put('access.log.1', 'c\n')
  await put('access.log.1.gz', 'half')
  const numbers = (from: number): string => Array.from({ length: 30 }, (_, n) => `${from + n}\n`).join('')
  await writeFile(join(folder, 'access.log.2.gz'), gzipSync(numbers(130)))
  await writeFile(join(folder, 'access.log.3.gz'), gzipSync(numbers(100)))
  for (const [n, name] of ['3.gz', '2.gz', '1.gz', '1'].entries())
    await utimes(join(folder, `access.log.${name}`), START / 1000 + n, START / 1000 + n)
  const { lines, count } = await pages({ lines: 20, service: 'apt-repo' })
  expect(lines).toEqual([...Array.from({ length: 60 }, (_, n) => String(100 + n)), 'c', 'd'])
  expect(count).toBe(4)
  expect(await messages({ q: '101' })).toEqual(['101'])
})

test('the lines of an hour are found in a packed file that is larger than what is kept of it', async () => {
  const at = (n: number): string => new Date(START + n * 1000).toISOString().slice(11, 19)
  const line = (n: number): string =>
    `192.0.2.7 - - [01/Mar/2026:${at(n)} +0000] "GET /repos/x?${n}${'y'.repeat(3_000)} HTTP/1.1" 200 12 "-" "apt"\n`
  await writeFile(
    join(folder, 'access.log.1.gz'),
    gzipSync(Array.from({ length: 14_000 }, (_, n) => line(n)).join(''), { level: 1 }),
  )
  const asked = { service: 'apt-repo', from: '2026-03-01T10:00:05Z', to: '2026-03-01T10:00:06Z' }
  expect((await messages(asked)).map(text => /\?(\d+)/.exec(text)?.[1])).toEqual(['5', '6'])
  const { lines } = await pages({ service: 'apt-repo', q: '/repos/x?7y' })
  expect(lines).toHaveLength(1)
})

test('a packed file that cannot be read is named, and what is beside it is shown', async () => {
  await put('access.log', 'b\n')
  await writeFile(join(folder, 'access.log.1.gz'), gzipSync('a\n'.repeat(9)).subarray(0, 20))
  await writeFile(join(folder, 'access.log.2.gz'), gzipSync('a\n'))
  await utimes(join(folder, 'access.log.2.gz'), START / 1000, START / 1000)
  const { entries, unread } = await call('GET /logs', { query: { service: 'apt-repo' } })
  expect(entries.map(({ message }) => message)).toEqual(['a', 'b'])
  expect(unread).toEqual([{ file: 'access.log.1.gz', reason: 'unexpected end of file' }])
})

test('every filter works, alone and together', async () => {
  await put(
    'gatehouse-a.log',
    own(1, { level: 20, component: 'http', request_id: 'r1' }),
    own(2, { level: 30, component: 'http', request_id: 'r2' }),
    own(3, { level: 40, component: 'review', request_id: 'r2', note: 'Ünïcode "quoted"' }),
    own(4, { level: 50, component: 'review', request_id: 'r22' }),
  )
  expect(await messages({ level: 'INFO' })).toEqual(['line 2'])
  expect(await messages({ min_level: 'WARNING' })).toEqual(['line 3', 'line 4'])
  expect(await messages({ component: 'review' })).toEqual(['line 3', 'line 4'])
  expect(await messages({ request_id: 'r2' })).toEqual(['line 2', 'line 3'])
  expect(await messages({ q: 'LINE 4' })).toEqual(['line 4'])
  expect(await messages({ q: 'ünïcode' })).toEqual(['line 3'])
  expect(await messages({ from: '2026-03-01T10:00:02Z', to: '2026-03-01T10:00:03Z' })).toEqual(['line 2', 'line 3'])
  expect(await messages({ from: '2026-03-02' })).toEqual([])
  expect(await messages({ component: '', q: '', request_id: '', from: '' })).toHaveLength(4)
  expect(await messages({ request_id: 'r2', min_level: 'WARNING', component: 'http' })).toEqual([])
  expect(await codeOf(call('GET /logs', { query: { from: '2026-02-30' } }))).toBe('bad_request')
})

type Page = { readonly entries: readonly LogEntry[]; readonly cursor: string | null }
/** All pages, the newest first, put together. */
async function pages(query: Record<string, unknown>): Promise<{ lines: string[]; count: number }> {
  let [lines, cursor, count]: [string[], string | null, number] = [[], null, 0]
  do {
    const page: Page = await call('GET /logs', { query: { ...query, ...(cursor === null ? {} : { cursor }) } })
    lines = [...page.entries.map(({ message }) => message), ...lines]
    cursor = page.cursor
    count++
  } while (cursor !== null)
  return { lines, count }
}
const numbered = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, n) => `line ${from + n}`)

test('pages go through all files of all machines by time, without gap or repetition', async () => {
  const all = Array.from({ length: 3_000 }, (_, n) => n)
  const a = all.filter(n => n % 3 !== 0)
  const b = all.filter(n => n % 3 === 0)
  const text = (numbers: readonly number[]): string => numbers.map(n => own(n)).join('')
  await put('gatehouse-a.20260301T104000000-7.log', text(a.slice(0, 1_000)))
  await put('gatehouse-a.20260301T105000000-7.log', text(a.slice(1_000, 1_500)))
  await put('gatehouse-a.log', text(a.slice(1_500)))
  await put('gatehouse-b.log', text(b))
  const { lines, count } = await pages({ lines: 77, service: 'backend' })
  expect(lines).toEqual(numbered(0, 3_000))
  expect(count).toBeGreaterThan(30)
  expect(await messages({ to: '2026-03-01T10:10:00Z', from: '2026-03-01T10:09:00Z' })).toEqual(numbered(540, 601))
})

test('a page goes on where it was although the file was finished and lines came meanwhile', async () => {
  await put('gatehouse-a.log', ...Array.from({ length: 100 }, (_, n) => own(n)))
  const first = await call('GET /logs', { query: { lines: 20 } })
  await rename(join(folder, 'gatehouse-a.log'), join(folder, 'gatehouse-a.20260301T104000000-7.log'))
  await put('gatehouse-a.log', own(100))
  const second = await call('GET /logs', { query: { lines: 20, cursor: first.cursor } })
  expect(second.entries.map(({ message }) => message)).toEqual(numbered(60, 80))
  await rm(join(folder, 'gatehouse-a.20260301T104000000-7.log'))
  expect(await call('GET /logs', { query: { cursor: second.cursor } })).toEqual({
    entries: [],
    total: 0,
    cursor: null,
    unread: [],
  })
})

test.each([
  'x',
  'e30',
  Buffer.from('{"backend":{"a":[1]}}').toString('base64url'),
  Buffer.from('{"__proto__":1,"x":{}}').toString('base64url'),
])('the cursor %s is refused', async cursor => {
  expect(await codeOf(call('GET /logs', { query: { cursor } }))).toBe('bad_request')
})

test('70 MB of lines that do not fit are read in parts: no answer reads more than 32 MB', async () => {
  const line = own(1, { filler: 'x'.repeat(900) })
  await using file = await open(join(folder, 'gatehouse-a.log'), 'w')
  await file.write(own(0, { msg: 'first' }))
  const block = Buffer.from(line.repeat(1_000))
  for (let n = 0; n < 70; n++) await file.write(block)
  const first = await call('GET /logs', { query: { q: 'first' } })
  expect([first.entries, typeof first.cursor]).toEqual([[], 'string'])
  const { lines, count } = await pages({ q: 'first' })
  expect([lines, count]).toEqual([['first'], 3])
})

/** Reads a stream until it has given `count` entries. */
async function take(events: AsyncIterable<StreamEvent>, count: number): Promise<string[]> {
  const taken: string[] = []
  for await (const { data } of events) {
    if (data !== undefined) taken.push((data as LogEntry).message)
    if (taken.length === count) break
  }
  return taken
}

test('a stream begins with the last 50 lines of the service, then says that it is connected', async () => {
  await put('gatehouse-a.log', ...Array.from({ length: 60 }, (_, n) => own(n)))
  await put('error.log', '2026/03/01 10:00:00 [error] old\n')
  const stop = new AbortController()
  const events = await call('GET /logs/stream', { raw: { signal: stop.signal } })
  const seen: StreamEvent[] = []
  for await (const event of events) {
    seen.push(event)
    if (event.comment === 'connected') break
  }
  expect(seen.slice(0, -1).map(({ data }) => (data as LogEntry).message)).toEqual(numbered(10, 60))
  stop.abort()
})

test('a stream goes on through new files, emptied files and new logs, each line once', async () => {
  await put('gatehouse-a.log', own(0))
  await put('access.log', 'a0\n')
  const stop = new AbortController()
  const events = (await call('GET /logs/stream', { raw: { signal: stop.signal } }))[Symbol.asyncIterator]()
  const next = async (count: number): Promise<string[]> => {
    const taken: string[] = []
    while (taken.length < count) {
      const { value } = (await events.next()) as { value: StreamEvent }
      if (value.data !== undefined) taken.push((value.data as LogEntry).message)
    }
    return taken.sort()
  }
  expect(await next(1)).toEqual(['line 0'])
  await events.next() // connected
  await appendFile(join(folder, 'gatehouse-a.log'), own(1) + own(2).slice(0, 20))
  expect(await next(1)).toEqual(['line 1'])
  await appendFile(join(folder, 'gatehouse-a.log'), own(2).slice(20))
  await rename(join(folder, 'gatehouse-a.log'), join(folder, 'gatehouse-a.20260301T100001000-7.log'))
  await put('gatehouse-a.20260301T100002000-7.log', own(3))
  await put('gatehouse-a.log', own(4))
  expect(await next(3)).toEqual(['line 2', 'line 3', 'line 4'])
  // as logrotate does with copytruncate
  await appendFile(join(folder, 'access.log'), 'a1\n')
  expect(await next(1)).toEqual(['a1'])
  await copyFile(join(folder, 'access.log'), join(folder, 'access.log.1'))
  await truncate(join(folder, 'access.log'))
  await appendFile(join(folder, 'access.log'), 'a2\n')
  await put('gatehouse-b.log', own(5))
  expect(await next(2)).toEqual(['a2', 'line 5'])
  stop.abort()
  expect((await events.next()).done).toBe(true)
})

test('a stream gives only what its filter fits', async () => {
  await put('gatehouse-a.log', own(0), own(1, { level: 50 }))
  const stop = new AbortController()
  const events = await call('GET /logs/stream', { query: { min_level: 'ERROR' }, raw: { signal: stop.signal } })
  const reading = take(events, 2)
  await appendFile(join(folder, 'gatehouse-a.log'), own(2) + own(3, { level: 60 }))
  expect(await reading).toEqual(['line 1', 'line 3'])
  stop.abort()
})

test('what stands in the place of a log and is no file is passed over', async () => {
  await mkdir(join(folder, 'gatehouse-a.log'))
  await symlink('/dev/zero', join(folder, 'gatehouse-b.log'))
  await symlink(join(folder, 'nothing'), join(folder, 'gatehouse-c.log'))
  await put('gatehouse-d.log', own(1))
  expect(await messages()).toEqual(['line 1'])
  const stop = new AbortController()
  expect(await take(await call('GET /logs/stream', { raw: { signal: stop.signal } }), 1)).toEqual(['line 1'])
  stop.abort()
})
