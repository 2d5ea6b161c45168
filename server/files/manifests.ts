import type { Dirent } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PackageRef } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import { readManifest } from '../core/read-manifest.ts'
import { failpoint } from '../lib/failpoint.ts'
import { writeAtomic } from '../lib/atomic.ts'
import type { Layout } from './layout.ts'

/**
 * The manifests on disk: one JSON file per package and distribution. They are the truth; the database is their index.
 */
export interface Manifests {
  write(manifest: Manifest): Promise<void>
  /** Harmless when it is not there. */
  remove(ref: PackageRef): Promise<void>
  read(ref: PackageRef): Promise<Manifest | undefined>
  /** Every manifest; a file that cannot be read as one is yielded as `{path, broken}` and never skipped in silence. */
  walk(): AsyncIterable<{ readonly manifest: Manifest } | { readonly path: string; readonly broken: string }>
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
        return readManifest(JSON.parse(await readFile(layout.manifest(ref), 'utf8')))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },
    async *walk() {
      for await (const path of files(layout.manifests)) {
        try {
          yield { manifest: readManifest(JSON.parse(await readFile(path, 'utf8'))) }
        } catch (error) {
          yield {
            path: path.slice(layout.manifests.length + 1),
            broken: error instanceof Error ? error.message : String(error),
          }
        }
      }
    },
  }
}
