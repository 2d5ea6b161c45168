import { createWriteStream } from 'node:fs'
import { copyFile, link, mkdir, readdir, rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress } from 'node:zlib'
import type { Client } from 'pg'
import { fail } from '../core/errors.ts'
import type { Layout } from '../files/layout.ts'
import { fsyncFolder } from '../lib/atomic.ts'
import type { Clock } from '../lib/clock.ts'
import { listFiles } from '../lib/list-files.ts'
import type { Signer } from '../signing/signer.ts'
import { archiveName, type ArchiveManifest } from './archive-manifest.ts'
import { writeArchive } from './archive-writer.ts'
import { beginSnapshot, describeDump, dumpTable, type DumpHeader } from './dump.ts'

export interface CutDeps {
  readonly layout: Layout
  readonly clock: Clock
  readonly version: string
  /** Connections of their own; not connected yet. */
  readonly open: () => Client
  /** Undefined where there is no signing key: the manifest is not signed then. */
  readonly signer: () => Promise<Pick<Signer, 'detach'> | undefined>
}

/** A backup that was made. */
export interface MadeBackup {
  readonly file_name: string
  readonly size: number
  readonly packages: number
  readonly files: number
  readonly encrypted: boolean
}

export interface CutOptions {
  readonly passphrase: string
  readonly signal: AbortSignal
  /** Called now and then with bytes written, of how many. */
  readonly told: (bytes: number, of: number) => Promise<void>
}

/** Folders that belong to a backup. Trees do not: they are made again from the pool. */
const FOLDERS = ['pool', 'quarantine', 'manifests', 'documents', 'audit', 'security', 'keyring'] as const
const SINGLE = ['settings.json', 'distributions.json'] as const
/** Below `security/`: what is under way. */
const PASSING = /^security\/(?:waiting|feeds)\//

const linkOrCopy = (from: string, to: string): Promise<void> =>
  link(from, to).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return // went in between, and so is of no row
    if (error.code !== 'EXDEV' && error.code !== 'EPERM' && error.code !== 'EMLINK') throw error
    await copyFile(from, to)
  })

/**
 * Pins everything that belongs to this moment in a folder: hard links, so that what is deleted later is in the backup
 * all the same. Lines are added to audit files, so those are copied.
 */
async function pin({ root }: Pick<Layout, 'root'>, folder: string, withSecrets: boolean): Promise<void> {
  const folders = [...FOLDERS, ...(withSecrets ? ['.secrets'] : [])]
  const found = await Promise.all(folders.map(name => listFiles(join(root, name))))
  const paths = found
    .flat()
    .map(path => relative(root, path))
    .filter(path => !PASSING.test(path))
  await inLanes([...new Set(paths.map(dirname))], path => mkdir(join(folder, path), { recursive: true, mode: 0o700 }))
  await inLanes([...paths, ...SINGLE], path =>
    path.startsWith('audit/')
      ? copyFile(join(root, path), join(folder, path))
      : linkOrCopy(join(root, path), join(folder, path)),
  )
}

/** Packages cannot change while files are pinned: the disk is asked for many at once. */
async function inLanes(paths: readonly string[], work: (path: string) => Promise<unknown>): Promise<void> {
  const waiting = [...paths].reverse()
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) await work(path)
    }),
  )
}

/** Bytes of the pinned files. */
async function sizeOf(paths: readonly string[]): Promise<number> {
  let sum = 0
  for (const path of paths) sum += (await stat(path)).size
  return sum
}

async function dump(client: Client, folder: string, signal: AbortSignal): Promise<DumpHeader> {
  const header = await describeDump(client)
  await mkdir(join(folder, 'database'))
  for (const table of header.tables) {
    signal.throwIfAborted()
    await pipeline(
      dumpTable(client, table),
      createZstdCompress(),
      createWriteStream(join(folder, 'database', `${table.name}.copy.zst`), { mode: 0o600 }),
      { signal },
    )
  }
  await writeFile(join(folder, 'database', 'tables.json'), `${JSON.stringify(header, null, 1)}\n`, { mode: 0o600 })
  return header
}

/** @throws storage_full before anything is written, where it is known to lack room */
async function refuseFull(folder: string, needs: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < needs)
    fail('backup_no_room', { needs_mb: Math.ceil(needs / 1e6), free_mb: Math.floor((bavail * bsize) / 1e6) })
}

/** The name of this second, or of the next one that no backup has. */
async function freeName(folder: string, at: Date): Promise<string> {
  const there = await readdir(folder).catch(() => [])
  for (let ms = at.getTime(); ; ms += 1_000) {
    const name = archiveName(new Date(ms))
    if (!there.some(file => file.startsWith(name))) return name
  }
}

/** What a backup that was killed left. */
export async function sweepCuts({ backups }: Pick<Layout, 'backups'>): Promise<void> {
  for (const name of await readdir(backups).catch(() => []))
    if (name.startsWith('.cut-') || name.endsWith('.part'))
      await rm(join(backups, name), { recursive: true, force: true })
}

/**
 * Makes an archive of the whole installation at one moment, while it goes on. Nothing is left when it fails.
 * @throws backup_no_room, and the reason of the signal
 */
export async function cutBackup(deps: CutDeps, { passphrase, signal, told }: CutOptions): Promise<MadeBackup> {
  const { layout, clock, version, open, signer } = deps
  const at = clock.now()
  const name = await freeName(layout.backups, at)
  const fileName = `${name}.tar.gz${passphrase === '' ? '' : '.age'}`
  await mkdir(layout.backups, { recursive: true, mode: 0o750 })
  const folder = join(layout.backups, `.cut-${name}`)
  const part = join(layout.backups, `${fileName}.part`)
  const [client, locker] = [open(), open()]
  for (const one of [client, locker]) one.on('error', () => undefined) // the statement under way says it
  try {
    await mkdir(folder, { mode: 0o700 })
    await client.connect()
    await locker.connect()
    await beginSnapshot(client, locker, () => pin(layout, folder, passphrase !== ''))
    const header = await dump(client, folder, signal)
    await client.query('commit')
    const paths = (await listFiles(folder)).map(path => relative(folder, path))
    const total = await sizeOf(paths.map(path => join(folder, path)))
    await refuseFull(layout.backups, total)
    let saying: Promise<void> = Promise.resolve()
    let saidAt = -Infinity
    await writeArchive({
      folder,
      paths,
      name,
      to: part,
      passphrase,
      signal,
      told: (_, bytes) => {
        if (performance.now() - saidAt < 500) return
        saidAt = performance.now()
        saying = saying.then(() => told(bytes, total)).catch(() => undefined) // the signal ends a run that is not ours
      },
      conclude: async members => {
        const manifest: ArchiveManifest = {
          format: 1,
          name,
          created_at: at.toISOString(),
          version,
          has_secrets: passphrase !== '',
          database: header,
          packages: header.tables.find(table => table.name === 'package')?.rows ?? 0,
          files: members,
        }
        const text = `${JSON.stringify(manifest, null, 1)}\n`
        return [text, await (await signer())?.detach(Buffer.from(text))]
      },
    })
    await saying
    await rename(part, join(layout.backups, fileName))
    await fsyncFolder(layout.backups)
    return {
      file_name: fileName,
      size: (await stat(join(layout.backups, fileName))).size,
      packages: header.tables.find(table => table.name === 'package')?.rows ?? 0,
      files: paths.length,
      encrypted: passphrase !== '',
    }
  } finally {
    await Promise.allSettled([client.end(), locker.end()])
    await rm(folder, { recursive: true, force: true })
    await rm(part, { force: true })
  }
}
