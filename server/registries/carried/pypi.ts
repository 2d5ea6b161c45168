import { listHeldFiles } from '../../catalog/queries/registry-files.ts'
import type { Mark } from '../../core/mark.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import { pep440Key } from '../../core/versions/pep440.ts'
import type { PypiFacts } from '../../formats/pypi/facts.ts'
import { refuse } from '../../formats/refuse.ts'
import { Malformed } from '../../lib/limited.ts'
import { PROVENANCE } from '../pypi/attestations.ts'
import type { CarriedRules } from './rules.ts'

const markFacts = ({ yanked }: Mark): Readonly<Record<string, unknown>> => (yanked === undefined ? {} : { yanked })

/** One file of a release, and beside it its attestations. */
export const carriedPypi: CarriedRules = {
  async prepare({ db }, { ref, file }) {
    const { filename, beside = [] } = file
    const odd = beside.find(one => one.filename !== `${filename}${PROVENANCE}`)
    if (odd !== undefined || beside.length > 1)
      refuse(filename, new Malformed(`beside it comes ${JSON.stringify(odd?.filename ?? 'more than attestations')}`))
    const key = pep440Key(ref.version)
    const held = (await listHeldFiles(db, ALL_SEEING, ref)).find(
      one => pep440Key(one.version) === key && one.path !== filename,
    )
    return { file, ...(held === undefined ? {} : { heldFor: `${held.path} of the same version is not out either.` }) }
  },
  entryOf({ manifest: { facts, files } }, mark) {
    const { requires_python: requires, metadata } = facts as PypiFacts
    const { path, blob } = files[0]
    return Promise.resolve({
      file: { url: '', filename: path, size: blob.size, digests: { sha256: blob.sha256 } },
      facts: {
        ...(requires === undefined ? {} : { requires_python: requires }),
        ...(metadata === undefined ? {} : { metadata: { sha256: metadata.sha256 } }),
        ...markFacts(mark),
      },
    })
  },
  markFacts,
}
