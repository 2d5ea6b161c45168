import { isUtf8 } from 'node:buffer'
import { watch, type FSWatcher } from 'node:fs'
import { constants, lstat, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRefusal } from '../../core/errors.ts'
import type { Part } from '../../core/feature.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Spool, SpooledFile } from '../../files/spool.ts'
import type { Announcement } from '../../formats/announcements.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Settings } from '../../settings/store.ts'
import { mustBeTaken } from './developer-handlers.ts'
import type { DeveloperUploads } from './developer-upload.ts'

export interface WatchedFolderDeps {
  readonly spool: Pick<Spool, 'receive'>
  readonly settings: Pick<Settings, 'now' | 'subscribe'>
  readonly uploads: DeveloperUploads
  /** One process of an installation looks; the setting reaches all. */
  readonly leads: () => boolean
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
}

interface Entry {
  readonly isFile: boolean
  readonly size: number
  /** In milliseconds. */
  readonly age: number
}

const REJECTED = 'rejected'
/** How long an announcement may take to arrive; after that its faults are reported. */
const ARRIVING_MS = 60_000
/** How much later its files may come. */
const INCOMPLETE_MS = 24 * 60 * 60 * 1000
const DELAY_MS = 1_000

/** A folder that is watched for complete uploads: `dput` with the method local, rsync, a share. */
export interface WatchedFolder extends Part {
  /** Looks once, and follows the setting. */
  scan(): Promise<void>
}

/**
 * Takes announced uploads from the configured folder, as if the developer had sent them: the name of the key is the
 * user. Accepted files are removed; refused ones are moved to `rejected/`, with the reason in a file beside them.
 */
