import { listFileProviders, listServedProvides } from '../catalog/queries/provides.ts'
import { isServed } from '../core/manifest.ts'
import { printAlternatives, type Offered } from '../core/relation.ts'
import { isRegistry } from '../core/repository.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { isUnavailable } from '../db/database-unavailable.ts'
import type { Queryable } from '../db/db.ts'
import { shareReads } from '../lib/groups.ts'
import { machinesOf, meets, onBestMachine } from './machines.ts'
import { registryDependencies, type LookUp } from './registry-dependencies.ts'
import type { Step, Subject } from './subject.ts'

interface Wanted extends Pick<Subject, 'format' | 'distribution'> {
  readonly names: readonly string[]
}

/** What served packages of the distributions offer under these names: packages looked at together ask together. */
async function offered(db: Queryable, wanted: readonly Wanted[]): Promise<readonly (readonly Offered[])[]> {
  const answers = new Map<Wanted, readonly Offered[]>()
  const together = Map.groupBy(wanted, ({ format, distribution }) => `${format.id} ${distribution.codename}`)
  for (const same of together.values()) {
    const [{ format, distribution }] = same as [Wanted]
    const names = [...new Set(same.flatMap(one => one.names))]
    const rows = await listServedProvides(db, ALL_SEEING, { format, codename: distribution.codename, names })
    const byName = Map.groupBy(
      rows.map(({ provides: name, version, ...row }) => ({ name, ...(version === null ? {} : { version }), ...row })),
      ({ name }) => name,
    )
    for (const one of same)
      answers.set(
        one,
        one.names.flatMap(name => byName.get(name) ?? []),
      )
  }
  return wanted.map(one => answers.get(one) ?? [])
}

/** Names that are paths, from the file lists of served packages. */
async function offeredFiles(db: Queryable, { format, distribution: { codename }, names }: Wanted): Promise<Offered[]> {
  const rows = await listFileProviders(db, ALL_SEEING, { format: format.id, fileOf: format.fileOf, codename, names })
  return rows.filter(({ state }) => isServed(state)).map(({ provides, arch }) => ({ name: provides, arch }))
}

/**
 * Step 6. Looks for what the package needs among the packages that this repository serves in the same distribution, on
 * a machine of the package's architecture. The
 * distribution's own archive is not known here, so a missing dependency is a warning: most come from there.
 * @param data  looks up what packages of registries need
 */
export function dependenciesStep(db: Queryable, data: LookUp): Step {
  const findOffered = shareReads((wanted: readonly Wanted[]) => offered(db, wanted), isUnavailable)
  return {
    name: 'dependencies',
    async run(subject, signal) {
      if (isRegistry(subject.distribution)) return registryDependencies(subject, { db, data }, signal)
      const { about, identity, kind, facts } = await subject.inspected(signal)
      const names = [...new Set(about.depends.flat().map(({ name }) => name))]
      if (names.length === 0)
        return { step: 'dependencies', outcome: 'ok', verdict: 'satisfied', said: 'The package needs nothing.' }
      const { format, distribution } = subject
      const own = [{ name: identity.name, version: identity.version }, ...about.provides].map((one): Offered => ({
        arch: identity.arch,
        reach: format.multiArch?.reachOf(facts),
        ...one,
      }))
      const others = names.filter(name => !own.some(offer => offer.name === name))
      const offers = [
        ...own,
        ...(await findOffered({ format, distribution, names })),
        ...(await offeredFiles(db, { format, distribution, names: others })),
      ]
      const missing = onBestMachine(machinesOf(distribution, { arch: identity.arch, kind }), machine => {
        const isMet = meets(format, distribution, machine)
        const result = about.depends
          .filter(need => !need.some(relation => offers.some(offer => isMet(offer, relation))))
          .map(printAlternatives)
        return { result, lacks: result.length }
      })
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
        said:
          about.depends.length === 1
            ? "The one package that it needs is not served here. The distribution's own archive must have it."
            : `${missing.length} of ${about.depends.length} needs are not served here. The distribution's own archive must have them.`,
      }
    },
  }
}
