import { fail } from '../../core/errors.ts'
import { isFields } from '../../lib/fields.ts'

/** What is appended to the name of a file for the attestations that came with it. Source: PEP 740 */
export const PROVENANCE = '.provenance'

const wrong = (why: string): never => fail('bad_request', { said: `The field attestations ${why}` })

const MOST = 16

/**
 * What is kept of the attestations that came with a file, as the document that clients get. They are not verified here.
 * @returns undefined without any
 * @throws bad_request
 * Source: PEP 740, "Provenance objects"
 */
export function provenanceOf(field: string | undefined): Buffer | undefined {
  if (field === undefined || field.trim() === '') return undefined
  let attestations: unknown
  try {
    attestations = JSON.parse(field)
  } catch {
    return wrong('is no JSON.')
  }
  if (!Array.isArray(attestations)) return wrong('is no list.')
  if (attestations.length === 0) return undefined
  if (attestations.length > MOST) return wrong(`has more than ${MOST} entries.`)
  for (const one of attestations as unknown[]) {
    const isWhole =
      isFields(one) && one['version'] === 1 && isFields(one['verification_material']) && isFields(one['envelope'])
    if (!isWhole) return wrong('holds something that is no attestation of version 1 (PEP 740).')
  }
  return Buffer.from(
    JSON.stringify({ version: 1, attestation_bundles: [{ publisher: { kind: 'unknown' }, attestations }] }),
  )
}
