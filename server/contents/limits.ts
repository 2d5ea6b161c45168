/** What one package may cost. The clock is no limit: a busy machine must find what a quiet one does. */
export interface Limits {
  /** Of everything that is unpacked from archives inside the package. */
  readonly inflatedBytes: number
  /** How often a packed file may unpack to its own size, once it is larger than `ratioFromBytes`. */
  readonly ratio: number
  readonly ratioFromBytes: number
  /** Of all files together, as often as somebody reads them. */
  readonly readBytes: number
  /** Of one archive. */
  readonly entries: number
  /** Of the package with all its archives. */
  readonly files: number
  readonly depth: number
  /** Up to this size a file is held in memory. */
  readonly memoryBytes: number
  /** The largest file that is held, in memory or on disk. */
  readonly fileBytes: number
  readonly components: number
  /** Of the processor. */
  readonly cpuSeconds: number
}

export const LIMITS: Limits = {
  inflatedBytes: 2 * 2 ** 30,
  readBytes: 16 * 2 ** 30,
  ratio: 200,
  ratioFromBytes: 16 * 2 ** 20,
  entries: 100_000,
  files: 1_000_000,
  depth: 8,
  memoryBytes: 8 * 2 ** 20,
  fileBytes: 2 * 2 ** 30,
  components: 50_000,
  cpuSeconds: 120,
}
