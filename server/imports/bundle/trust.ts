import { trustKeys } from '../../signing/trusted-keys.ts'
import type { Head } from './signed-head.ts'

/** Keys of another installation that an admin pinned. Fingerprints in upper case. */
export interface Pinned {
  readonly fingerprints: readonly string[]
  /** Armoured; null where only the fingerprint is known: then the key that came along must have it. */
  readonly key: string | null
}

export type Signed =
  /** By this fingerprint, which is pinned. */
  | { readonly by: string }
  /** By keys that came along and that nobody pinned. */
  | { readonly unknown: readonly string[] }
  | { readonly why: string }

const DAY_MS = 86_400_000

/** The fingerprints of the keys that made the signature, whoever they are. */
async function signers(head: Head, keys: readonly string[], createdAt: string, now: Date) {
  // the clock of a machine without a network may be behind that of the sender
  const at = new Date(Math.max(now.getTime(), Date.parse(createdAt) + DAY_MS))
  const trusted = await trustKeys({ openpgp: keys, rsa: new Map(), now: () => at })
  return trusted.detached(head.list, Buffer.from(head.signature))
}

/** Whether one of the pinned keys signed the list. @param createdAt  what the list says; ISO 8601 */
export async function checkSigned(
  head: Head,
  pinned: readonly Pinned[],
  { createdAt, now }: { readonly createdAt: string; readonly now: Date },
): Promise<Signed> {
  const keys = [...pinned.flatMap(({ key }) => key ?? []), head.keys]
  const seen = await signers(head, keys, createdAt, now)
  if ('why' in seen) return { why: seen.why }
  const fingerprints = new Set(pinned.flatMap(one => one.fingerprints))
  const by = seen.by.find(one => fingerprints.has(one))
  return by === undefined ? { unknown: seen.by } : { by }
}

/** `7C1F 22B8 …`: as people compare it. */
export const printFingerprint = (fingerprint: string): string => fingerprint.replace(/.{4}(?=.)/g, '$& ')