export function createWatchedFolder({ spool, settings, uploads, leads, clock, log }: WatchedFolderDeps): WatchedFolder {
  let watching: { readonly folder: string; readonly watcher: FSWatcher } | undefined
  let running: Promise<void> | undefined
  let soon: NodeJS.Timeout | undefined
  let stopping = false

  /** @returns undefined where there is nothing. The age counts from its arrival, also for a copy with an old date */
  async function statOf(path: string): Promise<Entry | undefined> {
    const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    return found && { isFile: found.isFile(), size: found.size, age: clock.now().getTime() - Math.floor(found.ctimeMs) }
  }

  /** Copies a file in. Follows no link, which may lead anywhere, and waits for no writer of a pipe. */
  async function take(folder: string, filename: string): Promise<SpooledFile> {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    const handle = await open(join(folder, filename), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const limitBytes = settings.now().validation.max_upload_size_mb * 1024 * 1024
      const stream = handle.createReadStream({ autoClose: false })
      return await spool.receive(stream, { filename, limitBytes, signal: new AbortController().signal })
    } finally {
      await handle.close()
    }
  }

  async function reject(folder: string, names: readonly string[], why: string): Promise<void> {
    const [filename = ''] = names
    await mkdir(join(folder, REJECTED), { recursive: true })
    for (const name of names)
      await rename(join(folder, name), join(folder, REJECTED, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
      })
    await writeFile(join(folder, REJECTED, `${filename}.reason`), `${why}\n`)
    log.warn({ upload: filename, why }, 'an upload in the watched folder was refused')
  }

  /** @returns whether every file is here as long as announced; those that are still being written are shorter */
  async function isComplete(folder: string, { files }: Announcement): Promise<boolean> {
    for (const { name, size } of files) {
      const found = await statOf(join(folder, name))
      if (found?.isFile === true && found.size === size) continue
      return false
    }
    return true
  }

  async function admit(folder: string, announcement: SpooledFile, { files }: Announcement): Promise<void> {
    const here = new Map<string, SpooledFile>()
    try {
      for (const { name } of files) here.set(name, await take(folder, name))
      const upload = await uploads.admit(
        { announcement, find: name => here.get(name), viewer: ALL_SEEING, waitMs: 0 },
        new AbortController().signal,
      )
      mustBeTaken(announcement.filename, upload)
      log.info(
        { upload: announcement.filename, by: upload.signed_by.name },
        'an upload in the watched folder was taken',
      )
    } finally {
      for (const file of here.values()) await file.discard()
    }
  }

  async function look(folder: string, filename: string): Promise<void> {
    const found = await statOf(join(folder, filename))
    if (found === undefined) return
    const { isFile, age } = found
    if (!isFile) return reject(folder, [filename], `${filename} is no plain file. Send the file itself.`)
    let announcement: SpooledFile
    try {
      announcement = await take(folder, filename)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EACCES' || age < ARRIVING_MS) throw error
      return reject(folder, [filename], `${filename} may not be read here. Change its permissions and send it again.`)
    }
    let announced: Announcement | undefined
    try {
      announced = await uploads.read(announcement)
      if (!(await isComplete(folder, announced))) {
        if (age > INCOMPLETE_MS) await reject(folder, [filename], 'Not all of its files came within a day.')
        return
      }
      await admit(folder, announcement, announced)
      for (const name of [filename, ...announced.files.map(file => file.name)])
        await rm(join(folder, name), { force: true })
    } catch (error) {
      // a full disk is no fault of the upload, which stays for the next run
      if (!isRefusal(error) || error.code === 'storage_full' || error.code === 'uploads_stopped') throw error
      if (announced !== undefined || age > ARRIVING_MS)
        await reject(folder, [filename, ...(announced?.files ?? []).map(file => file.name)], error.message)
    } finally {
      await announcement.discard()
    }
  }

  /** Every name of the folder. One that is no UTF-8 could not be opened again by its text: it gets another name. */
  async function namesIn(folder: string): Promise<readonly string[]> {
    const names: string[] = []
    for (const bytes of await readdir(folder, { encoding: 'buffer' })) {
      const name = bytes.toString('utf8')
      if (!isUtf8(bytes) && uploads.isAnnouncement(name)) {
        const readable = bytes.toString('latin1')
        await rename(Buffer.concat([Buffer.from(`${folder}/`), bytes]), join(folder, readable))
        names.push(readable)
      } else names.push(name)
    }
    return names.sort()
  }

  function follow(folder: string): void {
    if (watching?.folder === folder) return
    watching?.watcher.close()
    watching = undefined
    if (folder === '') return
    const watcher = watch(folder, () => {
      soon ??= setTimeout(() => {
        soon = undefined
        scan().catch((error: unknown) => log.error({ err: error, folder }, 'the watched folder could not be read'))
      }, DELAY_MS).unref()
    })
    // the scheduled run looks for a folder that disappeared
    watcher.on('error', () => {
      watching = undefined
    })
    watching = { folder, watcher }
  }

  async function scanNow(): Promise<void> {
    const folder = settings.now().developer_uploads.watched_folder
    // the watcher of a folder that was removed sees nothing of the new one
    if (folder !== '' && (await mkdir(folder, { recursive: true })) !== undefined) follow('')
    follow(folder)
    if (folder === '') return
    for (const name of await namesIn(folder)) {
      if (stopping) return
      if (!uploads.isAnnouncement(name)) continue
      await look(folder, name).catch((error: unknown) =>
        log.error({ err: error, upload: name }, 'an upload in the watched folder could not be taken'),
      )
    }
  }

  /** One run at a time; a call during a run waits for one that begins after it. */
  async function scan(): Promise<void> {
    while (running !== undefined) await running.catch(() => undefined)
    running = scanNow().finally(() => {
      running = undefined
    })
    await running
  }

  const lookAgain = (): void =>
    void scan().catch((error: unknown) => log.error({ err: error }, 'the watched folder could not be read'))

  settings.subscribe(now => {
    if (leads() && !stopping && now.developer_uploads.watched_folder !== (watching?.folder ?? '')) lookAgain()
  })
  return {
    scan,
    jobs: [
      {
        id: 'watched-folder',
        name: 'Look for uploads in the watched folder',
        when: () => (settings.now().developer_uploads.watched_folder === '' ? undefined : '* * * * *'),
        run: scan,
      },
    ],
    lead() {
      if (settings.now().developer_uploads.watched_folder !== '') lookAgain()
    },
    async stop() {
      stopping = true
      clearTimeout(soon)
      watching?.watcher.close()
      await running?.catch(() => undefined)
    },
  }
}
