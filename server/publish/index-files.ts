import { basename, dirname, join } from 'node:path'
import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import { relPath } from '../core/identity.ts'
import { recipePath, type Recipe, type RecipeForm } from '../files/recipes.ts'
import type { Shard } from '../formats/shards.ts'
import type { IndexPlan, IndexKind, ListedFile } from '../formats/tree.ts'
import type { FileStep } from '../lib/file-steps.ts'
import { XZ_FLAGS, xzHeader, xzTail } from '../lib/xz-stream.ts'
import type { GenerationDeps, Plan } from './generation-plan.ts'
import type { Pieces } from './indexes.ts'
import type { Joined, JoinOrder, Part } from './joiner.ts'
import type { ShardCache } from './shard-cache.ts'
import { hasRecipe, isFile, pointToShared, share, sharedPaths, shareRecipe } from './shared-files.ts'

/** For a line or two: otherwise most of the time goes into tables of 256 KB. */
const SMALL = { windowBits: 9, memLevel: 1 }

/** The text before and after the entries, compressed so that it can be joined to pieces. */
const PACK: Record<Exclude<IndexKind, '.xz'>, (text: string) => Buffer> = {
  '': Buffer.from,
  '.gz': text => gzipSync(text, SMALL),
  '.deflate': text => deflateRawSync(text, { ...SMALL, finishFlush: constants.Z_FULL_FLUSH }),
}

async function partsOf(
  cache: ShardCache,
  plan: IndexPlan,
  { shards, kind }: { readonly shards: readonly Shard[]; readonly kind: IndexKind },
): Promise<Part[]> {
  const cards = await Promise.all(
    shards.map(async ({ digest }) => ({ digest, packed: await cache.packed(digest, kind) })),
  )
  const parts = cards.map(({ digest, packed }): Part => ({
    id: digest,
    path: cache.path(digest, kind),
    size: packed.size,
  }))
  if (kind === '.xz') {
    const flags = cards[0]?.packed.xz === undefined ? XZ_FLAGS : Buffer.from(cards[0].packed.xz.flags, 'hex')
    return [
      { id: 'header', bytes: xzHeader(flags) },
      ...parts,
      {
        id: 'tail',
        bytes: xzTail(
          flags,
          cards.flatMap(({ packed }) => packed.xz?.blocks ?? []),
        ),
      },
    ]
  }
  const { head, tail } = plan.frame?.(shards.reduce((sum, shard) => sum + shard.entries, 0)) ?? { head: '', tail: '' }
  // an empty file is not a gzip or zstd file
  const framed = (text: string): Part[] =>
    text === '' && (kind === '' || parts.length > 0) ? [] : [{ id: `frame ${text}`, bytes: PACK[kind](text) }]
  return [...framed(head), ...parts, ...(tail === '' ? [] : framed(tail))]
}

/** What of an index lies in the folder of its generation: its files, and its recipe. */
function pathsOf({ path }: Pick<IndexPlan, 'path'>, files: readonly ListedFile[]): readonly string[] {
  const real = files.filter(isFile).map(file => file.path)
  return files.some(hasRecipe) ? [...real, recipePath(path)] : real
}

/** The bytes that stand before the pieces, or after them, in Base64. */
function around(parts: readonly Part[], side: 'head' | 'tail'): string {
  const at = side === 'head' ? parts.findIndex(part => 'path' in part) : parts.findLastIndex(part => 'path' in part) + 1
  const some = side === 'tail' ? parts.slice(at) : at < 0 ? [] : parts.slice(0, at)
  return Buffer.concat(some.flatMap(part => ('bytes' in part ? [part.bytes] : []))).toString('base64')
}

const digests = (shards: Pieces[string] = []): string => shards.map(({ digest }) => digest).join(' ')

/**
 * The files of an index in the live generation if it has the same pieces, and the steps that link them.
 * @returns undefined when it has not
 */
export function carryIndex(
  { layout }: Pick<GenerationDeps, 'layout'>,
  { distribution: { codename }, pieces, live }: Plan,
  { plan, root }: { readonly plan: IndexPlan; readonly root: string },
): { readonly files: readonly ListedFile[]; readonly steps: readonly FileStep[] } | undefined {
  const files = live?.made[plan.id]
  if (live === undefined || files?.length !== plan.kinds.length || live.pieces[plan.id] === undefined) return undefined
  if (digests(live.pieces[plan.id]) !== digests(pieces[plan.id])) return undefined
  const folder = layout.generation(codename, live.n)
  const links = pathsOf(plan, files).map((path): FileStep => ({
    do: 'link',
    from: join(folder, path),
    to: join(root, path),
  }))
  const shared = plan.addressed === 'path' ? [] : pointToShared(layout, codename, { root, files })
  return { files, steps: [...links, ...shared] }
}

