/** Numbers that are the same on every run, so that a failure can be had again. */
export interface Random {
  /** At least 0, less than `limit`. */
  below(limit: number): number
  pick<T>(list: readonly T[]): T
}

/** @param seed  any number but 0. Marsaglia's xorshift of 32 bits */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const below = (limit: number): number => {
    state ^= state << 13
    state >>>= 0
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state % limit
  }
  return {
    below,
    pick(list) {
      const found = list[below(list.length)]
      if (found === undefined) throw new Error('there is nothing to pick from')
      return found
    },
  }
}
