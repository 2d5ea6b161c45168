import { access, readFile, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { printRef, type PackageName, type PackageRef } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import { readManifest } from '../core/read-manifest.ts'
import { readTagList, type TagList } from '../core/tag.ts'
import { failpoint } from '../lib/failpoint.ts'
import { writeAtomic } from '../lib/atomic.ts'
import { replaceTogether } from '../lib/disk-thread.ts'
import { listFiles } from '../lib/list-files.ts'
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
  has(ref: PackageRef): Promise<boolean>
  writeTags(list: TagList): Promise<void>
  /** Harmless when there are none. */
  removeTags(of: PackageName): Promise<void>
  /** Everything in the order of paths. @param told  called now and then with how many were read, of how many */
  walk(told?: (done: number, of: number) => void): AsyncIterable<Found>
}

/** Files that are read at the same time. */
const AHEAD = 32

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
  async function readOne(path: string): Promise<Found> {
    const name = path.slice(layout.manifests.length + 1)
    try {
      const json = await readJson(path)
      return basename(path) === TAGS_FILE
        ? { list: readTagList(json) }
        : { manifest: readAt(path, json, layout), path: name }
    } catch (error) {
      return { path: name, broken: error instanceof Error ? error.message : String(error) }
    }
  }

  return {
    async write(manifest) {
      failpoint('manifest:before-write')
      await replaceTogether(layout.manifest(manifest.ref), `${JSON.stringify(manifest)}\n`)
      failpoint('manifest:after-write')
    },
    remove: ref => rm(layout.manifest(ref), { force: true }),
    has: ref =>
      access(layout.manifest(ref)).then(
        () => true,
        () => false,
      ),
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
    async *walk(told) {
      const paths = (await listFiles(layout.manifests)).filter(path => path.endsWith('.json'))
      const readSome = (from: number): Promise<Found[]> => Promise.all(paths.slice(from, from + AHEAD).map(readOne))
      let next = readSome(0)
      for (let from = 0; from < paths.length; from += AHEAD) {
        const found = await next
        next = readSome(from + AHEAD) // while the caller works on these
        yield* found
        told?.(Math.min(from + AHEAD, paths.length), paths.length)
      }
    },
  }
}
