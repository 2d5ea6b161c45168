import { randomBytes } from 'node:crypto'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRepositories } from '../../server/core/repository.ts'
import { DEFAULT_DISTRIBUTIONS } from '../../server/core/default-distributions.ts'
import { createDb } from '../../server/db/db.ts'
import { startEmbedded } from '../../server/db/embedded.ts'
import { migrate } from '../../server/db/migrate.ts'
import { createCounting } from '../../server/features/downloads/count.ts'
import { createLayout } from '../../server/files/layout.ts'
import { FORMATS } from '../../server/formats/index.ts'
import { treeFolders } from '../../server/formats/tree-folders.ts'
import { systemClock } from '../../server/lib/clock.ts'
import { rotatedSeries } from '../../server/record/log-series.ts'

const LINES = 1_000_000
const FILES = 5_000
const CLIENTS = 400
/** Lines for each second of CPU of this process. */
const TARGET = 200_000

/** A day of a site: each client fetches some packages and indexes; half of the lines are packages. */
function lineOf(n: number): string {
  const second = Math.floor((n / LINES) * 86_400)
  const time = [second / 3_600, (second / 60) % 60, second % 60].map(part => String(Math.floor(part)).padStart(2, '0'))
  const file = (n * 7_919) % FILES
  const path =
    n % 2 === 0
      ? `/repos/pool/jammy/main/p/package-${file}/package-${file}_1.${file % 9}_amd64.deb`
      : '/repos/dists/jammy/InRelease'
  const client = (Math.imul(n, 2_654_435_761) >>> 12) % CLIENTS
  return `10.1.${client >> 8}.${client & 255} - - [10/Mar/2026:${time.join(':')} +0000] "GET ${path} HTTP/1.1" ${n % 2 === 0 ? 200 : 304} ${n % 100_000} "-" "Debian APT-HTTP/1.3 (2.6.1)" "-" ${n.toString(16).padStart(36, '0')}\n`
}

async function write(path: string, lines: number): Promise<number> {
  await using file = await open(path, 'w')
  let size = 0
  for (let n = 0; n < lines; n += 10_000) {
    const block = Array.from({ length: Math.min(10_000, lines - n) }, (_, i) => lineOf(n + i)).join('')
    size += block.length
    await file.write(block)
  }
  return size
}

/** How many lines of an access log are counted in a second of CPU: `npm run bench downloads [lines]`. */
export async function run([lines = String(LINES)]: readonly string[]): Promise<boolean> {
  const root = await mkdtemp(join(tmpdir(), `gh-bench-downloads-${randomBytes(2).toString('hex')}-`))
  const embedded = await startEmbedded({ folder: join(root, '.pg'), onTrouble: trouble => console.log(trouble) })
  const db = createDb(embedded)
  try {
    await migrate(db)
    const log = join(root, 'access.log')
    const size = await write(log, Number(lines))
    const repositories = createRepositories(DEFAULT_DISTRIBUTIONS)
    const counting = createCounting({
      db,
      clock: systemClock,
      layout: createLayout(root, treeFolders({ repositories, formats: FORMATS })),
      repositories,
      formats: FORMATS,
      series: async () => [await rotatedSeries(log)].filter(one => one !== undefined),
    })
    const [start, cpu] = [performance.now(), process.cpuUsage()]
    await counting.run()
    const seconds = (performance.now() - start) / 1000
    const { user, system } = process.cpuUsage(cpu)
    const own = (user + system) / 1e6
    const row = await db.first<{ n: number; rows: number }>(
      'select sum(downloads)::int as n, count(*)::int as rows from download_count',
    )
    const perCpu = Number(lines) / own
    console.log(
      `${lines} lines, ${Math.round(size / 1e6)} MB: ${seconds.toFixed(1)} s, ${own.toFixed(1)} s of CPU here`,
    )
    console.log(`${row?.n} downloads in ${row?.rows} rows; ${Math.round(Number(lines) / seconds)} lines/s`)
    console.log(`${Math.round(perCpu)} lines for each second of CPU, at least ${TARGET}`)
    console.log(`most memory: ${Math.round(process.resourceUsage().maxRSS / 1024)} MB`)
    return perCpu >= TARGET && row?.n === Number(lines) / 2
  } finally {
    await db.close()
    await embedded.stop()
    await rm(root, { recursive: true, force: true })
  }
}
