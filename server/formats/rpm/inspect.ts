import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import { unpack } from '../../lib/decompress.ts'
import { limited } from '../../lib/limited.ts'
import type { Inspection } from '../format.ts'
import { refuse } from '../refuse.ts'
import { algorithmOf } from './digests.ts'
import { describe, factsOf, identityOf } from './describe.ts'
import type { RpmFacts } from './facts.ts'
import { PAYLOAD_BYTES, readFiles } from './files.ts'
import { scriptsOf } from './inner.ts'
import { isDebug, SOURCE } from './kind.ts'
import type { RpmPackage } from './package.ts'
import { openRpm } from './package.ts'
import { createPayloadReader } from './payload.ts'
import { readSignature } from './signature.ts'
import { TAG } from './tags.ts'

/** The digest algorithm of files when the header names none. */
const MD5 = 1

async function look(
  rpm: RpmPackage,
  path: string,
  { signal, unpacked }: { readonly signal: AbortSignal; readonly unpacked: Pick<Unpacked, 'keep'> | undefined },
): Promise<Inspection<RpmFacts>> {
  signal.throwIfAborted()
  const identity = identityOf(rpm.header)
  const files = readFiles(rpm.header)
  // checked now, so that no engine gets a package whose scripts it cannot see
  scriptsOf(rpm.header)
  const payload = createPayloadReader(
    files,
    algorithmOf(rpm.header.number(TAG.filedigestalgo) ?? MD5, 'digests of files'),
  )
  let archive = 0
  const chunks = limited(unpack(rpm.payload), PAYLOAD_BYTES, rpm.payload.what)
  for await (const chunk of unpacked?.keep(rpm.payload, chunks) ?? chunks) {
    payload.push(chunk)
    archive += chunk.length
    signal.throwIfAborted()
  }
  payload.end()
  rpm.digests.check()
  const facts = factsOf(rpm.header, files, archive)
  const signature = readSignature(rpm, path)
  const kind = identity.arch === SOURCE ? 'source' : isDebug(identity.name, facts) ? 'debug' : undefined
  return {
    ...(kind === undefined ? {} : { kind }),
    identity,
    about: describe(identity, facts),
    facts,
    paths: files.filter(({ isFolder, isGhost }) => !isFolder && !isGhost).map(({ name }) => name),
    ...(signature === undefined ? {} : { signature }),
  }
}

/**
 * Identity, relations, index facts and file list of an .rpm, in one pass. Of the payload nothing is kept but what
 * `unpacked` keeps.
 * @throws bad_package naming what breaks which rule; the signal's reason when it is aborted
 */
export async function inspect(
  file: SpooledFile,
  signal: AbortSignal,
  unpacked?: Pick<Unpacked, 'keep'>,
): Promise<Inspection<RpmFacts>> {
  try {
    const rpm = await openRpm(file)
    try {
      return await look(rpm, file.path, { signal, unpacked })
    } finally {
      await rpm.close()
    }
  } catch (error) {
    return refuse(file.filename, error)
  }
}
