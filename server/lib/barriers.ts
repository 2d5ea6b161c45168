/** Paths below which nothing may lie. */
export interface Barriers {
  add(path: string): void
  /**
   * Returns the barrier above this path, if there is one. Passes over the characters once: slicing out each parent
   * folder would be quadratic.
   */
  above(path: string): string | undefined
}

const SLASH = 0x2f
const BEGIN = 0x811c9dc5
// FNV-1a, 32 bits. A collision only costs a look at the path itself.
const step = (hash: number, code: number): number => Math.imul(hash ^ code, 0x01000193)

/** An empty set of paths. */
export function createBarriers(): Barriers {
  const paths = new Set<string>()
  const hashes = new Set<number>()
  return {
    add(path) {
      let hash = BEGIN
      for (let at = 0; at < path.length; at++) hash = step(hash, path.charCodeAt(at))
      paths.add(path)
      hashes.add(hash)
    },
    above(path) {
      if (paths.size === 0) return undefined
      let hash = BEGIN
      for (let at = 0; at < path.length; at++) {
        const code = path.charCodeAt(at)
        if (code === SLASH && hashes.has(hash) && paths.has(path.slice(0, at))) return path.slice(0, at)
        hash = step(hash, code)
      }
      return undefined
    },
  }
}
