import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from '../lib/cached.ts'
import type { Clock } from '../lib/clock.ts'
import { isTooOld } from '../core/data-age.ts'
import { ToolFailed, type Ended, type Exec } from '../lib/exec.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import { createBinary, type Binary } from './binary.ts'
import { EngineUnavailable, type EngineStatus } from './scanner.ts'

/** What an engine needs that is a separate program. */
export interface ExternalDeps {
  readonly exec: Exec
  /** False when an admin switched it off: it then counts as not installed. */
  readonly enabled: () => boolean
  /** Where to look for programs: folders separated by `:`. */
  readonly searchPath: string
  /** The SHA-256 an admin pinned; empty for any. */
  readonly pin: () => string
  /** The folder of its database. The engine never updates it. */
  readonly databaseFolder: string
  /** Each run gets a folder below it, which is removed. */
  readonly workFolder: string
  readonly clock: Clock
  /** Older data are `stale`. */
  readonly maxAgeDays: () => number
}

/** What is known about an installed engine before it is asked: the program and its data. */
export interface Installed {
  readonly binary: Binary
  readonly version: string
  readonly data: EngineData
}

/** `at` is ISO 8601. Without data an engine answers nothing. */
export type EngineData = { readonly at: string; readonly version?: string } | { readonly missing: string }

/** The constants of one engine. */
export interface External {
  readonly id: string
  /** Its whole environment except PATH and HOME. @param folder  of the run */
  environment(databaseFolder: string): Readonly<Record<string, string>>
  /** Matches the file of a build that must not even be started. */
  readonly refused?: RegExp
  /** Asks for version and data. @throws EngineUnavailable */
  read(run: Run): Promise<Omit<Installed, 'binary'>>
}

/** Runs the engine in its own empty folder. @throws EngineUnavailable when it was cut short or could not be started */
export type Run = (
  args: readonly string[],
  options?: { readonly deadlineMs?: number; readonly signal?: AbortSignal },
) => Promise<Ended>

/** A question for an engine. `binary` is the program whose version is known; no other may answer. */
export interface EngineQuestion {
  readonly binary: Binary
  readonly name: string
  readonly text: string
  readonly args: (file: string) => readonly string[]
}

export interface Engine {
  readonly id: string
  /** Also true for one that is installed and cannot be used: that must be reported, not skipped. */
  isPresent(): Promise<boolean>
  /** Undefined where it is not installed. @throws EngineUnavailable when it is installed and cannot be used */
  installed(): Promise<Installed | undefined>
  status(): Promise<EngineStatus>
  isStale(data: EngineData): boolean
  now(): Date
  /**
   * Writes the input into an empty folder and runs the engine there, one run at a time. @throws EngineUnavailable, the
   * signal's reason
   */
  ask(input: EngineQuestion, signal: AbortSignal): Promise<string>
}

const ASK_MS = 120_000
const STATUS_MS = 20_000
const STATUS_FOR_MS = 60_000
const MOST_OUTPUT = 64 * 1024 * 1024
const DAY_MS = 86_400_000

/** The last line of its complaints, short enough for a message. */
export function lastWords(err: string): string {
  const line =
    err
      .split('\n')
      .map(text => text.trim())
      .filter(text => text !== '')
      .at(-1) ?? ''
  // eslint-disable-next-line no-control-regex -- colours and other control sequences are what is taken out
  const plain = line.replace(/\u001b\[[0-9;]*m/g, '').replace(/[\u0000-\u001f\u007f]/g, ' ')
  return plain === '' ? '' : `: ${plain.slice(0, 300)}`
}

/** Data dated tomorrow have no known age. */
function believable(data: EngineData, now: Date): EngineData {
  if (!('at' in data) || Date.parse(data.at) <= now.getTime() + 2 * DAY_MS) return data
  return {
    missing: `Its data say that they are of ${data.at.slice(0, 10)}, which lies ahead: the clock of this machine or theirs is wrong.`,
  }
}

/** The files of a database and their times, two levels deep: both engines lay theirs out like that. */
async function markFolder(folder: string, levels = 2): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const marks = await Promise.all(
    entries.slice(0, 100).map(async entry => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return levels > 1 ? `${entry.name}/(${await markFolder(path, levels - 1)})` : entry.name
      const file = await stat(path).catch(() => undefined) // replaced just now
      return `${entry.name} ${file?.size} ${file?.mtimeMs}`
    }),
  )
  return marks.join(', ')
}

