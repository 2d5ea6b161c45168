import { fail } from '../core/errors.ts'
import type { Step, Subject } from './subject.ts'

/** Reading a source package compared its files with what it says of them; others have one file. */
const besideOf = ({ beside = [] }: Subject['file']): string =>
  beside.length === 0 ? '' : ` The ${beside.length === 1 ? 'file' : `${beside.length} files`} beside it came whole.`

/**
 * Step 2. Compares the bytes that arrived with the digest that the sender or the upstream index gives.
 * @throws digest_mismatch: bytes damaged on the way are no package, so nothing of them is kept
 */
export const provenanceStep: Step = {
  name: 'provenance',
  async run({ file, expectedSha256: expected, settings }) {
    const actual = file.blob.sha256
    if (!settings.validation.sha256_check) {
      return {
        step: 'provenance',
        outcome: 'skipped',
        verdict: 'skipped',
        said: 'The SHA-256 check is switched off (validation.sha256_check).',
      }
    }
    if (expected === undefined) {
      return {
        step: 'provenance',
        outcome: 'ok',
        verdict: 'recorded',
        said: `The sender named no digest. SHA-256 ${actual} is recorded.${besideOf(file)}`,
      }
    }
    if (expected !== actual) fail('digest_mismatch', { actual, expected })
    return {
      step: 'provenance',
      outcome: 'ok',
      verdict: 'verified',
      said: `SHA-256 ${actual}, as the sender said.${besideOf(file)}`,
    }
  },
}
