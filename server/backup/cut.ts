import { createWriteStream } from 'node:fs'
import { copyFile, link, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import { fail } from '../core/errors.ts'
import { connect } from '../db/connected.ts'
import type { Layout } from '../files/layout.ts'
import { fsyncFolder, isUnfinished } from '../lib/atomic.ts'
import type { Clock } from '../lib/clock.ts'
import { space } from '../lib/disk-space.ts'
import { inLanes } from '../lib/in-lanes.ts'
import { listFiles } from '../lib/list-files.ts'
import { auditFiles } from '../record/audit-file.ts'
import type { Signer } from '../signing/signer.ts'
import { ABOUT, archiveName, type About, type ArchiveManifest, type Member } from './archive-manifest.ts'
import { PUBLIC_KEYS } from './archive-signature.ts'
import { writeArchive } from './archive-writer.ts'
import { compressedRows } from './compressed-rows.ts'
import { beginSnapshot, describeDump, dumpTable, type DumpHeader } from './dump.ts'

export interface CutDeps {
  readonly layout: Layout
  readonly clock: Clock
  readonly version: string
  /** Whether functions of the enterprise edition are on. */
  readonly isEnterprise: () => boolean
  /** Connections of their own; not connected yet. */
  readonly open: () => Client
  /** Undefined where there is no signing key: the manifest is not signed then. */
  readonly signer: () => Promise<Pick<Signer, 'detach'> | undefined>
}

/** An archive that was made. */
export interface MadeArchive {
  readonly file_name: string
  readonly size: number
}

/** One moment of the installation, pinned in a folder. */
export interface Cut {
  /** `gatehouse_backup_20261123_043000` */
  readonly name: string
  readonly folder: string
  /** The files of the folder, relative. */
  readonly paths: readonly string[]
  readonly sizeBytes: number
  readonly packages: number
  /** The manifest and its signature, from what the files are. */
  readonly conclude: (members: readonly Member[]) => Promise<readonly [string, string | undefined]>
}

export interface CutOptions {
  /** Secrets go only where they are encrypted. */
  readonly hasSecrets: boolean
  /** Names that are no longer free, beside those in the folder. */
  readonly taken: readonly string[]
  readonly signal: AbortSignal
}

export interface WriteOptions {
  readonly passphrase: string
  readonly signal: AbortSignal
  /** Called now and then with bytes written, of how many. */
  readonly told: (bytes: number, of: number) => Promise<void>
}

/** Folders that belong to a backup, beside packages and audit log. Trees do not: they are made again from the pool. */
const FOLDERS = ['manifests', 'documents', 'security', 'keyring'] as const
/** In this order: rows do not change, so a package moves once at most meanwhile, and is found before or behind it. */
const AREAS = ['quarantine', 'pool', 'quarantine'] as const
/** The public keys are there for whoever checks the signature. */
const SINGLE = ['settings.json', 'distributions.json', PUBLIC_KEYS] as const
/** Below `security/`: what is under way. And the link to the generation in use, which a restore makes again. */
const PASSING =
  /^security\/(?:(?:waiting|clamav|(?:collected\/)?feeds|vulndb\/\d+\.part)\/|vulndb\/(?:import\.lock|current)$)/

const isLasting = (path: string): boolean => !PASSING.test(path) && !isUnfinished(basename(path))

const unless =
  (code: string) =>
  (error: NodeJS.ErrnoException): void => {
    if (error.code !== code) throw error
  }
/** What went in between is of no row. */
const unlessGone = unless('ENOENT')

const linkOrCopy = (from: string, to: string): Promise<void> =>
  link(from, to)
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EXDEV' && error.code !== 'EPERM' && error.code !== 'EMLINK') throw error
      return copyFile(from, to)
    })
    .catch(unlessGone)

/** Lines are added to audit files, so those are copied. What else lies there belongs to appends that are under way. */
async function pinLog({ audit }: Pick<Layout, 'audit'>, folder: string): Promise<void> {
  const names = await auditFiles(audit)
  if (names.length > 0) await mkdir(join(folder, 'audit'), { mode: 0o700 })
  await inLanes(LANES, names, name => copyFile(join(audit, name), join(folder, 'audit', name)).catch(unlessGone))
}

/** Pins these folders in another one: hard links, so that what is deleted later is in the backup all the same. */
async function pinFolders(root: string, names: readonly string[], folder: string): Promise<void> {
  const found = await Promise.all(names.map(name => listFiles(join(root, name))))
  const paths = found
    .flat()
    .map(path => relative(root, path))
    .filter(isLasting)
  await inLanes(LANES, [...new Set(paths.map(dirname))], path =>
    mkdir(join(folder, path), { recursive: true, mode: 0o700 }),
  )
  await inLanes(LANES, paths, path => linkOrCopy(join(root, path), join(folder, path)).catch(unless('EEXIST')))
}

