import { listFileProviders, listServedProvides } from '../catalog/queries/provides.ts'
import { nativeOf, type Distribution } from '../core/repository.ts'
import { isServed } from '../core/manifest.ts'
import { printAlternatives, type Alternatives, type Provided } from '../core/relation.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Queryable } from '../db/db.ts'
import type { Format } from '../formats/format.ts'
import type { Step } from './subject.ts'

/**
 * What published packages of one distribution offer under these names, and for which architecture. One index scan a
 * name.
 */
async function offered(db: Queryable, distribution: Distribution, names: readonly string[]): Promise<Provided[]> {
  const { codename } = distribution
  const rows = await listServedProvides(db, ALL_SEEING, { codename, names })
  return rows.map(({ provides, version, arch }) => ({
    name: provides,
    ...(version === null ? {} : { version }),
    arch: nativeOf(distribution, arch),
  }))
}

function isMet(need: Alternatives, offers: readonly Provided[], format: Pick<Format, 'satisfies'>): boolean {
  return need.some(relation => offers.some(offer => offer.name === relation.name && format.satisfies(offer, relation)))
}

/**
 * Step 6. Looks for what the package needs among the packages that this repository serves in the same distribution. The
 * distribution's own archive is not known here, so a missing dependency is a warning: most come from there.
 */
export function dependenciesStep(db: Queryable): Step {
  return {
    name: 'dependencies',
    async run(subject, signal) {
      const { about, identity, kind } = await subject.inspected(signal)
      const names = [...new Set(about.depends.flat().map(({ name }) => name))]
      if (names.length === 0)
        return { step: 'dependencies', outcome: 'ok', verdict: 'satisfied', said: 'The package needs nothing.' }
      const { format, distribution } = subject
      const own: Provided[] = [{ name: identity.name, version: identity.version }, ...about.provides].map(one => ({
        arch: nativeOf(distribution, identity.arch),
        ...one,
      }))
      const others = names.filter(name => !own.some(offer => offer.name === name))
      const files = await listFileProviders(db, ALL_SEEING, {
        format: format.id,
        fileOf: format.fileOf,
        codename: distribution.codename,
        names: others,
      })
      const offers = [
        ...own,
        ...(await offered(db, distribution, names)),
        ...files.filter(({ state }) => isServed(state)).map(({ provides }) => ({ name: provides })),
      ]
      const missing = about.depends.filter(need => !isMet(need, offers, subject.format)).map(printAlternatives)
      if (missing.length === 0)
        return {
          step: 'dependencies',
          outcome: 'ok',
          verdict: 'satisfied',
          said: 'Everything it needs is served here.',
        }
      if (kind === 'source')
        return {
          step: 'dependencies',
          outcome: 'ok',
          verdict: 'missing',
          missing,
          said: `Building it needs ${about.depends.length} packages, of which ${missing.length} are not served here; nothing that is installed waits for them.`,
        }
      return {
        step: 'dependencies',
        outcome: 'warned',
        verdict: 'missing',
        missing,
        said: `${missing.length} of ${about.depends.length} needs are not served here. The distribution's own archive must have them.`,
      }
    },
  }
}
