/**
 * Bytes of somebody else's that break a rule. Readers under `lib/` throw it; `why` names the thing and the rule, and
 * whoever knows the file's name makes the refusal of it.
 */
export class Malformed extends Error {
  readonly why: string

  constructor(why: string, cause?: unknown) {
    super(why, cause === undefined ? {} : { cause })
    this.name = 'Malformed'
    this.why = why
  }
}

/** @throws Malformed, always */
export function malformed(why: string, cause?: unknown): never {
  throw new Malformed(why, cause)
}

/** Text of somebody else's, safe inside a message: quoted, escaped and cut at 80 characters. */
export function quote(text: string): string {
  const cut = text.length > 80 ? `${text.slice(0, 77)}...` : text
  return JSON.stringify(cut)
}

/** `8 GiB`, `32 MiB`, `1000 bytes`: a limit as a message names it. */
export function printBytes(bytes: number): string {
  for (const [unit, size] of [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 2 ** 10],
  ] as const) {
    if (bytes >= size && bytes % size === 0) return `${bytes / size} ${unit}`
  }
  return `${bytes} bytes`
}

/**
 * Passes a stream on and counts it.
 * @throws Malformed as soon as it is longer than `limitBytes`; nothing is ever cut off in silence
 */
export async function* limited(
  source: AsyncIterable<Buffer>,
  limitBytes: number,
  what: string,
): AsyncGenerator<Buffer> {
  let seen = 0
  for await (const chunk of source) {
    seen += chunk.length
    if (seen > limitBytes)
      malformed(`${what} unpacks to more than ${printBytes(limitBytes)}, the most a package may hold`)
    yield chunk
  }
}

/** Throws when the caller gave up, or when the work took longer than its budget. */
export interface Deadline {
  /** @throws the signal's reason, or Malformed */
  check(): void
}

/** Measures with the monotonic clock, so that a change of the system's time does not refuse a package. */
export function createDeadline(signal: AbortSignal, seconds: number): Deadline {
  const end = performance.now() + seconds * 1000
  return {
    check() {
      signal.throwIfAborted()
      if (performance.now() > end) malformed(`unpacking it took longer than ${seconds} s, the most a package may take`)
    },
  }
}
