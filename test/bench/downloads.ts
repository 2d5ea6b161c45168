import { randomBytes } from 'node:crypto'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Codename } from '../../server/core/identity.ts'
import type { RegistryRules } from '../../server/core/registry.ts'
import { createRepositories, type Distribution } from '../../server/core/repository.ts'
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
import { hostedRegistry } from '../support/defined-registries.ts'

const LINES = 1_000_000
const FILES = 5_000
const CLIENTS = 400
/** Lines for each second of CPU of this process. */
const TARGET = 200_000

interface Fetched {
  readonly path: string
  readonly agent: string
}

/** What clients of trees ask for: half of it packages. */
function treeLine(n: number): Fetched {
  const file = (n * 7_919) % FILES
  const agent = 'Debian APT-HTTP/1.3 (2.6.1)'
  return n % 2 === 0
    ? { path: `/repos/pool/jammy/main/p/package-${file}/package-${file}_1.${file % 9}_amd64.deb`, agent }
    : { path: '/repos/dists/jammy/InRelease', agent }
}

/** What clients of registries ask for: half of it packages, some of them through a group or by a tag. */
function registryLine(n: number): Fetched {
  const file = (n * 7_919) % FILES
  const isPackage = n % 2 === 0
  const [npm, mvn, pip, docker] = [
    'npm/11.19.1 node/v24.21.0 linux x64 workspaces/false',
    'Apache-Maven/3.9.11 (Java 21; Linux 6.8)',
    'pip/26.3',
    'docker/28.3.3 go/go1.24.5',
  ]
  const hex = file.toString(16).padStart(64, '0')
  return [
    {
      path: `/npm/js${n % 3 === 0 ? '-all' : ''}/p-${file}${isPackage ? `/-/p-${file}-1.0.${file % 9}.tgz` : ''}`,
      agent: npm,
    },
    { path: `/maven/mvn/org/example/p-${file}/1.0/p-${file}-1.0.jar${isPackage ? '' : '.sha1'}`, agent: mvn },
    {
      path: isPackage ? `/pypi/py/files/p-${file}/p_${file}-1.0-py3-none-any.whl` : `/pypi/py/simple/p-${file}/`,
      agent: pip,
    },
    {
      path: isPackage
        ? `/v2/img/p-${file}/manifests/${n % 3 === 0 ? 'latest' : `sha256:${hex}`}`
        : `/v2/img/p-${file}/blobs/sha256:${hex}`,
      agent: docker,
    },
  ][(n >> 1) % 4] as Fetched
}

/** A day of a site: each client fetches some packages and indexes; half of the lines are packages. */
function lineOf(n: number, of: (n: number) => Fetched): string {
  const second = Math.floor((n / LINES) * 86_400)
  const time = [second / 3_600, (second / 60) % 60, second % 60].map(part => String(Math.floor(part)).padStart(2, '0'))
  const { path, agent } = of(n)
  const client = (Math.imul(n, 2_654_435_761) >>> 12) % CLIENTS
  return `10.1.${client >> 8}.${client & 255} - - [10/Mar/2026:${time.join(':')} +0000] "GET ${path} HTTP/1.1" ${n % 2 === 0 ? 200 : 304} ${n % 100_000} "-" "${agent}" "-" ${n.toString(16).padStart(36, '0')}\n`
}

async function write(path: string, lines: number, of: (n: number) => Fetched): Promise<number> {
  await using file = await open(path, 'w')
  let size = 0
  for (let n = 0; n < lines; n += 10_000) {
    const block = Array.from({ length: Math.min(10_000, lines - n) }, (_, i) => lineOf(n + i, of)).join('')
    size += block.length
    await file.write(block)
  }
  return size
}

const registry = (codename: string, format: string, registry: RegistryRules): Distribution => ({
  ...hostedRegistry(codename, format),
  registry,
})
const REGISTRIES = [
  registry('js', 'npm', { kind: 'hosted' }),
  registry('js-all', 'npm', { kind: 'group', members: ['js' as Codename] }),
  registry('mvn', 'maven', { kind: 'hosted' }),
  registry('py', 'pypi', { kind: 'hosted' }),
  registry('img', 'oci', { kind: 'hosted' }),
]

/** How many lines of access logs are counted in a second of CPU: `npm run bench downloads [lines]`. */
export async function run([lines = String(LINES)]: readonly string[]): Promise<boolean> {
  const root = await mkdtemp(join(tmpdir(), `gh-bench-downloads-${randomBytes(2).toString('hex')}-`))
  const embedded = await startEmbedded({ folder: join(root, '.pg'), onTrouble: trouble => console.log(trouble) })
  const db = createDb(embedded)
  try {
    await migrate(db)
    const repositories = createRepositories(DEFAULT_DISTRIBUTIONS)
    repositories.replace(REGISTRIES)
    let isFast = true
    for (const [name, of] of [
      ['trees', treeLine],
      ['registries', registryLine],
    ] as const) {
      const log = join(root, `${name}.log`)
      const size = await write(log, Number(lines), of)
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
      await db.query('truncate download_count, download_file, download_recent')
      const perCpu = Number(lines) / own
      console.log(
        `${lines} lines of ${name}, ${Math.round(size / 1e6)} MB: ${seconds.toFixed(1)} s, ${own.toFixed(1)} s of CPU here`,
      )
      console.log(`${row?.n} downloads in ${row?.rows} rows; ${Math.round(Number(lines) / seconds)} lines/s`)
      console.log(`${Math.round(perCpu)} lines for each second of CPU, at least ${TARGET}`)
      isFast &&= perCpu >= TARGET && row?.n === Number(lines) / 2
    }
    console.log(`most memory: ${Math.round(process.resourceUsage().maxRSS / 1024)} MB`)
    return isFast
  } finally {
    await db.close()
    await embedded.stop()
    await rm(root, { recursive: true, force: true })
  }
}
