import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { relPath, type Codename, type RelPath } from '../core/identity.ts'
import type { Distribution } from '../core/repository.ts'
import type { Layout } from '../files/layout.ts'
import type { Format } from '../formats/format.ts'
import { linkOnce, writeAtomic } from '../lib/atomic.ts'
import { listGenerations } from './prune.ts'
import { stateFile, writeState, type GenerationState } from './state.ts'
import type { PoolFile } from './store.ts'

// Release 0.1 wrote schema 2: trees had one component, and the places of packages did not name it.
const COMPONENT = 'main'

interface Card {
  readonly schema: number
  readonly files: readonly PoolFile[]
}

async function read<Value>(path: string): Promise<Value | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Value
  } catch {
    return undefined // lost or cut off: it is made again when needed
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** Links a package to its place from where it lay: the same place without its first folders. */
async function moveIn(layout: Layout, codename: Codename, place: RelPath): Promise<void> {
  const to = layout.published(codename, place)
  if (await isThere(to)) return
  const segments = place.split('/')
  for (let n = 1; n < segments.length; n++) {
    const from = layout.published(codename, relPath(segments.slice(n).join('/')))
    if (await isThere(from)) return linkOnce(from, to)
  }
}

/**
 * Moves the generations that release 0.1 recorded to the paths that packages have now: rollbacks to them work, and
 * deleted packages stay reachable for their hour. Idempotent; parts lost in a crash are rendered again.
 */
export async function upgradeStates(
  layout: Layout,
  { codename, format: id }: Distribution,
  format: Pick<Format, 'poolName'>,
): Promise<void> {
  function placeOf({ name, version, arch, path }: PoolFile): string {
    const source = path.split('/').at(-2) ?? name
    const place = format.poolName({ format: id, name, version, arch }, source, COMPONENT)
    return place.endsWith(path) ? place : path
  }
  async function upgradeCard(digest: string): Promise<void> {
    const path = join(layout.shards, digest.slice(0, 2), `${digest}.json`)
    const card = await read<Card>(path)
    if (card === undefined) return
    // distributions share pieces, so another one may have been here
    const files = card.schema === 2 ? card.files.map(file => ({ ...file, path: placeOf(file) })) : card.files
    for (const file of files) await moveIn(layout, codename, relPath(file.path))
    if (card.schema === 2) await writeAtomic(path, JSON.stringify({ ...card, schema: 3, files }))
  }
  for (const n of await listGenerations(layout, codename)) {
    const state = await read<Omit<GenerationState, 'schema'> & { readonly schema: number }>(
      stateFile(layout, codename, n),
    )
    if (state?.schema !== 2) continue
    for (const { digest } of Object.values(state.pieces).flat()) await upgradeCard(digest)
    const unlisted = await Promise.all(
      state.graves.map(async file => {
        const path = relPath(`${COMPONENT}/${file.path}`)
        return (await isThere(layout.published(codename, path))) ? { ...file, path } : file
      }),
    )
    await writeState(layout, codename, { ...state, schema: 3, graves: unlisted, made: {}, signed_by: '' })
  }
}
