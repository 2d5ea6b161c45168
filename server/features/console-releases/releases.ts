import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** A version as its vendor signed it. */
export interface SignedRelease {
  readonly manifest: string
  readonly signature: string
}

const MANIFEST = /^[A-Za-z0-9][\w.+-]{0,120}\.json$/
/** Larger ones are no manifests. */
const LARGEST = 100_000
const MOST = 100

/** The file, or undefined where it is not a plain one of a fitting size. */
async function readSmall(path: string): Promise<string | undefined> {
  try {
    const { size } = await stat(path)
    return size <= LARGEST ? await readFile(path, 'utf8') : undefined
  } catch {
    return undefined // gone meanwhile, or never there
  }
}

/** Every manifest of the folder that has its signature beside it, in the order of their names. */
export async function listReleases(folder: string): Promise<SignedRelease[]> {
  const names = await readdir(folder).catch(() => [])
  const manifests = names
    .filter(name => MANIFEST.test(name))
    .sort()
    .slice(-MOST)
  const read = await Promise.all(
    manifests.map(async name => {
      const [manifest, signature] = await Promise.all([
        readSmall(join(folder, name)),
        readSmall(join(folder, `${name}.sig`)),
      ])
      return manifest === undefined || signature === undefined ? [] : [{ manifest, signature: signature.trim() }]
    }),
  )
  return read.flat()
}

/** The names of the files that the manifests of the folder speak of: nothing else of it is handed out. */
export async function namedFiles(folder: string): Promise<Set<string>> {
  const releases = await listReleases(folder)
  return new Set(
    releases.flatMap(({ manifest }) => {
      try {
        const { files } = JSON.parse(manifest) as { files?: readonly { name?: unknown }[] }
        return (files ?? []).map(({ name }) => name).filter(name => typeof name === 'string')
      } catch {
        return []
      }
    }),
  )
}
