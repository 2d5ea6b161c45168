import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, isAbsolute, join, sep } from 'node:path'
import { fail } from '../../core/errors.ts'
import { space } from '../../lib/disk-space.ts'
import { systemErrorInWords } from '../../lib/system-errors.ts'
import { findOnMedium as findFile, readMedia } from '../../machine/media.ts'
import type { MediumView } from '../../machine/protocol.ts'
import { BUNDLE_ENDING, RECEIPT_ENDING } from '../../imports/bundle/manifest.ts'

/** A bundle or a receipt on a medium. */
export interface MediumFile {
  readonly path: string
  readonly name: string
  readonly kind: 'bundle' | 'receipt'
  readonly size: number
  readonly modified_at: string
}

/** A directory that an admin allowed, or a stick in the machine. */
export interface Medium {
  readonly directory: string
  /** Of a stick that the machine mounted; null: a directory of IMPORT_ROOTS. */
  readonly label: string | null
  /** A stick is only read. */
  readonly is_writable: boolean
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

/** Where media are. */
export interface MediaPlaces {
  /** IMPORT_ROOTS */
  readonly importRoots: readonly string[]
  /** MEDIA_FOLDER: where sticks are mounted. */
  readonly mediaFolder: string | undefined
}
/** A file, and how messages call it: of a stick with its label. */
export interface FoundBundle {
  readonly path: string
  readonly file: string
}

const fromStick = ({ path: directory, label, files }: MediumView): Medium => ({
  directory,
  label,
  is_writable: false,
  free_bytes: null,
  trouble: null,
  files: files.flatMap(({ path, size, modified_at }) => {
    const kind = kindOf(path)
    return kind === undefined ? [] : [{ path: join(directory, path), name: basename(path), kind, size, modified_at }]
  }),
})

/** What lies on the media, the newest first. One that is not there says so. */
export async function listMedia({ importRoots, mediaFolder }: MediaPlaces): Promise<Medium[]> {
  const sticks = (await readMedia(mediaFolder)).map(fromStick)
  const directories = importRoots.map(async directory => {
    try {
      const files = await filesIn(directory, 1)
      const { freeBytes } = await space(directory)
      files.sort((a, b) => (a.modified_at < b.modified_at ? 1 : -1))
      return { directory, label: null, is_writable: true, free_bytes: freeBytes, trouble: null, files }
    } catch (error) {
      return {
        directory,
        label: null,
        is_writable: true,
        free_bytes: null,
        trouble: systemErrorInWords(error) ?? 'it cannot be looked at',
        files: [],
      }
    }
  })
  return [...sticks, ...(await Promise.all(directories))]
}

/**
 * The file itself, without links. @throws bundle_place_refused unless it lies below an allowed directory and is a plain
 * file
 */
export async function findOnMedium({ importRoots, mediaFolder }: MediaPlaces, path: string): Promise<FoundBundle> {
  const refuse = (why: string): never => fail('bundle_place_refused', { path, why })
  if (!isAbsolute(path)) return refuse('its path does not begin with /')
  const real = await realpath(path).catch(() => undefined)
  const sticks = await readMedia(mediaFolder)
  const stick = sticks.find(one => path.startsWith(`${one.path}/`))
  if (stick !== undefined) {
    const { real, name } = await findFile(mediaFolder, { medium: stick.id, path: path.slice(stick.path.length + 1) })
    return { path: real, file: name }
  }
  const roots = await Promise.all(importRoots.map(root => realpath(root).catch(() => undefined)))
  const isAllowed = roots.some(
    root => root !== undefined && (real ?? path).startsWith(root.endsWith(sep) ? root : `${root}${sep}`),
  )
  // said first: what exists elsewhere is nobody's business
  if (!isAllowed) return refuse('it does not lie below a directory of IMPORT_ROOTS, which an admin sets')
  if (real === undefined) return refuse('it does not exist; is the medium mounted?')
  if (!(await stat(real)).isFile()) return refuse('it is no plain file')
  return { path: real, file: basename(real) }
}
