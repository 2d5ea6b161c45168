import { fail } from '../core/errors.ts'
import { createLanes, type Lane, type Lanes } from '../lib/lanes.ts'

const MIB = 2 ** 20
/** Seconds after which a refused sender may try again. */
const RETRY_AFTER = 60

/**
 * How many packages are unpacked at once, by their size. A decoder holds up to 128 MiB; two of the largest keep two
 * processors busy. Most packages are small and have lanes of their own.
 */
const LANES: readonly Lane[] = [
  { upToBytes: 4 * MIB, atOnce: 8, mostWaiting: 2_000 },
  { upToBytes: 64 * MIB, atOnce: 3, mostWaiting: 500 },
  { upToBytes: Infinity, atOnce: 2, mostWaiting: 100 },
]

/**
 * The queue before unpacking. A package may wait as long as it takes: time is the machine's fault, never the package's.
 * @throws from `run`: unpacking_full
 */
export function createUnpacking(lanes = LANES): Lanes {
  return createLanes(lanes, waiting => fail('unpacking_full', { waiting, retry_after: RETRY_AFTER }))
}
