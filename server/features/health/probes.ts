import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { space } from '../../lib/disk-space.ts'
import { systemErrorInWords } from '../../lib/system-errors.ts'

/** The result that all probes share. */
export interface Probe {
  readonly ok: boolean
  readonly error?: string
  /** What it means for the users, where it is not well. */
  readonly effect?: string
  /** The way out, likewise. */
  readonly remedy?: string
}

export interface DiskProbe extends Probe {
  readonly path: string
  readonly free_gb?: number
  readonly total_gb?: number
  readonly used_pct?: number
}

/** Below this a folder counts as full: one more manifest or database page may not fit. */
const LEAST_FREE_BYTES = 16 * 1024 * 1024
/** Likewise of files: an upload makes some twenty. */
const LEAST_FREE_FILES = 200

/** The public part of an error. Its message may hold an address or a path. */
export const publicReason = (error: unknown): string => systemErrorInWords(error) ?? 'it failed'

/** Runs a probe for at most `ms`. An error, or silence, becomes `ok: false`. The probe itself is not stopped. */
export async function within<T extends Probe>(
  ms: number,
  probe: () => Promise<T>,
): Promise<T | (Probe & { readonly ok: false })> {
  const { promise: late, resolve } = Promise.withResolvers<Probe & { readonly ok: false }>()
  const timer = setTimeout(() => resolve({ ok: false, error: `no answer within ${ms} ms` }), ms)
  try {
    return await Promise.race([probe(), late])
  } catch (error) {
    return { ok: false, error: publicReason(error) }
  } finally {
    clearTimeout(timer)
  }
}

/** A folder that must be there, writable and not full. Writes nothing. */
export async function probeFolder(path: string): Promise<DiskProbe> {
  try {
    if (!(await stat(path)).isDirectory()) return { ok: false, path, error: 'ENOTDIR' }
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
    const { freeBytes, freeFiles = Infinity, usedBytes: _, ...sizes } = await space(path)
    if (freeBytes < LEAST_FREE_BYTES) return { ok: false, path, ...sizes, error: 'the disk is full' }
    if (freeFiles < LEAST_FREE_FILES)
      return { ok: false, path, ...sizes, error: 'the disk takes no more files: it has no inodes left' }
    return { ok: true, path, ...sizes }
  } catch (error) {
    return { ok: false, path, error: publicReason(error) }
  }
}
