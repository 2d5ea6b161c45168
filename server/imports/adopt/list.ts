import { closeSync, createReadStream, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fail } from '../../core/errors.ts'
import type { RelPath } from '../../core/identity.ts'
import type { Distribution } from '../../core/repository.ts'
import type { Format } from '../../formats/format.ts'
import type { FetchPath } from '../../formats/upstream.ts'
import { listFiles } from '../../lib/list-files.ts'
import { openInside } from '../../lib/open-inside.ts'
import { ANYBODY } from '../../signing/trusted-keys.ts'
import type { TreeFile } from '../bulk/read-files.ts'

/** What there is to adopt. */
export interface Listing {
  /** In the order of their paths, each once. */
  readonly files: readonly TreeFile[]
  /** The indexes that they were listed by; empty: they are all package files in the folders. */
  readonly indexes: readonly string[]
  /** Package files that no index names, where there are indexes. */
  readonly unlisted: readonly string[]
}

export interface ListWish {
  /** The real path of the tree. */
  readonly root: string
  readonly format: Format
  readonly distribution: Pick<Distribution, 'codename' | 'archs' | 'neutral'>
  /** APT: which suite of several. */
  readonly suite?: string
  readonly now: Date
}

/** Files below a folder of the tree. */
function fetchBelow(root: string, base: string): FetchPath {
  return path => {
    const open = openInside(root, `${base}${path}`)
    if (open === 'missing') return Promise.resolve(undefined)
    if (typeof open === 'string')
      return Promise.reject(
        fail('adopt_unreadable', {
          path: `${base}${path}`,
          why: open === 'link' ? 'a symbolic link leads to it' : 'it is no file that the service may read',
        }),
      )
    return Promise.resolve(createReadStream('', { fd: open.fd }) as AsyncIterable<Buffer>)
  }
}

function readText(root: string, path: string): string {
  const open = openInside(root, path)
  if (typeof open === 'string') return ''
  try {
    return readFileSync(open.fd, 'utf8')
  } finally {
    closeSync(open.fd)
  }
}

/**
 * Lists what a tree has for one distribution: what its indexes name, with their digests; all package files where it has
 * no index.
 * @throws upstream_refused for a damaged index, adopt_which_suite, adopt_unreadable, adopt_nothing
 */
export async function listTree(wish: ListWish): Promise<Listing> {
  const { root, format, distribution, suite, now } = wish
  const all = (await listFiles(root)).map(path => relative(root, path))
  const isPackage = (path: string): boolean => format.endings.some(ending => path.toLowerCase().endsWith(ending))
  const packages = all.filter(isPackage)
  const found =
    format.upstream?.places(
      { paths: all, read: path => readText(root, path) },
      { ...distribution, ...(suite === undefined ? {} : { suite }) },
    ) ?? []
  if (found.length === 0) {
    if (packages.length === 0) fail('adopt_nothing', { path: root, endings: format.endings.join(', ') })
    return { files: packages.map(path => ({ path })), indexes: [], unlisted: [] }
  }
  const files = new Map<string, TreeFile>()
  for (const { base, place, component } of found) {
    const upstream = await format.upstream?.open({
      fetch: fetchBelow(root, base),
      // they only say which digests the files have: whoever may write into the tree may sign it, too
      keys: ANYBODY,
      now,
      unsigned: true,
      allowExpired: true,
      ...place,
    })
    if (upstream === undefined) continue
    for await (const entry of upstream.entries()) {
      const { path, size, digests, controlSha1 } = entry.read()
      const whole = `${base}${path}` as RelPath
      files.set(whole, {
        path: whole,
        size,
        ...digests,
        ...(controlSha1 === undefined ? {} : { controlSha1 }),
        ...(component === undefined ? {} : { component }),
      })
    }
  }
  return {
    files: [...files.values()].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)),
    indexes: found.map(({ name }) => name),
    unlisted: packages.filter(path => !files.has(path)),
  }
}
