import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Static, TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/** One small JSON file in the program's folder, read once and written whole. */
export interface Kept<T> {
  readonly value: T
  /** Writes the new value; a power cut leaves the old file or the new one. */
  set(value: T): Promise<void>
  /** What was wrong with the file at the start, in a sentence. */
  readonly warning: string | undefined
}

/** Reads text, or undefined where there is no file. */
async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}

/**
 * Opens it. A file that is damaged or of another shape is set aside as `NAME.damaged`, and the program goes on without:
 * what is kept here can be entered again, and a program that does not start could not say so.
 */
export async function openKept<S extends TSchema>(
  path: string,
  schema: S,
  otherwise: Static<S>,
): Promise<Kept<Static<S>>> {
  const text = await readText(path)
  let value: Static<S> = otherwise
  let warning: string | undefined
  if (text !== undefined) {
    let read: unknown
    try {
      read = JSON.parse(text)
    } catch {
      read = undefined
    }
    if (Value.Check(schema, read)) value = read
    else {
      await rename(path, `${path}.damaged`)
      warning = `${path} was damaged. It lies beside as ${path}.damaged, and the program began without it.`
    }
  }
  let last: Promise<void> = Promise.resolve()
  return {
    get value() {
      return value
    },
    warning,
    set: next => {
      value = next
      // one after the other, so that the newest stays
      last = last.catch(() => undefined).then(() => writeWhole(path, `${JSON.stringify(value, null, 2)}\n`))
      return last
    },
  }
}
