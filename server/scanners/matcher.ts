import type { Finding } from '../core/findings.ts'
import { enrich, type Intel } from './enrich.ts'
import type { OsvScanner } from './osv.ts'
import type { DistributionCoverage } from './scanner.ts'
import { distributionCoverage } from '../vulndb/match/coverage.ts'
import { ecosystemOf, type LookedUp } from '../vulndb/match/ecosystems.ts'
import type { PackageQuery } from '../vulndb/match/matching-rules.ts'
import type { Database } from '../vulndb/store/database.ts'

/** A package by what a list says of it; its source is empty where the list does not say it. */
export interface NamedPackage {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly source: string
  readonly sourceVersion: string
}

/** A distribution or registry whose packages are looked up. */
export interface MatchedSystem extends LookedUp {
  readonly label: string
  readonly endOfLife?: string
}

export interface MatcherDeps {
  readonly database: Database
  readonly osv: Pick<OsvScanner, 'match'>
  readonly intel: Intel
  readonly now: () => Date
  readonly maxAgeDays: () => number
}

/** Looks packages up that are known by name alone, as those of machines and of other repositories. */
export interface Matcher {
  /** What the data are worth for a system; `not_covered` and `no_data`: nothing is known of its packages. */
  coverage(system: MatchedSystem): Promise<DistributionCoverage>
  /** The findings of each package, in the given order. @throws EngineUnavailable */
  match(system: MatchedSystem, packages: readonly NamedPackage[]): Promise<readonly (readonly Finding[])[]>
  /** Changes whenever other data are loaded. */
  generation(): Promise<string>
}

/** Many machines have the same packages, and every closure the same libraries. */
const MOST_KEPT = 60_000

/** The embedded engine's answers, kept while the same data are loaded. */
export function createMatcher({ database, osv, intel, now, maxAgeDays }: MatcherDeps): Matcher {
  let keptOf = ''
  const kept = new Map<string, readonly Finding[]>()
  const generation = async (): Promise<string> => String((await database.open())?.meta.generation ?? '')
  return {
    generation,
    async coverage(system) {
      const meta = (await database.open())?.meta
      return distributionCoverage(system, { meta, now: now(), maxAgeDays: maxAgeDays() })
    },
    async match(system, packages) {
      const current = await generation()
      if (current !== keptOf || kept.size > MOST_KEPT) kept.clear()
      keptOf = current
      const { ecosystem } = ecosystemOf(system)
      const keyOf = ({ name, version, arch, source, sourceVersion }: NamedPackage): string =>
        [ecosystem, name, version, arch, source, sourceVersion].join('\t')
      const missing = [...new Map(packages.map(one => [keyOf(one), one])).entries()].filter(([key]) => !kept.has(key))
      const answers = await osv.match(
        missing.map(([, { name, version, arch, source, sourceVersion }]): PackageQuery => ({
          ecosystem,
          name,
          version,
          arch,
          ...(source === '' ? {} : { source: { name: source, version: sourceVersion } }),
        })),
      )
      for (const [at, [key]] of missing.entries()) {
        const found = answers[at]?.findings ?? []
        kept.set(key, found.length === 0 ? [] : (await enrich(found, intel)).findings)
      }
      return packages.map(one => kept.get(keyOf(one)) ?? [])
    },
  }
}