/** An index that is still to be joined. */
export interface Draft {
  readonly joins: readonly JoinOrder[]
  /** @param joined  the answers to `joins`, in order. @returns its files, and the steps that make them reachable */
  finish(joined: readonly Joined[]): { readonly files: readonly ListedFile[]; readonly steps: readonly FileStep[] }
}

/** One form of an index: the order to join it, and the name it has until its digest is known. */
interface DraftForm {
  readonly kind: IndexKind
  readonly asked: string
  /** True where it is joined only when somebody asks for it. */
  readonly isOnly: boolean
  readonly parts: readonly Part[]
  readonly order: JoinOrder
}

/** One index in all its forms, from its pieces. */
export async function draftIndex(
  { layout, cache }: Pick<GenerationDeps, 'layout' | 'cache'>,
  { distribution: { codename }, pieces, live }: Plan,
  { plan, root }: { readonly plan: IndexPlan; readonly root: string },
): Promise<Draft> {
  const shards = pieces[plan.id] ?? []
  // roots whose file names contain the digest also name the digest of the unpacked file
  const plain: readonly JoinOrder[] =
    plan.addressed !== 'name'
      ? []
      : [{ key: `${codename}/${plan.path}`, parts: await partsOf(cache, plan, { shards, kind: '' }) }]
  const forms: DraftForm[] = []
  for (const [n, kind] of plan.kinds.entries()) {
    const asked = `${plan.path}${kind}`
    const was = live?.made[plan.id]?.[n]
    const isOnly = kind === '' && plan.joinsPlain === true
    const parts = await partsOf(cache, plan, { shards, kind })
    const order: JoinOrder = {
      key: `${codename}/${asked}`,
      ...(isOnly ? {} : { out: join(root, asked) }),
      was: was && live && { path: join(layout.generation(codename, live.n), was.path), sha256: was.sha256 },
      parts,
    }
    forms.push({ kind, asked, isOnly, parts, order })
  }
  return {
    joins: [...plain, ...forms.map(({ order }) => order)],
    finish(answers) {
      const unpacked = plan.addressed === 'name' ? answers[0] : undefined
      const joined = answers.slice(plain.length)
      const files = forms.flatMap((form, n) => listedAs(plan, form, { joined: joined[n], plain: unpacked }))
      const moves = forms.flatMap(({ asked }, n): FileStep[] => {
        const path = files[n]?.path ?? asked
        return path === asked ? [] : [{ do: 'move', from: join(root, asked), to: join(root, path) }]
      })
      if (plan.addressed === 'path') return { files, steps: moves }
      const recipe: Recipe = {
        schema: 1,
        forms: forms.flatMap((form, n) => recipeForm(form, files[n])),
        pieces: shards.map(({ digest }) => digest),
      }
      const path = join(root, recipePath(plan.path))
      return {
        files,
        steps: [
          ...moves,
          ...files.flatMap(file => share(layout, codename, { root, file })),
          { do: 'write', path, bytes: JSON.stringify(recipe) },
          ...shareRecipe(layout, codename, { recipe: path, files }),
        ],
      }
    },
  }
}

/** The file as its root names it. */
function listedAs(
  { addressed }: IndexPlan,
  { asked, isOnly }: DraftForm,
  { joined, plain }: { readonly joined: Joined | undefined; readonly plain: Joined | undefined },
): ListedFile[] {
  if (joined === undefined) return []
  const path = addressed === 'name' ? join(dirname(asked), `${joined.sha256}-${basename(asked)}`) : asked
  return [
    {
      path: relPath(path),
      ...joined,
      ...(plain === undefined ? {} : { plain: { size: plain.size, sha256: plain.sha256 } }),
      ...(addressed === 'path' ? {} : { recipe: isOnly ? 'only' : 'beside' }),
    },
  ]
}

function recipeForm({ kind, parts }: DraftForm, file: ListedFile | undefined): RecipeForm[] {
  if (file === undefined) return []
  const names = [file.path, ...sharedPaths(file)].map(one => basename(one))
  const { size, sha256 } = file
  return [{ kind, names, size, sha256, head: around(parts, 'head'), tail: around(parts, 'tail') }]
}
