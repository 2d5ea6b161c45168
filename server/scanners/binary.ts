import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { access, constants, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { Clock } from '../lib/clock.ts'
import { EngineUnavailable } from './scanner.ts'

/** A program on disk, as the record of a scan names it. */
export interface Binary {
  readonly path: string
  readonly sha256: string
}

export interface BinaryDeps {
  readonly name: string
  /** Folders separated by `:`; relative ones are skipped. */
  readonly searchPath: string
  /** The digest that an admin pinned, lower-case hex; empty for any. */
  readonly pin: () => string
  /** Matches the file of a build that must never be started. Matches are at most 100 bytes long. */
  readonly refused?: RegExp
  readonly clock: Clock
}

/** It is asked at each upload: that a program is in no folder is believed for so long. */
const ABSENT_MS = 1_000

async function isProgram(path: string): Promise<boolean> {
  // mostly in vain: a rejected promise costs a hundred times as much
  if (!existsSync(path)) return false
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

interface Looked {
  readonly sha256: string
  readonly isRefused: boolean
}

async function look(path: string, refused: RegExp | undefined): Promise<Looked> {
  const hash = createHash('sha256')
  let isRefused = false
  let end = ''
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    if (refused === undefined) continue
    const text = end + chunk.toString('latin1')
    isRefused ||= refused.test(text)
    end = text.slice(-100)
  }
  return { sha256: hash.digest('hex'), isRefused }
}

/** Finds a program and its digest, which is computed again only when the file changed. */
export function createBinary({ name, searchPath, pin, refused, clock }: BinaryDeps): {
  /** Undefined where it is not installed. @throws EngineUnavailable when it is refused or is not the pinned one */
  find(): Promise<Binary | undefined>
} {
  const folders = searchPath.split(':').filter(folder => isAbsolute(folder))
  let known: { readonly key: string; readonly looked: Promise<Looked> } | undefined

  let absentAt: number | undefined

  async function locate(): Promise<string | undefined> {
    const now = clock.now().getTime()
    if (absentAt !== undefined && Math.abs(now - absentAt) < ABSENT_MS) return undefined
    for (const folder of folders) {
      const path = join(folder, name)
      if (!(await isProgram(path))) continue
      absentAt = undefined
      return realpath(path)
    }
    absentAt = now
    return undefined
  }

  return {
    async find() {
      const path = await locate()
      if (path === undefined) return undefined
      const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path)
      const key = [path, dev, ino, size, mtimeMs, ctimeMs].join(' ')
      if (known?.key !== key) {
        known = { key, looked: look(path, refused) }
        known.looked.catch(() => {
          known = undefined
        })
      }
      const { sha256, isRefused } = await known.looked
      if (isRefused)
        throw new EngineUnavailable(
          name,
          `${path} is a build that is known to be malicious, and is not started. Remove it, and change every secret of this machine`,
        )
      const expected = pin().toLowerCase()
      if (expected !== '' && expected !== sha256)
        throw new EngineUnavailable(name, `${path} has the SHA-256 ${sha256}, not the pinned ${expected}`)
      return { path, sha256 }
    },
  }
}
