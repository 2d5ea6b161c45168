import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JarRow } from './jar-index.ts'

/** A repository in the layout of Maven: `GROUP/FOLDERS/ARTIFACT/VERSION/ARTIFACT-VERSION.jar`. */
export interface MavenRepository {
  /** The versions of an artifact; empty where there is none. */
  versions(group: string, artifact: string): Promise<readonly string[]>
  /** In hex; undefined where a version has no jar. */
  sha1(group: string, artifact: string, version: string): Promise<string | undefined>
}

const folderOf = (group: string, artifact: string): string => `${group.replaceAll('.', '/')}/${artifact}`
const jarOf = (group: string, artifact: string, version: string): string =>
  `${folderOf(group, artifact)}/${version}/${artifact}-${version}.jar`
/** The first 40 hex digits: some files have the name of the jar behind them. */
const readSha1 = (text: string): string | undefined => /^\s*([0-9a-f]{40})\b/i.exec(text)?.[1]?.toLowerCase()

/** One on disk, such as a mirror or Maven's own cache. */
export function folderRepository(root: string): MavenRepository {
  const missing = (error: NodeJS.ErrnoException): undefined => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
    return undefined
  }
  return {
    async versions(group, artifact) {
      const entries = await readdir(join(root, folderOf(group, artifact)), { withFileTypes: true }).catch(missing)
      return (entries ?? []).filter(entry => entry.isDirectory()).map(({ name }) => name)
    },
    async sha1(group, artifact, version) {
      const path = join(root, jarOf(group, artifact, version))
      const written = await readFile(`${path}.sha1`, 'utf8').catch(missing)
      const known = written === undefined ? undefined : readSha1(written)
      if (known !== undefined) return known
      const hash = createHash('sha1')
      try {
        for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
      } catch (error) {
        return missing(error as NodeJS.ErrnoException)
      }
      return hash.digest('hex')
    },
  }
}

const MAX_METADATA = 4 * 2 ** 20
const PATIENCE_MS = 60_000

/** One that answers to HTTP. Source: https://maven.apache.org/repositories/metadata.html */
export function webRepository(base: string, fetch: typeof globalThis.fetch): MavenRepository {
  const get = async (path: string): Promise<string | undefined> => {
    const url = new URL(path, base.endsWith('/') ? base : `${base}/`)
    const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) })
    if (response.status === 404) return undefined
    if (!response.ok) throw new Error(`${url.href} answers ${response.status}.`)
    const text = await response.text()
    return text.length > MAX_METADATA ? undefined : text
  }
  return {
    async versions(group, artifact) {
      const text = (await get(`${folderOf(group, artifact)}/maven-metadata.xml`)) ?? ''
      return [...text.matchAll(/<version>\s*([\w.+~-]{1,200})\s*<\/version>/g)].map(([, version = '']) => version)
    },
    sha1: async (group, artifact, version) => readSha1((await get(`${jarOf(group, artifact, version)}.sha1`)) ?? ''),
  }
}

const AT_ONCE = 8
// names of advisories are foreign text, and become paths
const isPlain = (text: string): boolean => /^[\w.+~-]{1,200}$/.test(text) && !/^\.+$/.test(text)

/**
 * The SHA-1 of every version of the artifacts, eight at a time.
 * @param names  `group:artifact`
 * @param onArtifact  called after each, with how many versions have a jar
 * @throws what the repository throws
 */
export async function collectJars(
  names: readonly string[],
  repository: MavenRepository,
  onArtifact: (name: string, jars: number) => void,
): Promise<JarRow[]> {
  const rows: JarRow[] = []
  for (const name of names) {
    const [group = '', artifact = ''] = name.split(':')
    if (!isPlain(group) || !isPlain(artifact)) continue
    const versions = [...new Set(await repository.versions(group, artifact))].filter(isPlain)
    const before = rows.length
    for (let at = 0; at < versions.length; at += AT_ONCE) {
      const found = await Promise.all(
        versions.slice(at, at + AT_ONCE).map(async version => ({
          group,
          artifact,
          version,
          sha1: await repository.sha1(group, artifact, version),
        })),
      )
      for (const { sha1, ...release } of found) if (sha1 !== undefined) rows.push({ ...release, sha1 })
    }
    onArtifact(name, rows.length - before)
  }
  return rows
}
