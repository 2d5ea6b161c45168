import type { Unpacked } from '../../files/unpacked.ts'
import { createTarReader } from '../../lib/tar.ts'
import { MAX_ENTRIES, openLayer, pathOf, type Layer } from './layers.ts'

/** `.wh.name` removes `name` of the layers below, `.wh..wh..opq` everything in its folder. */
const WHITEOUT = '.wh.'
const OPAQUE = '.wh..wh..opq'

/** Says of a path in a layer whether the layers above remove or replace it. */
export type Hides = (path: string) => boolean

/** The highest layer that does something to a path. */
interface Changes {
  /** Writes it again, or removes it. */
  readonly gone: Map<string, number>
  /** Removes what is below it. */
  readonly emptied: Map<string, number>
}

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))

function note({ gone, emptied }: Changes, n: number, path: string, isFolder: boolean): void {
  // layers come from the top down: the first word stands
  const set = (map: Map<string, number>, key: string): void => {
    if (!map.has(key)) map.set(key, n)
  }
  const folder = folderOf(path)
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (name === OPAQUE) return set(emptied, folder)
  const isWhiteout = name.startsWith(WHITEOUT)
  if (isFolder && !isWhiteout) return
  const changed = isWhiteout ? `${folder === '' ? '' : `${folder}/`}${name.slice(WHITEOUT.length)}` : path
  set(gone, changed)
  // a file may take the place of a folder
  set(emptied, changed)
}

function isHidden({ gone, emptied }: Changes, n: number, path: string): boolean {
  const isAbove = (at: number | undefined): boolean => at !== undefined && at > n
  if (isAbove(gone.get(path)) || isAbove(emptied.get(''))) return true
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
    if (isAbove(emptied.get(path.slice(0, at)))) return true
  return false
}

/** What a layer writes and removes; one that is no tar does neither. */
async function entriesOf(
  layer: Layer,
  unpacked: Pick<Unpacked, 'read'> | undefined,
): Promise<readonly (readonly [path: string, isFolder: boolean])[]> {
  const tar = createTarReader({ what: layer.name, maxEntries: MAX_ENTRIES })
  const entries: (readonly [string, boolean])[] = []
  try {
    for await (const chunk of openLayer(layer, unpacked === undefined ? {} : { unpacked }))
      for (const { name, type } of tar.push(chunk)) entries.push([pathOf(name, layer.name), type === 'directory'])
    tar.end()
    return entries
  } catch {
    // looked at as one file; what is broken in a tar is refused where it is inspected
    return []
  }
}

/**
 * Reads the layers once, at the first question. Numbers are those of `layers`, the lowest first.
 * Source: OCI image specification 1.1, "Representing Changes".
 */
export function hidesOf(layers: readonly Layer[], unpacked?: Pick<Unpacked, 'read'>): (n: number) => Promise<Hides> {
  let reading: Promise<Changes> | undefined
  const read = async (): Promise<Changes> => {
    const changes: Changes = { gone: new Map(), emptied: new Map() }
    for (const [n, layer] of [...layers.entries()].slice(1).reverse())
      for (const [path, isFolder] of await entriesOf(layer, unpacked)) note(changes, n, path, isFolder)
    return changes
  }
  return async n => {
    const changes = await (reading ??= read())
    return path => isHidden(changes, n, path)
  }
}
