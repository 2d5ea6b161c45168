import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, isAbsolute, join, sep } from 'node:path'
import { fail } from '../../core/errors.ts'
import { space } from '../../lib/disk-space.ts'
import { systemErrorInWords } from '../../lib/system-errors.ts'
import { BUNDLE_ENDING, RECEIPT_ENDING } from '../../imports/bundle/manifest.ts'

/** A bundle or a receipt on a medium. */
export interface MediumFile {
  readonly path: string
  readonly name: string
  readonly kind: 'bundle' | 'receipt'
  readonly size: number
  readonly modified_at: string
}

/** A directory that an admin allowed. */
export interface Medium {
  readonly directory: string
  /** Null where it cannot be looked at; then `trouble` says why. */
  readonly free_bytes: number | null
  readonly trouble: string | null
  readonly files: readonly MediumFile[]
}

const kindOf = (name: string): MediumFile['kind'] | undefined =>
  name.endsWith(BUNDLE_ENDING) ? 'bundle' : name.endsWith(RECEIPT_ENDING) ? 'receipt' : undefined

async function filesIn(folder: string, depth: number): Promise<MediumFile[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const found: MediumFile[] = []
  for (const entry of entries.slice(0, 10_000)) {
    const path = join(folder, entry.name)
    const kind = kindOf(entry.name)
    if (entry.isDirectory() && depth > 0) found.push(...(await filesIn(path, depth - 1).catch(() => [])))
    else if (entry.isFile() && kind !== undefined) {
      const { size, mtime } = await stat(path)
      found.push({ path, name: entry.name, kind, size, modified_at: mtime.toISOString() })
    }
  }
  return found
}

/** What lies on the media, the newest first. One that is not there says so. */
export async function listMedia(directories: readonly string[]): Promise<Medium[]> {
  return Promise.all(
    directories.map(async directory => {
      try {
        const files = await filesIn(directory, 1)
        const { freeBytes } = await space(directory)
        files.sort((a, b) => (a.modified_at < b.modified_at ? 1 : -1))
        return { directory, free_bytes: freeBytes, trouble: null, files }
      } catch (error) {
        return {
          directory,
          free_bytes: null,
          trouble: systemErrorInWords(error) ?? 'it cannot be looked at',
          files: [],
        }
      }
    }),
  )
}

/**
 * The file itself, without links. @throws bundle_place_refused unless it lies below an allowed directory and is a plain
 * file
 */
export async function findOnMedium(directories: readonly string[], path: string): Promise<string> {
  const refuse = (why: string): never => fail('bundle_place_refused', { path, why })
  if (!isAbsolute(path)) return refuse('its path does not begin with /')
  const real = await realpath(path).catch(() => undefined)
  const roots = await Promise.all(directories.map(root => realpath(root).catch(() => undefined)))
  const isAllowed = roots.some(
    root => root !== undefined && (real ?? path).startsWith(root.endsWith(sep) ? root : `${root}${sep}`),
  )
  // said first: what exists elsewhere is nobody's business
  if (!isAllowed) return refuse('it does not lie below a directory of IMPORT_ROOTS, which an admin sets')
  if (real === undefined) return refuse('it does not exist; is the medium mounted?')
  if (!(await stat(real)).isFile()) return refuse('it is no plain file')
  return real
}

/** A name for messages. */
export const nameOf = (path: string): string => basename(path)
