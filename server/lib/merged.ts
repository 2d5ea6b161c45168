/** Yields what several sources give, whichever comes first. Ends with the last of them; ends all when it is left. */
export async function* merged<T>(sources: readonly AsyncGenerator<T>[]): AsyncGenerator<T> {
  const ask = async (source: AsyncGenerator<T>) => ({ source, result: await source.next() })
  const asked = new Map(sources.map(source => [source, ask(source)]))
  try {
    while (asked.size > 0) {
      const { source, result } = await Promise.race(asked.values())
      if (result.done === true) asked.delete(source)
      else {
        asked.set(source, ask(source))
        yield result.value
      }
    }
  } finally {
    // one that waits for its next value ends when that comes
    for (const source of asked.keys()) void source.return(undefined).catch(() => undefined)
  }
}
