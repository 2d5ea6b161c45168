import { join } from 'node:path'
import type { Codename } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import { sha256Of } from '../lib/digest-file.ts'
import type { GenerationState } from './state.ts'

/** SHA-256 of a file, or undefined when it cannot be read. */
export const digestOf = (path: string): Promise<string | undefined> => sha256Of(path).catch(() => undefined)

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
