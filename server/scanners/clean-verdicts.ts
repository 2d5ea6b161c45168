import type { Sha256 } from '../core/identity.ts'
import type { EngineStatus } from './scanner.ts'

/** So many layers are remembered: each takes 200 bytes. */
const MOST = 20_000

/**
 * What an engine found clean, by digest and version of its signatures: layers come again with every image that is built
 * on them. Only clean ones are kept: others are looked at again.
 */
export interface CleanVerdicts {
  /** @param signatures  `signaturesOf`; undefined: nothing is known of what it looked with */
  has(digest: Sha256, signatures: string | undefined): boolean
  add(digest: Sha256, signatures: string | undefined): void
}

/** The version of engine and signatures, asked for before the scan: one loaded meanwhile counts from the next on. */
export function signaturesOf({ ok, version, signatures_version }: EngineStatus): string | undefined {
  return ok && signatures_version !== undefined ? `${version ?? ''} ${signatures_version}` : undefined
}

/** Makes the memory of one engine; it is empty after a start. */
export function createCleanVerdicts(most: number = MOST): CleanVerdicts {
  const known = new Map<Sha256, string>()
  return {
    has: (digest, signatures) => signatures !== undefined && known.get(digest) === signatures,
    add(digest, signatures) {
      if (signatures === undefined) return
      known.delete(digest)
      known.set(digest, signatures)
      const [oldest] = known.keys()
      if (known.size > most && oldest !== undefined) known.delete(oldest)
    },
  }
}
