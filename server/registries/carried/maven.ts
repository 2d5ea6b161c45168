import { readFile } from 'node:fs/promises'
import { together } from '../../files/spool.ts'
import { buildOf, fileName, isSnapshot, partsOf, readKind } from '../../formats/maven/coordinates.ts'
import { orderFiles } from '../../formats/maven/order-files.ts'
import { refuse } from '../../formats/refuse.ts'
import { Malformed } from '../../lib/limited.ts'
import { isProxy } from '../remote/remote.ts'
import { thinSnapshots } from '../maven/settle.ts'
import type { CarriedRules } from './rules.ts'

/** A pom, what it is of, classifiers, and signatures beside: each named after artifact and version. */
export const carriedMaven: CarriedRules = {
  prepare(_, { ref: { name, version, arch }, file, registry }) {
    const { artifact } = partsOf(name)
    const all = [{ ...file, beside: undefined }, ...(file.beside ?? [])]
    const begin = `${artifact}-${version}`
    const odd = all.find(
      ({ filename }) => !filename.startsWith(begin) || readKind(filename.slice(begin.length)) === undefined,
    )
    if (odd !== undefined) refuse(odd.filename, new Malformed(`files of ${name} ${version} begin with ${begin}`))
    if (isProxy(registry) && (isSnapshot(version) || buildOf(version) !== undefined))
      refuse(begin, new Malformed('registries that read through to others have no snapshots'))
    // a classifier that came by itself stands before its pom
    if (arch !== 'any') return Promise.resolve({ file })
    const [main = file, ...beside] = orderFiles(
      all.map(({ beside: _none, ...one }) => one),
      { artifact, version },
    )
    return Promise.resolve({ file: beside.length === 0 ? main : together(main, beside) })
  },
  async entryOf({ manifest: { ref }, files }) {
    const { artifact } = partsOf(ref.name)
    const pom = files.find(
      ({ filename }) => filename === fileName(artifact, ref.version, { classifier: '', extension: 'pom' }),
    )
    // any encoding, kept as its bytes are
    return { facts: {}, ...(pom === undefined ? {} : { full_document: (await readFile(pom.path)).toString('latin1') }) }
  },
  markFacts: () => ({}),
  after: (deps, ref, { registry }) => thinSnapshots(deps, { ref }, registry),
}
