import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import type { Inspection } from '../format.ts'
import { refuse } from '../refuse.ts'
import { documentsOf } from './documents.ts'
import type { NpmFacts } from './facts.ts'
import { describe, identityOf, keywordsOf, parsePackageJson } from './package-json.ts'
import { readTarball } from './tarball.ts'

/**
 * Identity, needs, facts and file list of a tarball of npm, in one pass.
 * @throws bad_package naming what breaks which rule; the signal's reason when it is aborted
 */
export async function inspect(
  file: SpooledFile,
  signal: AbortSignal,
  unpacked?: Pick<Unpacked, 'keep'>,
): Promise<Inspection<NpmFacts>> {
  try {
    const { packageJson, paths, fileCount, unpackedSize } = await readTarball(file, signal, unpacked)
    const json = parsePackageJson(packageJson)
    const identity = identityOf(json)
    const about = describe(json, identity, unpackedSize)
    const facts = { ...documentsOf(json, identity, paths), fileCount, unpackedSize, keywords: keywordsOf(json) }
    return { identity, about, facts, paths }
  } catch (error) {
    return refuse(file.filename, error)
  }
}
