import { Readable } from 'node:stream'
import { listHeldFiles, type HeldFile } from '../../catalog/queries/registry-files.ts'
import { fail } from '../../core/errors.ts'
import { sha256 } from '../../core/identity.ts'
import { isServed, type Manifest } from '../../core/manifest.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { pep440Key } from '../../core/versions/pep440.ts'
import { together, type SpooledFile } from '../../files/spool.ts'
import { pypi } from '../../formats/pypi/index.ts'
import { normalName, normalVersion, readFileName } from '../../formats/pypi/names.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { actorOf, admitVersion, needHosted, type Publication } from '../admit.ts'
import type { RegistryDeps } from '../deps.ts'
import { whyHeld } from '../held.ts'
import { plain } from '../plain.ts'
import type { RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { packageOf } from '../refs.ts'
import { PROVENANCE, provenanceOf } from './attestations.ts'
import { readUpload, type UploadForm } from './form.ts'

const HEX = /^[0-9a-f]+$/

/** What the sender digested; undefined where it named none. @throws bad_request where that is no digest */
function digestIn(fields: UploadForm['fields'], field: string, length: number): string | undefined {
  const said = fields.get(field)?.trim().toLowerCase() ?? ''
  if (said === '') return undefined
  if (!HEX.test(said) || said.length !== length)
    fail('bad_request', { said: `The field ${field} is no digest of ${length} hex characters.` })
  return said
}

/**
 * Compares what the sender digested with what arrived, whatever the settings say.
 * @returns what the gate compares and records again
 * @throws digest_mismatch, bad_request
 */
function mustMatch({ file, fields }: UploadForm): Pick<Publication, 'expectedSha256'> {
  const { sha256: actual, md5 } = file.blob
  const expected = digestIn(fields, 'sha256_digest', actual.length)
  if (expected !== undefined && expected !== actual) fail('digest_mismatch', { actual, expected })
  const said = digestIn(fields, 'md5_digest', md5.length)
  if (said !== undefined && said !== md5)
    fail('bad_request', {
      said: `The file has the MD5 ${md5}, the sender said ${said}. Nothing was kept; send it again.`,
    })
  return expected === undefined ? {} : { expectedSha256: sha256(expected) }
}

/** @throws bad_request */
function mustBeUpload(fields: UploadForm['fields']): void {
  const action = fields.get(':action')?.trim() ?? 'file_upload'
  if (action !== 'file_upload')
    fail('bad_request', {
      said: `The field :action is file_upload; ${JSON.stringify(action.slice(0, 40))} is not known.`,
    })
}

/** The first file of the version that is not out, by which the others wait. */
const isHeldBefore = (
  held: readonly HeldFile[],
  { filename, version }: { filename: string; version: string },
): HeldFile | undefined => {
  const key = pep440Key(version)
  return held.find(one => pep440Key(one.version) === key && one.path !== filename)
}

function answerOf(manifest: Manifest, outcome: string, console: string): RegistryAnswer {
  const { state } = manifest
  const name = manifest.files[0].path
  if (isServed(state)) return plain(200, outcome === 'already' ? `${name} was here already.` : `${name} is published.`)
  const { sentence, short } = whyHeld(manifest, console)
  // a client counts 202 as a success; what is refused for good must not look like one
  return plain(state === 'pending_review' ? 202 : 403, `${name}: ${sentence}`, short)
}

/** Receives uploads, one file a request. */
export function createUpload(deps: RegistryDeps): (request: RegistryRequest) => Promise<RegistryAnswer> {
  const { db, spool, settings } = deps
  // the files of a version are judged one after the other, so that the second sees that the first is held
  const locks = createKeyedLock()

  async function withProvenance({ file, fields }: UploadForm, signal: AbortSignal): Promise<SpooledFile> {
    const provenance = provenanceOf(fields.get('attestations'))
    if (provenance === undefined) return file
    const filename = `${file.filename}${PROVENANCE}`
    const beside = await spool.receive(Readable.from([provenance]), {
      filename,
      signal,
      limitBytes: provenance.length + 1,
    })
    return together(file, [beside])
  }

  async function admit(
    request: RegistryRequest,
    { file, ...said }: Pick<Publication, 'file' | 'expectedSha256'>,
  ): Promise<RegistryAnswer> {
    const { registry, caller, console } = request
    const named = readFileName(file.filename)
    const version = normalVersion(named?.version ?? '')
    const isNamed =
      named !== undefined &&
      pypi.complain({ format: pypi.id, name: normalName(named.name), version, arch: 'sdist' }) === undefined
    const name = normalName(named?.name ?? file.filename)
    return locks.run(`${registry.codename} ${name}`, async () => {
      const held = isNamed
        ? isHeldBefore(await listHeldFiles(db, ALL_SEEING, packageOf(request, name)), {
            filename: file.filename,
            version,
          })
        : undefined
      const { manifest, outcome } = await admitVersion(deps, {
        file,
        format: pypi,
        registry,
        actor: actorOf(caller),
        ...said,
        ...(held === undefined ? {} : { heldFor: `${held.path} of the same version is not out either.` }),
      })
      return answerOf(manifest, outcome, console)
    })
  }

  return async request => {
    request.caller.need('write')
    needHosted(request.registry)
    const limitBytes = settings.now().validation.max_upload_size_mb * 1024 * 1024
    const form = await readUpload(request, { spool, limitBytes })
    let publication: Parameters<typeof admit>[1]
    try {
      mustBeUpload(form.fields)
      publication = { ...mustMatch(form), file: await withProvenance(form, request.signal) }
    } catch (error) {
      await form.file.discard()
      throw error
    }
    return admit(request, publication)
  }
}
