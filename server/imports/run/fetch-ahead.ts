import { isRefusal } from '../../core/errors.ts'
import type { Item } from './planned.ts'

/** A package whose file has come, or not. */
export type FetchedItem =
  | { readonly item: Item; readonly path: string }
  | { readonly item: Item; readonly path: undefined; readonly why: string }

/** So many files are fetched at once, and so many bytes wait at most, so that the gate is never far behind. */
const FILES = 4
const BYTES = 2 ** 30

/**
 * Fetches the files of these packages some steps ahead, and gives them in their order. A file that cannot be had is
 * given with the reason. @throws the signal's reason, and what is no refusal
 */
export async function* fetchAhead(
  items: readonly Item[],
  download: (item: Item) => Promise<string>,
  signal: AbortSignal,
): AsyncGenerator<FetchedItem> {
  const under: { readonly size: number; readonly work: Promise<FetchedItem> }[] = []
  let next = 0

  async function fetch(item: Item): Promise<FetchedItem> {
    try {
      return { item, path: await download(item) }
    } catch (error) {
      signal.throwIfAborted()
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
