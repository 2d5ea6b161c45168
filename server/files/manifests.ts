import type { Dirent } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { printRef, type PackageName, type PackageRef } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import { readManifest } from '../core/read-manifest.ts'
import { readTagList, type TagList } from '../core/tag.ts'
import { failpoint } from '../lib/failpoint.ts'
import { writeAtomic } from '../lib/atomic.ts'
import { TAGS_FILE, type Layout } from './layout.ts'

/** What lies in `manifests/`. An unreadable file comes as `{path, broken}` and is never skipped silently. */
export type Found =
  | { readonly manifest: Manifest; readonly path: string }
  | { readonly list: TagList }
  | { readonly path: string; readonly broken: string }

/**
 * The manifests on disk: one JSON file per version in a repository, and one per package that has tags. They are the
 * truth; the database is their index.
 */
export interface Manifests {
  write(manifest: Manifest): Promise<void>
  /** Harmless when it is not there. */
  remove(ref: PackageRef): Promise<void>
  read(ref: PackageRef): Promise<Manifest | undefined>
  writeTags(list: TagList): Promise<void>
  /** Harmless when there are none. */
  removeTags(of: PackageName): Promise<void>
  walk(): AsyncIterable<Found>
}

async function list(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

async function* files(folder: string): AsyncGenerator<string> {
  for (const entry of await list(folder)) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* files(path)
    else if (entry.name.endsWith('.json')) yield path
  }
}

const readJson = async (path: string): Promise<unknown> => JSON.parse(await readFile(path, 'utf8'))

/** @throws Error where the file lies in the place of another one: two may claim one version */
function readAt(path: string, json: unknown, layout: Layout): Manifest {
  const manifest = readManifest(json)
  const place = layout.manifest(manifest.ref)
  if (place === path) return manifest
  throw new Error(
    `it is of ${printRef(manifest.ref)}, whose place is ${place.slice(layout.root.length + 1)}: move it there, or remove it`,
  )
}

/** The manifests below one root. */
export function createManifests(layout: Layout): Manifests {
  return {
    async write(manifest) {
      failpoint('manifest:before-write')
      await writeAtomic(layout.manifest(manifest.ref), `${JSON.stringify(manifest)}\n`)
      failpoint('manifest:after-write')
    },
    remove: ref => rm(layout.manifest(ref), { force: true }),
    async read(ref) {
      try {
        return readManifest(await readJson(layout.manifest(ref)))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },
    writeTags: one => writeAtomic(layout.tags(one.of), `${JSON.stringify(one)}\n`),
    removeTags: of => rm(layout.tags(of), { force: true }),
    async *walk() {
      for await (const path of files(layout.manifests)) {
        const name = path.slice(layout.manifests.length + 1)
        try {
          const json = await readJson(path)
          yield basename(path) === TAGS_FILE
            ? { list: readTagList(json) }
            : { manifest: readAt(path, json, layout), path: name }
        } catch (error) {
          yield { path: name, broken: error instanceof Error ? error.message : String(error) }
        }
      }
    },
  }
}
