/**
 * Foreign bytes break a rule. Readers under `lib/` throw it; `why` names the thing and the rule. The caller, who knows
 * the name of the file, turns it into a refusal.
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

/** Foreign text made safe for a message: quoted, escaped and cut at 80 characters. */
export function quote(text: string): string {
  const cut = text.length > 80 ? `${text.slice(0, 77)}...` : text
  return JSON.stringify(cut)
}

/** A limit as messages print it: `8 GiB`, `32 MiB`, `1000 bytes`. */
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
 * @throws Malformed as soon as it is longer than `limitBytes`; nothing is cut off silently
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