/**
 * An engine that is a program: finds it, checks its digest, and runs it in its own folder and environment, never twice
 * at once.
 */
export function createEngine({ id, environment, read, refused }: External, deps: ExternalDeps): Engine {
  const { exec, clock, databaseFolder, workFolder } = deps
  const binary = createBinary({
    name: id,
    searchPath: deps.searchPath,
    pin: deps.pin,
    clock: deps.clock,
    ...(refused === undefined ? {} : { refused }),
  })
  const lock = createKeyedLock()

  async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
    await mkdir(workFolder, { recursive: true })
    const folder = await mkdtemp(join(workFolder, `${id}-`))
    try {
      return await work(folder)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  // HOME and the working folder are empty, so that no configuration file tells an engine what to ignore
  const runIn =
    (path: string, folder: string): Run =>
    async (args, { deadlineMs = STATUS_MS, signal } = {}) => {
      try {
        return await exec(path, args, {
          env: {
            PATH: '/usr/bin:/bin',
            HOME: folder,
            TMPDIR: folder,
            LC_ALL: 'C.UTF-8',
            NO_COLOR: '1',
            ...environment(databaseFolder),
          },
          cwd: folder,
          deadlineMs,
          maxOutputBytes: MOST_OUTPUT,
          ...(signal === undefined ? {} : { signal }),
        })
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof ToolFailed) throw new EngineUnavailable(id, error.message, error)
        throw error
      }
    }

  const look = async (): Promise<Installed | undefined> => {
    const found = await binary.find()
    if (found === undefined) return undefined
    return inFolder(async folder => {
      const { version, data } = await read(runIn(found.path, folder))
      return { binary: found, version, data: believable(data, clock.now()) }
    })
  }
  let asked: { readonly mark: string; readonly answer: () => Promise<Installed | undefined> } | undefined
  // what an engine reports about itself holds for a while, but never for another program or other data
  async function installed(): Promise<Installed | undefined> {
    const mark = `${(await binary.find())?.sha256} ${await markFolder(databaseFolder)}`
    if (asked?.mark !== mark) asked = { mark, answer: cached({ clock, ms: STATUS_FOR_MS, read: look }) }
    return asked.answer()
  }
  const isStale = (data: EngineData): boolean =>
    'at' in data && isTooOld(data.at, { now: clock.now(), maxAgeDays: deps.maxAgeDays() })

  return {
    id,
    installed,
    isStale,
    now: () => deps.clock.now(),
    async isPresent() {
      if (!deps.enabled()) return false
      try {
        return (await binary.find()) !== undefined
      } catch (error) {
        if (error instanceof EngineUnavailable) return true
        throw error
      }
    },
    async status() {
      if (!deps.enabled()) return { id, ok: false, error: 'It is switched off.' }
      try {
        const now = await installed()
        if (now === undefined) return { id, ok: false, error: 'It is not installed.' }
        const { version, data } = now
        if ('missing' in data) return { id, ok: false, version, error: data.missing }
        const about = {
          id,
          version,
          data_at: data.at,
          ...(data.version === undefined ? {} : { data_version: data.version }),
        }
        return isStale(data)
          ? { ...about, ok: false, error: `Its data are of ${data.at.slice(0, 10)}.` }
          : { ...about, ok: true }
      } catch (error) {
        if (!(error instanceof EngineUnavailable)) throw error
        return { id, ok: false, silence: 'no_answer', error: `${error.message}.` }
      }
    },
    ask: ({ binary: { sha256 }, name, text, args }, signal) =>
      lock.run(id, () =>
        inFolder(async folder => {
          signal.throwIfAborted()
          const found = await binary.find()
          if (found === undefined) throw new EngineUnavailable(id, 'it is not installed any more')
          if (found.sha256 !== sha256) throw new EngineUnavailable(id, 'it was replaced a moment ago; ask again')
          const file = join(folder, name)
          await writeFile(file, text)
          const { code, out, err } = await runIn(found.path, folder)(args(file), { deadlineMs: ASK_MS, signal })
          if (code !== 0) throw new EngineUnavailable(id, `it ended with ${code}${lastWords(err)}`)
          return out.toString('utf8')
        }),
      ),
  }
}
