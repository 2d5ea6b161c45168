import type { ImportKey } from './key-store.ts'

const WARN_MS = 60 * 86_400_000

/** Keys whose end is near or past, in sentences. */
export function warnOfKeys(keys: readonly ImportKey[], now: Date): string[] {
  return keys.flatMap(({ label, name, expiresAt, acceptedUntil }) => {
    if (expiresAt === undefined || expiresAt.getTime() - now.getTime() > WARN_MS) return []
    const day = expiresAt.toISOString().slice(0, 10)
    if (expiresAt > now) return [`The key of ${label} (${name}) ends on ${day}. Add its owner's renewed copy before.`]
    if (acceptedUntil !== undefined && acceptedUntil > now) {
      const until = acceptedUntil.toISOString().slice(0, 10)
      return [`The key of ${label} (${name}) ended on ${day} and is accepted until ${until}.`]
    }
    return [`The key of ${label} (${name}) ended on ${day}. Add its owner's renewed copy, or accept it until a day.`]
  })
}
