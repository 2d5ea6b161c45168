import { fail } from '../../core/errors.ts'
import { plainName } from '../../files/form-parser.ts'

/** `digest  name` or `digest *name`, and what `sha256sum --tag` writes. A name with escapes begins with a backslash. */
const LINES = [
  /^(?<digest>[0-9a-f]{64}) [ *](?<path>.+)$/i,
  /^SHA256 \((?<path>.+)\) = (?<digest>[0-9a-f]{64})$/i,
] as const

/**
 * Adds the digests that sha256sum writes, by file name without folders, which `sha256sum dist/*` writes too. Every line
 * counts: one that is passed over would leave a file unchecked whose sender thinks it is checked.
 * @throws bad_request for a line that sha256sum does not write, and for two digests of one name
 */
export function readSums(text: string, sums: Map<string, string>): void {
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue
    const found =
      LINES.map(form => form.exec(line)?.groups).find(groups => groups !== undefined) ??
      fail('bad_request', { said: `Line ${at + 1} of the SHA-256 sums is none that sha256sum writes.` })
    const name = plainName(found.path)
    const digest = (found.digest ?? '').toLowerCase()
    if ((sums.get(name) ?? digest) !== digest)
      fail('bad_request', { said: `The SHA-256 sums name ${name} twice, with two digests.` })
    sums.set(name, digest)
  }
}
