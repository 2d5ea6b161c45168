import { readFile } from 'node:fs/promises'
import { createVulndbLayout, jarIndexFile } from '../store/layout.ts'
import type { Database, Snapshot } from '../store/database.ts'
import { openJarIndex, type JarIndex, type JarRelease } from './jar-index.ts'

/** What the loaded data know about Java libraries. */
export interface JavaNames {
  /** The groups under which an artifactId has advisories. */
  groupsOf(artifact: string): readonly string[]
  /** Whose file has this SHA-1, in hex; only artifacts that have advisories are known. */
  releasesOf(sha1: string): readonly JarRelease[]
}

const NOTHING: JavaNames = { groupsOf: () => [], releasesOf: () => [] }

async function readIndex(path: string): Promise<JarIndex | undefined> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return bytes === undefined ? undefined : openJarIndex(bytes)
}

/** Reads them once for each generation of the data. @throws Malformed, or the file system's error */
export function createJavaNames({
  security,
  database,
}: {
  readonly security: string
  readonly database: Database
}): () => Promise<JavaNames> {
  const place = createVulndbLayout({ security })
  let read: { readonly of: Snapshot; readonly names: Promise<JavaNames> } | undefined

  async function load(snapshot: Snapshot): Promise<JavaNames> {
    const groups = new Map<string, string[]>()
    for (const name of await snapshot.names('maven')) {
      const [group = '', artifact = ''] = name.split(':')
      groups.set(artifact, [...(groups.get(artifact) ?? []), group])
    }
    const index = await readIndex(jarIndexFile(place.generation(snapshot.meta.generation)))
    return { groupsOf: artifact => groups.get(artifact) ?? [], releasesOf: sha1 => index?.releasesOf(sha1) ?? [] }
  }

  return async () => {
    const snapshot = await database.open()
    if (snapshot === undefined) return NOTHING
    if (read?.of !== snapshot) {
      const names = load(snapshot)
      read = { of: snapshot, names }
      names.catch(() => (read = undefined))
    }
    return read.names
  }
}
