import { randomUUID } from 'node:crypto'
import { rename, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { Codename } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import type { ListedFile } from '../formats/tree.ts'
import { swapLink } from '../lib/atomic.ts'
import { failpoint } from '../lib/failpoint.ts'
import type { FileStep } from '../lib/file-steps.ts'
import { contentsFile } from './contents.ts'
import type { GenerationDeps, Plan } from './generation-plan.ts'
import { recipePath } from '../files/recipes.ts'
import { carryIndex, draftIndex } from './index-files.ts'
import { verifyTree, writeRoot } from './root-files.ts'
import { hasRecipe, isFile, pointToShared, share } from './shared-files.ts'
import type { GenerationState } from './state.ts'

/** The result of building a generation. */
export interface Built {
  /** The files that the root names. */
  readonly files: readonly ListedFile[]
  /** The files of each index, by its id. */
  readonly made: GenerationState['made']
}

/** Takes in the files that another program wrote: computes their digests and links them by hash. */
async function adopt(
  { layout, joiner }: GenerationDeps,
  { distribution: { codename } }: Plan,
  { root, made }: { readonly root: string; readonly made: readonly Pick<ListedFile, 'path'>[] },
): Promise<ListedFile[]> {
  const files: ListedFile[] = []
  for (const { path } of made) {
    const { size } = await stat(join(root, path))
    const parts = [{ id: randomUUID(), path: join(root, path), size }]
    const [joined] = await joiner.join([{ key: `foreign ${codename}/${path}`, parts }])
    if (joined === undefined) throw new Error(`there is no digest of ${path}`)
    const file = { path, ...joined }
    files.push(file)
    await joiner.take(share(layout, codename, { root, file }))
  }
  return files
}

/** Links the files of an earlier generation. */
async function carry(
  { layout, writer, joiner }: GenerationDeps,
  { distribution }: Plan,
  { root, from, files, made }: { readonly root: string } & NonNullable<Plan['carried']>,
): Promise<ListedFile[]> {
  const { codename } = distribution
  const plans = writer.indexes(distribution).filter(({ addressed }) => addressed === 'path')
  const unshared = new Set(plans.flatMap(({ path, kinds }) => kinds.map(kind => `${path}${kind}`)))
  const recipes = writer.indexes(distribution).flatMap(({ id, path }) => (made[id]?.some(hasRecipe) ? [path] : []))
  const paths = [...files.filter(isFile).map(file => file.path), ...recipes.map(recipePath)]
  await joiner.take([
    ...paths.map((path): FileStep => ({
      do: 'link',
      from: join(layout.generation(codename, from), path),
      to: join(root, path),
    })),
    ...pointToShared(layout, codename, { root, files: files.filter(({ path }) => !unshared.has(path)) }),
  ])
  return [...files]
}

interface Laid {
  readonly made: Built['made']
  /** What makes the new files reachable. */
  readonly steps: readonly FileStep[]
}

/** Links the indexes that did not change, and joins the others. @param at.clear  the steps that go first */
async function layIndexes(
  deps: GenerationDeps,
  plan: Plan,
  { root, clear }: { readonly root: string; readonly clear: readonly FileStep[] },
): Promise<Laid> {
  const { writer, joiner } = deps
  const indexes = writer.indexes(plan.distribution)
  const carried = new Map(
    indexes.flatMap(index => {
      const known = carryIndex(deps, plan, { plan: index, root })
      return known === undefined ? [] : [[index.id, known]]
    }),
  )
  try {
    await joiner.take([...clear, ...[...carried.values()].flatMap(({ steps }) => steps)])
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // the live generation has lost some of its files: all are written again
    carried.clear()
    await joiner.take(clear)
  }
  const drafts = await Promise.all(
    indexes
      .filter(({ id }) => !carried.has(id))
      .map(async index => ({ id: index.id, ...(await draftIndex(deps, plan, { plan: index, root })) })),
  )
  const joined = [...(await joiner.join(drafts.flatMap(({ joins }) => joins)))]
  const fresh = new Map(drafts.map(({ id, joins, finish }) => [id, finish(joined.splice(0, joins.length))]))
  return {
    made: Object.fromEntries(indexes.map(({ id }) => [id, (carried.get(id) ?? fresh.get(id))?.files ?? []])),
    steps: [...fresh.values()].flatMap(({ steps }) => steps),
  }
}

/**
 * Builds `<n>.e<epoch>.part`, checks it and renames it to `<n>`. Nothing that clients see changes yet. */
export async function buildGeneration(deps: GenerationDeps, plan: Plan): Promise<Built> {
  const { layout, joiner } = deps
  const { distribution, contents } = plan
  const folder = layout.generation(distribution.codename, plan.n)
  // no other generation has this number, and no other leader this name
  const root = `${folder}.e${deps.epoch}.part`
  const clear: readonly FileStep[] = [
    { do: 'remove', path: root },
    { do: 'folder', path: root },
  ]
  const files: ListedFile[] = []
  const steps: FileStep[] = []
  let made: Built['made'] = {}
  if (plan.carried === undefined && deps.foreign === undefined) {
    const laid = await layIndexes(deps, plan, { root, clear })
    made = laid.made
    steps.push(...laid.steps)
    files.push(...Object.values(made).flat())
  } else {
    await joiner.take(clear)
    if (plan.carried !== undefined) {
      files.push(...(await carry(deps, plan, { root, ...plan.carried })))
      made = plan.carried.made
    } else files.push(...(await adopt(deps, plan, { root, made: (await deps.foreign?.(root)) ?? [] })))
  }
  for (const file of plan.carried === undefined ? contents : []) {
    const from = contentsFile(layout, distribution.codename, file.sha256)
    steps.push({ do: 'link', from, to: join(root, file.path) }, ...share(layout, distribution.codename, { root, file }))
    files.push(file)
  }
  await joiner.take(steps)
  const listed = files.sort((a, b) => (a.path < b.path ? -1 : 1))
  const carried = await writeRoot(deps, plan, { root, files: listed })
  failpoint('publish:before-verify')
  await verifyTree(deps, plan, { root, files: listed, carried })
  failpoint('publish:before-rename')
  await rename(root, folder)
  return { files: listed, made }
}

/**
 * Makes generation `n` the one that clients see, by one rename of a link. Bytes are not forced to the disk here: a
 * start after a power cut checks the live trees and builds a damaged one again (`publisher.repair`).
 */
export async function goLive(
  layout: Pick<Layout, 'live' | 'generation'>,
  codename: Codename,
  n: number,
): Promise<void> {
  failpoint('publish:before-swap')
  const link_ = layout.live(codename)
  await swapLink(relative(dirname(link_), layout.generation(codename, n)), link_)
  failpoint('publish:after-swap')
}
