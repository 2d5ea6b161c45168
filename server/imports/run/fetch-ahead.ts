import { isRefusal } from '../../core/errors.ts'
import type { Item } from './planned.ts'

/** A package whose file has come, or not. `isLeft`: it was not asked for. */
export type FetchedItem =
  | { readonly item: Item; readonly path: string; readonly isLeft?: never }
  | { readonly item: Item; readonly path: undefined; readonly why: string; readonly isLeft?: true }

export interface FetchOptions {
  readonly download: (item: Item) => Promise<string>
  /** Asked before each file, one after the other; once true, nothing more is fetched. */
  readonly isLeft: (item: Item) => Promise<boolean>
  /** Whether a file that did not come is left for that, and all behind it. */
  readonly isOver: (error: unknown) => boolean
  readonly signal: AbortSignal
}

/** So many files are fetched at once, and so many bytes wait at most, so that the gate is never far behind. */
const FILES = 4
const BYTES = 2 ** 30

/**
 * Fetches the files of these packages some steps ahead, and gives them in their order. A file that cannot be had is
 * given with the reason. @throws the signal's reason, and what is no refusal
 */
export async function* fetchAhead(
  items: readonly Item[],
  { download, isLeft, isOver, signal }: FetchOptions,
): AsyncGenerator<FetchedItem> {
  const under: { readonly size: number; readonly work: Promise<FetchedItem> }[] = []
  let next = 0
  let over: Promise<boolean> = Promise.resolve(false)

  async function fetch(item: Item): Promise<FetchedItem> {
    over = over.then(async wasOver => wasOver || isLeft(item))
    try {
      if (await over) return { item, path: undefined, why: '', isLeft: true }
      return { item, path: await download(item) }
    } catch (error) {
      signal.throwIfAborted()
      if (isOver(error)) return { item, path: undefined, why: '', isLeft: true }
      if (!isRefusal(error)) throw error
      return { item, path: undefined, why: error.message }
    }
  }

  const waiting = (): number => under.reduce((sum, { size }) => sum + size, 0)
  function fill(): void {
    for (let item = items[next]; item !== undefined; item = items[next]) {
      if (under.length >= FILES || (under.length > 0 && waiting() + item.size > BYTES)) return
      const work = fetch(item)
      // it is awaited in its turn; until then its failure is nobody's
      work.catch(() => undefined)
      under.push({ size: item.size, work })
      next++
    }
  }

  for (fill(); under.length > 0; fill()) {
    const first = under.shift()
    if (first !== undefined) yield await first.work
  }
}
