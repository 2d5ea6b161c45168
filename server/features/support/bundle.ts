import { open, stat } from 'node:fs/promises'
import { arch, cpus, freemem, loadavg, release, totalmem, uptime } from 'node:os'
import { basename } from 'node:path'
import { createGzip, type Gzip } from 'node:zlib'
import tar from 'tar-stream'
import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import { mask } from '../../lib/log.ts'
import { readAt } from '../../lib/read-at.ts'
import { rotatedSeries, ownSeries, type LogSeries } from '../../record/log-series.ts'
import type { EngineStatus } from '../../scanners/scanner.ts'
import type { SettingsValue } from '../../settings/schema.ts'
import { hostOnly } from '../../settings/shown.ts'
import type { Settings } from '../../settings/store.ts'
import { clockJobs, databaseFacts, recentJobLines, recentJobs, tableSizes } from './store.ts'

export interface BundleDeps {
  readonly db: Db
  readonly clock: Clock
  readonly settings: Pick<Settings, 'masked'>
  /** APP_VERSION. */
  readonly version: string
  /** The variables that are set; secrets as `***`. */
  readonly variables: Readonly<Record<string, string>>
  readonly health: () => Promise<object>
  readonly engines: () => Promise<readonly EngineStatus[]>
  readonly schemaVersion: () => Promise<string | undefined>
  /** LOG_FOLDER, and the path of a web server's error log that may lie in it. */
  readonly logFolder: string
  readonly errorLog: string
}

interface Member {
  readonly name: string
  readonly bytes: Buffer
}

/** Of each log the newest part. */
const LOG_BYTES = 4 * 1024 * 1024

const json = (name: string, value: unknown): Member => ({
  name,
  // line by line: a pattern of the mask never has to look at a whole file
  bytes: Buffer.from(
    `${JSON.stringify(value ?? null, null, 2)
      .split('\n')
      .map(mask)
      .join('\n')}\n`,
  ),
})

/** The end of a file from the beginning of a line on, masked. */
async function endOf(path: string, most: number): Promise<Buffer> {
  await using handle = await open(path)
  const { size } = await handle.stat()
  const from = Math.max(0, size - most)
  const lines = (await readAt(handle, from, size - from)).toString('utf8').split('\n')
  return Buffer.from(
    lines
      .slice(from === 0 ? 0 : 1)
      .map(mask)
      .join('\n'),
  )
}

async function* logsOf(series: readonly LogSeries[]): AsyncGenerator<Member> {
  for (const { files } of series) {
    let left = LOG_BYTES
    for (const path of files.toReversed()) {
      if (left <= 0 || path.endsWith('.gz')) continue
      const bytes = await endOf(path, left).catch(() => Buffer.from('could not be read\n'))
      left -= bytes.length
      yield { name: `logs/${basename(path)}`, bytes }
    }
  }
}

const machine = (): object => ({
  node: process.versions,
  platform: process.platform,
  arch: arch(),
  kernel: release(),
  processors: cpus().length,
  load: loadavg(),
  memory_bytes: { total: totalmem(), free: freemem(), own: process.memoryUsage() },
  up_seconds: { machine: Math.round(uptime()), service: Math.round(process.uptime()) },
})

const fileSizes = (series: readonly LogSeries[]): Promise<object[]> =>
  Promise.all(
    series
      .flatMap(({ files }) => files)
      .map(async path => ({ file: basename(path), bytes: (await stat(path).catch(() => undefined))?.size ?? null })),
  )

/** A part that cannot be told must not keep the others from being told. */
const told = async (ask: () => Promise<unknown>): Promise<unknown> =>
  ask().catch((error: unknown) => ({ could_not_be_read: error instanceof Error ? error.message : String(error) }))

function shownSettings(masked: SettingsValue): object {
  const { webhook_url: url } = masked.notifications
  return { ...masked, notifications: { ...masked.notifications, webhook_url: hostOnly(url) } }
}

async function* membersOf(deps: BundleDeps, by: string): AsyncGenerator<Member> {
  const { db, clock, version, settings, variables, logFolder } = deps
  const own = await ownSeries(logFolder, 'gatehouse')
  const proxy = await rotatedSeries(deps.errorLog)
  yield json('bundle.json', { made_at: clock.now().toISOString(), by, version })
  yield json('health.json', await told(deps.health))
  yield json('versions.json', {
    version,
    schema: await told(deps.schemaVersion),
    database: await told(() => databaseFacts(db)),
    engines: await told(deps.engines),
    machine: machine(),
  })
  yield json('settings.json', shownSettings(settings.masked()))
  yield json('environment.json', variables)
  yield json('sizes.json', {
    tables: await told(() => tableSizes(db)),
    logs: await fileSizes([...own, ...(await ownSeries(logFolder, 'trees'))]),
  })
  yield json('jobs.json', await told(() => recentJobs(db)))
  yield json('job-lines.json', await told(() => recentJobLines(db)))
  yield json('clock.json', await told(() => clockJobs(db)))
  yield* logsOf(proxy === undefined ? own : [...own, proxy])
}

/** The bundle, a member at a time. @param folder  the name of the one folder in it */
export function makeBundle(deps: BundleDeps, { by, folder }: { readonly by: string; readonly folder: string }): Gzip {
  const pack = tar.pack()
  const zipped = createGzip()
  const mtime = deps.clock.now()
  async function write(): Promise<void> {
    for await (const { name, bytes } of membersOf(deps, by))
      await new Promise<void>((resolve, reject) => {
        pack.entry({ name: `${folder}/${name}`, mtime, mode: 0o640 }, bytes, error => {
          if (error) reject(error)
          else resolve()
        })
      })
    pack.finalize()
  }
  pack.on('error', error => zipped.destroy(error))
  zipped.on('close', () => pack.destroy())
  pack.pipe(zipped)
  // what fails in the middle destroys the stream, so that half a bundle is never taken for a whole one
  void write().catch((error: unknown) => pack.destroy(error as Error))
  return zipped
}
