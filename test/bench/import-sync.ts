import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDb, type Db } from '../../server/db/db.ts'
import { startEmbedded } from '../../server/db/embedded.ts'
import { migrate } from '../../server/db/migrate.ts'
import type { FetchPath } from '../../server/formats/upstream.ts'
import { readInThread } from '../../server/imports/catalogue/reading.ts'
import { createSync } from '../../server/imports/catalogue/sync.ts'
import type { Source } from '../../server/imports/source.ts'
import { getFormat } from '../../server/formats/index.ts'
import type { TrustedKeys } from '../../server/signing/trusted-keys.ts'
import { aptTree, fetchFrom, type IndexTree } from '../support/index-trees.ts'
import { fetchBelow, machineKeys, machineSuites, type MachineSuite } from '../support/machine-archive.ts'
import type { Measured } from './rows.ts'

/** How much PostgreSQL wrote to its log, in bytes from its beginning. */
async function walOf(db: Db): Promise<number> {
  const row = await db.first<{ n: string }>(`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as n`)
  return Number(row?.n)
}

/** Rows written since the server's start, in the tables of the catalogue. */
async function rowsOf(db: Db): Promise<number> {
  await db.query('select pg_stat_force_next_flush()')
  const row = await db.first<{ n: number }>(
    `select sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint as n from pg_stat_user_tables
    where relname in ('import_held', 'import_package', 'import_capability', 'import_name')`,
  )
  return row?.n ?? 0
}

/** A source of a suite, as a row. */
async function addSource(db: Db, { url, suite, components, arch }: MachineSuite): Promise<Source> {
  const row = await db.first<{ id: number }>(
    `insert into import_source (key, label, format, kind, urls, suite, components, archs, codenames)
    values ($1, $1, 'deb', 'http', $2, $1, $3, $4, '{bookworm}') returning id`,
    [suite, [url], components, [arch]],
  )
  return {
    id: row?.id ?? 0,
    key: suite,
    label: suite,
    format: 'deb',
    kind: 'http',
    urls: [url],
    suite,
    components,
    archs: [arch],
    codenames: [],
    security: false,
    keys: [],
    signed: true,
    allowExpired: false,
    enabled: true,
    builtin: false,
    retired: false,
  }
}

/** The longest time a timer of 5 ms was late, in ms. */
function watchLag(): () => number {
  let last = performance.now()
  let worst = 0
  const timer = setInterval(() => {
    const now = performance.now()
    worst = Math.max(worst, now - last - 5)
    last = now
  }, 5)
  return () => {
    clearInterval(timer)
    return worst
  }
}

interface Bench {
  readonly db: Db
  readonly folder: string
  readonly keys: TrustedKeys
}

/** Synchronises once and prints what it cost. */
async function measure({ db, folder, keys }: Bench, source: Source, label: string, alter = (f: FetchPath) => f) {
  const files: string[] = []
  const sync = createSync({
    db,
    clock: { now: () => new Date() },
    log: { error: (facts: unknown) => console.error(facts) } as never,
    incoming: folder,
    readerOf: format => getFormat(format).upstream as never,
    reach: {
      open: () => ({
        fetch: alter(fetchBelow(source.urls[0] ?? '', path => files.push(path))),
        bytes: () => 0,
        mirror: () => undefined,
      }),
    },
    keysFor: () => Promise.resolve(keys),
    judge: () => Promise.resolve(undefined),
    read: readInThread,
    turns: (_format, _signal, work) => work(),
    againAfterMs: [],
  })
  const [wal, rows, lag, start, cpu] = [
    await walOf(db),
    await rowsOf(db),
    watchLag(),
    performance.now(),
    process.cpuUsage(),
  ]
  const result = await sync.run(source, { signal: new AbortController().signal })
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  const late = lag()
  const written = (await rowsOf(db)) - rows
  console.log(
    `${source.key.padEnd(20)} ${label.padEnd(12)} ${result.state} ${String(result.packages).padStart(6)} packages` +
      ` +${result.added} -${result.removed}  ${Math.round(ms)} ms, ${Math.round((user + system) / 1000)} ms of CPU,` +
      ` WAL ${((await walOf(db)) - wal) / 1e6} MB, ${written} rows, lag ${Math.round(late)} ms,` +
      ` ${Math.round(process.memoryUsage.rss() / 1e6)} MB now, files: ${files.length} (${files.at(-1) ?? ''}) ${result.said ?? ''}`,
  )
  return { result, files, rows: written, seconds: ms / 1000, cpu: (user + system) / 1e6 }
}

