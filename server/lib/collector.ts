/** True when all bytes are zero; also for none. */
export function isZero(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 0) return false
  return true
}

/** Collects bytes that are needed as a whole from the chunks they come in. */
export interface Collector {
  /** The next `size` bytes from `at`, once they are all there, and where to go on. */
  take(chunk: Buffer, at: number, size: number): { readonly whole?: Buffer; readonly next: number }
  /** True when nothing is half collected. */
  isEmpty(): boolean
}

export function createCollector(): Collector {
  let held: Buffer[] = []
  let heldBytes = 0
  return {
    take(chunk, at, size) {
      const piece = chunk.subarray(at, at + size - heldBytes)
      const next = at + piece.length
      if (heldBytes === 0 && piece.length === size) return { whole: piece, next }
      held.push(piece)
      heldBytes += piece.length
      if (heldBytes < size) return { next }
      const whole = Buffer.concat(held)
      held = []
      heldBytes = 0
      return { whole, next }
    },
    isEmpty: () => heldBytes === 0,
  }
}