/** Pins everything but the audit log. */
async function pinFiles({ root }: Pick<Layout, 'root'>, folder: string, withSecrets: boolean): Promise<void> {
  for (const area of AREAS) await pinFolders(root, [area], folder)
  await pinFolders(root, [...FOLDERS, ...(withSecrets ? ['.secrets'] : [])], folder)
  for (const name of SINGLE) await linkOrCopy(join(root, name), join(folder, name))
}

/** Packages cannot change while files are pinned: the disk is asked for many at once. */
const LANES = 32

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
      compressedRows,
      createWriteStream(join(folder, 'database', `${table.name}.copy.zst`), { mode: 0o600 }),
      { signal },
    )
  }
  await writeFile(join(folder, 'database', 'tables.json'), `${JSON.stringify(header, null, 1)}\n`, { mode: 0o600 })
  return header
}

/** @throws storage_full before anything is written, where it is known to lack room */
async function refuseFull(folder: string, needs: number): Promise<void> {
  const { freeBytes } = await space(folder)
  if (freeBytes < needs)
    fail('backup_no_room', { needs_mb: Math.ceil(needs / 1e6), free_mb: Math.floor(freeBytes / 1e6) })
}

/** The name of this second, or of the next one that no backup has. */
async function freeName(folder: string, taken: readonly string[], at: Date): Promise<string> {
  const there = [...(await readdir(folder).catch(() => [])), ...taken]
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
 * Pins the whole installation as it is at one moment, while it goes on, and gives it to `work`. Nothing is left of it
 * afterwards. @throws the reason of the signal, and what `work` throws
 */
export async function withCut<T>(
  { layout, clock, version, isEnterprise, open, signer }: CutDeps,
  { hasSecrets, taken, signal }: CutOptions,
  work: (cut: Cut) => Promise<T>,
): Promise<T> {
  const at = clock.now()
  const name = await freeName(layout.backups, taken, at)
  await mkdir(layout.backups, { recursive: true, mode: 0o750 })
  const folder = join(layout.backups, `.cut-${name}`)
  const [client, locker] = [open(), open()]
  try {
    await mkdir(folder, { mode: 0o700 })
    for (const one of [client, locker]) await connect(one)
    await beginSnapshot(client, locker, {
      log: () => pinLog(layout, folder),
      files: () => pinFiles(layout, folder, hasSecrets),
    })
    const header = await dump(client, folder, signal)
    await client.query('commit')
    const files = (await listFiles(folder)).map(path => relative(folder, path))
    const packages = header.tables.find(table => table.name === 'package')?.rows ?? 0
    const about: About = {
      name,
      created_at: at.toISOString(),
      version,
      has_secrets: hasSecrets,
      enterprise: isEnterprise(),
      database: header,
      packages,
    }
    await writeFile(join(folder, ABOUT), `${JSON.stringify(about)}\n`, { mode: 0o600 })
    const paths = [ABOUT, ...files]
    const conclude: Cut['conclude'] = async members => {
      const manifest: ArchiveManifest = { format: 1, ...about, files: members }
      const text = `${JSON.stringify(manifest, null, 1)}\n`
      return [text, await (await signer())?.detach(Buffer.from(text))]
    }
    const sizeBytes = await sizeOf(paths.map(path => join(folder, path)))
    return await work({ name, folder, paths, sizeBytes, packages, conclude })
  } finally {
    await Promise.allSettled([client.end(), locker.end()])
    await rm(folder, { recursive: true, force: true })
  }
}

/** Tells twice a second at most. */
export function slowly(told: WriteOptions['told'], of: number): { tell(bytes: number): void; end(): Promise<void> } {
  let saying: Promise<void> = Promise.resolve()
  let saidAt = -Infinity
  return {
    tell: bytes => {
      if (performance.now() - saidAt < 500) return
      saidAt = performance.now()
      saying = saying.then(() => told(bytes, of)).catch(() => undefined) // the signal ends a run that is not ours
    },
    end: () => saying,
  }
}

/**
 * Makes one archive of a cut in the folder of backups. Nothing is left when it fails.
 * @throws backup_no_room, and the reason of the signal
 */
export async function archiveCut(
  cut: Cut,
  { backups }: Pick<Layout, 'backups'>,
  { passphrase, signal, told }: WriteOptions,
): Promise<MadeArchive> {
  const fileName = `${cut.name}.tar.gz${passphrase === '' ? '' : '.age'}`
  const part = join(backups, `${fileName}.part`)
  await refuseFull(backups, cut.sizeBytes)
  const telling = slowly(told, cut.sizeBytes)
  try {
    await writeArchive({
      ...cut,
      to: part,
      passphrase,
      signal,
      told: (_, bytes) => telling.tell(bytes),
    })
    await telling.end()
    await rename(part, join(backups, fileName))
    await fsyncFolder(backups)
    return { file_name: fileName, size: (await stat(join(backups, fileName))).size }
  } finally {
    await rm(part, { force: true })
  }
}
