/** A name as it is compared with names elsewhere: what other registries take for the same is the same. */
export type NameKey = (name: string) => string

/** Registries refuse names that differ from others in case alone. */
export const plainKey: NameKey = name => name.toLowerCase()

const PATTERN = /^[a-z0-9@_][a-z0-9@_./:+~-]{0,198}\*?$/i

/** Why this cannot name what belongs to the house, or undefined. */
export function complainPattern(pattern: string): string | undefined {
  return PATTERN.test(pattern) && pattern !== '@*'
    ? undefined
    : 'a name is wanted, or how names begin with one * at the end: @ours/*, com.ours.*, ours-*'
}

/**
 * Whether a name belongs to a pattern: it is the name, or begins as the part before its `*` does. `com.ours.*` holds
 * the group `com.ours` and all below it.
 */
export function matchesPattern(keyOf: NameKey, pattern: string, name: string): boolean {
  const key = keyOf(name)
  if (!pattern.endsWith('*')) return keyOf(pattern) === key
  const begin = pattern.slice(0, -1)
  if (begin.endsWith('.') && key.startsWith(keyOf(`${begin.slice(0, -1)}:`))) return true
  return key.startsWith(keyOf(begin))
}
