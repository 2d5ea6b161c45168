import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getFormat } from '../../server/formats/index.ts'
import { systemClock } from '../../server/lib/clock.ts'
import { createDatabase } from '../../server/vulndb/store/database.ts'
import { createImporter } from '../../server/vulndb/store/importer.ts'
import type { PackageQuery } from '../../server/vulndb/match/matching-rules.ts'
import { createOrders } from '../../server/vulndb/versions/orders.ts'
import { pieceFile } from '../../server/vulndb/store/layout.ts'
import { createOsvScanner } from '../../server/scanners/osv.ts'
import { openShard } from '../../server/vulndb/store/shards.ts'
import { buildDeb, spoolBytes } from '../support/packages.ts'
import { repositories } from '../support/repositories.ts'

const DATA = join(import.meta.dirname, '..', '..', '..', 'shared', 'data', 'vuln')
const IMPORT_MS = 10_000
const QUERIES_A_SECOND = 2_000

/** Real names and versions as they lie in the tables, a third of them of packages that no advisory names. */
function sample(
  folder: string,
  ecosystems: Readonly<Record<string, { readonly pieces: readonly string[] }>>,
  count: number,
): PackageQuery[] {
  const known: PackageQuery[] = []
  for (const [ecosystem, { pieces }] of Object.entries(ecosystems)) {
    for (const piece of pieces) {
      const shard = openShard(readFileSync(join(folder, ecosystem, pieceFile(piece))))
      for (const name of shard.names()) {
        const fixes = shard
          .rows(name)
          .flatMap(({ spans }) => spans.map(({ to }) => to))
          .filter(to => to !== undefined)
        const version = fixes[known.length % Math.max(1, fixes.length)] ?? '1.0'
        known.push({ ecosystem, name: known.length % 3 === 0 ? `${name}-unheard-of` : name, version })
      }
    }
  }
  // a stride that visits them all in no order, as packages arrive
  return Array.from({ length: count }, (_, n) => known[(n * 7_919) % known.length] as PackageQuery)
}

/** 10,000 installed packages against all advisories, and their import while uploads go on: `npm run bench match`. */
export async function run(args: readonly string[]): Promise<boolean> {
  const data = args[0] ?? DATA
  if (!existsSync(data)) {
    console.log(`There is no data at ${data}; name a folder with feeds.`)
    return true
  }
  const security = await mkdtemp(join(tmpdir(), 'gh-bench-match-'))
  try {
    const files = readdirSync(data, { recursive: true, encoding: 'utf8' })
      .filter(name => !/^(samples|schemas)\//.test(name) && statSync(join(data, name)).isFile())
      .map(name => ({ path: join(data, name), label: name, whole: true }))
    const importer = createImporter({
      security,
      worker: join(import.meta.dirname, '..', '..', 'server', 'cli', 'vulndb-worker.ts'),
      clock: systemClock,
      repositories,
      key: () => '',
      onChanged: () => undefined,
    })
    const deb = getFormat('deb')
    const bytes = await buildDeb({ name: 'hello', version: '1.0-1' })
    let uploads = 0
    let isDone = false
    const spool = join(security, 'spool')
    await mkdir(spool)
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const uploading = (async () => {
      while (!isDone) {
        const file = await spoolBytes(spool, `hello-${uploads++}.deb`, bytes)
        await deb.inspect(file, AbortSignal.timeout(10_000))
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    })()
    const start = performance.now()
    const { sources } = await importer.import(files)
    const importMs = performance.now() - start
    isDone = true
    await uploading
    delay.disable()
    const records = sources.filter(({ kind }) => kind === 'osv').reduce((sum, source) => sum + source.records, 0)
    console.log(
      `import: ${records} OSV records and the feeds beside them in ${(importMs / 1_000).toFixed(1)} s, ${uploads} packages read meanwhile; the longest pause ${(delay.max / 1e6).toFixed(0)} ms (p99 ${(delay.percentile(99) / 1e6).toFixed(0)} ms)`,
    )

    const database = createDatabase({ security })
    const opened = await database.open()
    if (opened === undefined) throw new Error('nothing was imported')
    const orders = createOrders({ compare: (format, a, b) => getFormat(format).compareVersions(a, b) })
    const scanner = createOsvScanner({ database, orders, clock: systemClock, maxAgeDays: () => 14 })
    const queries = sample(join(security, 'vulndb', String(opened.meta.generation)), opened.meta.ecosystems, 10_000)
    const rates: number[] = []
    for (const round of ['cold', 'warm']) {
      const before = performance.now()
      let findings = 0
      for (let n = 0; n < queries.length; n += 20) {
        for (const { findings: found } of await scanner.match(queries.slice(n, n + 20))) findings += found.length
      }
      const seconds = (performance.now() - before) / 1_000
      rates.push(queries.length / seconds)
      console.log(
        `match, ${round}: ${queries.length} packages in ${seconds.toFixed(2)} s, ${Math.round(queries.length / seconds)} a second, ${findings} findings; ${Math.round(process.memoryUsage().rss / 1e6)} MB`,
      )
    }
    return importMs <= IMPORT_MS && rates.every(rate => rate >= QUERIES_A_SECOND)
  } finally {
    await rm(security, { recursive: true, force: true })
  }
}
