import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Layout } from './layout.ts'

/**
 * How an index is joined from the pieces in `trees/.shards/`, in each of its forms: `.<name>.parts` beside the name
 * that clients ask for. It takes a hundredth of the room: indexes of the last hour, and the plain form, need no file.
 */
export interface Recipe {
  readonly schema: 1
  readonly forms: readonly RecipeForm[]
  /** Digests of the pieces, in order. */
  readonly pieces: readonly string[]
}

/** One form of an index. */
export interface RecipeForm {
  /** `''`, `.gz`, `.xz`, `.zst`. */
  readonly kind: string
  /** The names under which clients ask for it, without folders. */
  readonly names: readonly string[]
  readonly size: number
  readonly sha256: string
  /** What stands before the pieces and after them, in Base64. */
  readonly head: string
  readonly tail: string
}

/** A form, and the pieces it is made of. */
export interface Joinable extends RecipeForm {
  readonly pieces: readonly string[]
}

/** Where the recipe of a file lies: a name that is never served. */
export const recipePath = (path: string): string => join(dirname(path), `.${basename(path)}.parts`)

/** A file of a piece of an index. @param kind  as in a form, or `.json` for its card */
export const pieceFile = ({ shards }: Pick<Layout, 'shards'>, digest: string, kind: string): string =>
  join(shards, digest.slice(0, 2), `${digest}${kind === '' ? '.txt' : kind}`)

/** How to join the file that is missing at this path; undefined when there is no recipe for it. */
export async function readRecipe(path: string): Promise<Joinable | undefined> {
  try {
    const { schema, forms, pieces } = JSON.parse(await readFile(recipePath(path), 'utf8')) as Recipe
    const form = forms.find(({ names }) => names.includes(basename(path)))
    return schema !== 1 || form === undefined ? undefined : { ...form, pieces }
  } catch {
    return undefined // never there, or torn by a power cut
  }
}

/** The bytes of a joined file. @throws Error when a piece is missing, or the size is not what the recipe says */
export async function* readJoined(
  layout: Pick<Layout, 'shards'>,
  { kind, head, tail, pieces, size }: Joinable,
): AsyncGenerator<Buffer> {
  const [first, last] = [Buffer.from(head, 'base64'), Buffer.from(tail, 'base64')]
  let read = first.length + last.length
  if (first.length > 0) yield first
  for (const digest of pieces) {
    const bytes = await readFile(pieceFile(layout, digest, kind))
    read += bytes.length
    yield bytes
  }
  if (last.length > 0) yield last
  if (read !== size) throw new Error(`an index joined from pieces has ${read} bytes, ${size} were expected`)
}