/** An index as large as bookworm's, of which one package in so many has another version. */
function madeIndex(every: number): Promise<IndexTree> {
  const entries = Array.from({ length: 63_440 }, (_, n) => ({
    name: `package-${n}`,
    version: n % every === 0 ? '2.0-1' : '1.0-1',
    fields: {
      'Section': 'misc',
      'Priority': 'optional',
      'Homepage': `https://package-${n}.example/`,
      'Installed-Size': String(n % 9_000),
      'Depends':
        Array.from({ length: n % 11 }, (_, d) => `package-${(n * 7 + d) % 63_440} (>= 1.${d})`).join(', ') || 'libc6',
      'Tag': `role::program, use::${n % 13}, implemented-in::c, interface::commandline, scope::utility, works-with::text`,
      'Description-md5': String(n).padStart(32, '0'),
      'Filler': 'x'.repeat(150 + (n % 200)),
      ...(n % 3 === 0 ? { Provides: `virtual-${n % 999} (= 1)` } : {}),
    },
  }))
  return aptTree({ suite: 'made', components: { main: entries } })
}

/** What a hundredth of changes costs. */
async function measureChanges(bench: Bench): Promise<void> {
  const place = { url: 'http://made.example/', suite: 'made', components: ['main'], arch: 'amd64' }
  const source = { ...(await addSource(bench.db, place)), signed: false }
  for (const [label, every] of [
    ['first', Infinity],
    ['1 % changed', 100],
  ] as const) {
    const tree = await madeIndex(every)
    await measure(bench, source, label, () => fetchFrom(() => tree))
  }
}

/** The database and the folder of one measurement. */
async function withBench<T>(keys: TrustedKeys, work: (bench: Bench) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-bench-import-'))
  const cluster = await startEmbedded({ folder: join(folder, 'data') })
  const db = createDb(cluster)
  try {
    await migrate(db)
    return await work({ db, folder, keys })
  } finally {
    await db.close()
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The first synchronisation of a suite, and one where nothing has changed. */
export async function measureSync(suite: MachineSuite, keys: TrustedKeys): Promise<Measured> {
  return withBench(keys, async bench => {
    const source = await addSource(bench.db, suite)
    const first = await measure(bench, source, 'first')
    if (first.result.state !== 'ok')
      return [{ what: `synchronisation of ${suite.suite}`, why: first.result.said ?? '' }]
    const again = await measure(bench, source, 'unchanged')
    const said = ({ seconds, cpu }: { readonly seconds: number; readonly cpu: number }): string =>
      `${seconds.toFixed(1)} s, ${cpu.toFixed(1)} s of CPU beside PostgreSQL`
    return [
      {
        what: `first synchronisation of ${suite.suite} ${suite.components.join(' ')}, ${first.result.packages} packages`,
        here: said(first),
      },
      {
        what: 'the same, nothing changed: one file, no row written',
        here: `${said(again)}; ${again.files.length} file, ${again.rows} rows`,
        isWithin: again.files.length === 1 && again.rows === 0,
      },
    ]
  })
}

/** `npm run bench import-sync`: the suites that this machine's apt reads. */
export async function run(): Promise<boolean> {
  const suites = machineSuites()
  const keys = await machineKeys()
  if (suites.length === 0 || keys === undefined) {
    console.log('apt of this machine reads no Debian suite, or has no keys of it: nothing is measured')
    return true
  }
  return withBench(keys, async bench => {
    let within = true
    for (const suite of suites) {
      const source = await addSource(bench.db, suite)
      await measure(bench, source, 'first')
      const again = await measure(bench, source, 'unchanged')
      within &&= again.files.length === 1 && !again.result.changed
    }
    await measureChanges(bench)
    console.log(`most memory of this process: ${Math.round(process.resourceUsage().maxRSS / 1024)} MB`)
    return within
  })
}
