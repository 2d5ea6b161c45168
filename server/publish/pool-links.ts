import { link, mkdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { relPath, sha256, type Codename } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import type { PublishedEntry } from '../formats/tree.ts'

type Links = Pick<Layout, 'published' | 'blob'>

/** @returns the error code of the system when there is no new link: `EEXIST`, `ENOENT` */
async function tryLink(from: string, to: string): Promise<string | undefined> {
  try {
    await link(from, to)
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST' && code !== 'ENOENT') throw error
    return code
  }
}

/**
 * Makes the package reachable under its name. @returns false when its bytes are not in the pool: no index may name it
 */
export async function linkPackage(
  layout: Links,
  codename: Codename,
  { path, blob }: { readonly path: string; readonly blob: PublishedEntry['blob'] },
): Promise<boolean> {
  const from = layout.blob(sha256(blob.sha256))
  const to = layout.published(codename, relPath(path))
  // most packages are new, and so one call is enough for them
  const code = await tryLink(from, to)
  if (code === undefined) return true
  const known = await stat(from).catch(() => undefined)
  if (known === undefined) return false
  if (code === 'ENOENT') {
    await mkdir(dirname(to), { recursive: true })
    if ((await tryLink(from, to)) === undefined) return true
  }
  const there = await stat(to).catch(() => undefined)
  if (there?.ino === known.ino) return true
  // the version was deleted and came back with other bytes: replace the old link in one step
  const part = `${to}.part`
  await rm(part, { force: true })
  await link(from, part)
  await rename(part, to)
  return true
}

/** Removes the package from the tree; its bytes stay in the pool. */
export async function unlinkPackage(layout: Links, codename: Codename, path: string): Promise<void> {
  await unlink(layout.published(codename, relPath(path))).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}
