import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { join } from 'node:path'
import type { Codename } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import type { GenerationState } from './state.ts'

/** SHA-256 of a file, or undefined when it cannot be read. */
export async function digestOf(path: string): Promise<string | undefined> {
  const hash = createHash('sha256')
  try {
    await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash)
    return hash.digest('hex')
  } catch {
    return undefined
  }
}

/**
 * True when every file that the live root names is there with its digest: a power cut can leave names without their
 * bytes.
 */
export async function isLiveTreeIntact(
  layout: Pick<Layout, 'generation'>,
  codename: Codename,
  { n, files }: GenerationState,
): Promise<boolean> {
  for (const file of files)
    if ((await digestOf(join(layout.generation(codename, n), file.path))) !== file.sha256) return false
  return true
}
