import { statfs } from 'node:fs/promises'

const GB = 1024 ** 3
const rounded = (value: number): number => Math.round(value * 100) / 100

/** The figures of `df` for a disk. GB are 1024³ bytes. */
export interface Space {
  readonly freeBytes: number
  readonly usedBytes: number
  /** How many files more can be made; undefined where the disk sets no number. */
  readonly freeFiles: number | undefined
  readonly free_gb: number
  readonly total_gb: number
  readonly used_pct: number
}

/** Free and total space around a folder, as `df` counts it for users other than root. */
export async function space(path: string): Promise<Space> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path)
  const used = blocks - bfree
  return {
    freeBytes: bavail * bsize,
    usedBytes: used * bsize,
    freeFiles: files > 0 ? ffree : undefined,
    free_gb: rounded((bavail * bsize) / GB),
    total_gb: rounded((blocks * bsize) / GB),
    used_pct: used + bavail === 0 ? 0 : Math.round((used / (used + bavail)) * 1000) / 10,
  }
}
