/** Works on all items, so many at once. The first failure ends it once those under way have ended. */
export async function inLanes<Item>(
  lanes: number,
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const waiting = items[Symbol.iterator]()
  let failed: { readonly error: unknown } | undefined
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const item of waiting) {
        if (failed !== undefined) return
        try {
          await work(item)
        } catch (error) {
          failed ??= { error }
        }
      }
    }),
  )
  if (failed !== undefined) throw failed.error
}
