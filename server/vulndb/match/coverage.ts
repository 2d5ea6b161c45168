import { daysOld, isTooOld } from '../../core/data-age.ts'
import { outOfSupport } from '../../core/ends-of-life.ts'
import type { Distribution } from '../../core/repository.ts'
import type { DistributionCoverage, EcosystemCoverage } from '../../scanners/scanner.ts'
import {
  ecosystemOf,
  familyOf,
  isOfLanguage,
  labelOf,
  NATIVE,
  scannersOf,
  type Ecosystem,
  type LookedUp,
} from './ecosystems.ts'
import type { Meta, SourceFacts } from '../store/generation-meta.ts'

/** What is said where there is nothing to look in. */
export const NO_DATA = 'No vulnerability data are loaded.'

/** A source that brings less than this part of an ecosystem's rows does not make the rest any younger. */
const SHARE = 0.2

/** The newest change in anything that a source brought, ISO 8601; a date after the import counts as none. */
function newestOf({ ecosystems, sources }: Meta, name: string): string | undefined {
  return Object.values(ecosystems)
    .map(({ sources: shares }) => shares[name]?.newest)
    .filter(date => date !== undefined)
    .filter(date => date <= (sources[name]?.imported_at ?? ''))
    .sort()
    .at(-1)
}

/** The day of what was loaded from a source, ISO 8601; undefined where nothing says it. */
export function sourceDate(meta: Meta, name: string): string | undefined {
  const source = meta.sources[name]
  const given = source?.as_of === '' ? undefined : source?.as_of
  return (source?.dated === true && !isOfNvd(source) ? newestOf(meta, name) : undefined) ?? given
}

/** A file of the NVD says its day; in an old year little changes. */
const isOfNvd = (source: SourceFacts | undefined): boolean => source?.kind === 'nvd'

/**
 * The date of what is loaded for an ecosystem: that of the newest source that carries it, by what its content says.
 * Only where the content has no dates, the date that came with it counts. Undefined where nothing says it.
 */
function dateOf(meta: Meta, ecosystem: Ecosystem): string | undefined {
  const { rows = 0, sources: shares = {} } = meta.ecosystems[ecosystem] ?? {}
  return Object.entries(shares)
    .filter(([name, share]) => share.rows >= rows * SHARE || isOfNvd(meta.sources[name]))
    .map(([name, { newest }]) => {
      const source = meta.sources[name]
      if (isOfNvd(source)) return source?.as_of
      // files imported by hand may be of very different days, so each ecosystem has its own
      const own = source?.dated === true ? newestOf(meta, name) : newest
      return own !== undefined && own <= (source?.imported_at ?? '') ? own : source?.as_of
    })
    .filter(date => date !== undefined && date !== '')
    .map(date => new Date(date ?? '').toISOString())
    .sort()
    .at(-1)
}

export interface CoverageDeps {
  readonly meta: Meta | undefined
  readonly now: Date
  /** The age in days above which data are stale. */
  readonly maxAgeDays: number
}

/** Distributions that publish open vulnerabilities as well as fixed ones; the others announce only fixes. */
const TELLS_OPEN = /^(?:debian|ubuntu)-/

/** What an ecosystem's data say of themselves, before it is asked what they leave out. */
function ageOf(
  ecosystem: Ecosystem,
  label: string,
  { meta, now, maxAgeDays }: CoverageDeps & { readonly meta: Meta },
): DistributionCoverage {
  const at = dateOf(meta, ecosystem)
  if (at === undefined)
    return { coverage: 'partial', said: `Nothing says of which day the advisories for ${label} are.` }
  const data = `The advisories for ${label} are of ${at.slice(0, 10)}`
  return isTooOld(at, { now, maxAgeDays })
    ? {
        coverage: 'stale',
        data_at: at,
        said: `${data}: ${daysOld(at, now)} days old, more than the ${maxAgeDays} that “Oldest vulnerability data” allows. Import newer ones.`,
      }
    : { coverage: 'covered', data_at: at, said: `${data}.` }
}

/** What the data for a distribution leave out by their kind, in sentences. */
function gapsOf(
  distribution: Pick<Distribution, 'label' | 'scanner' | 'endOfLife'>,
  { ecosystem, isBorrowed }: ReturnType<typeof ecosystemOf>,
  { meta, now }: CoverageDeps & { readonly meta: Meta },
): string[] {
  const { ranks } = meta.ecosystems[ecosystem] ?? {}
  const ended = outOfSupport(distribution, now)
  return [
    ...(isBorrowed ? ['They are those of RHEL, which its packages may differ from.'] : []),
    ...(TELLS_OPEN.test(ecosystem) && ranks !== undefined && ranks[2] + ranks[3] === 0
      ? ['Only announcements of fixes are loaded: vulnerabilities without a fix are not known.']
      : []),
    ...(ended === undefined ? [] : [ended]),
  ]
}

/** A repository whose coverage is asked for. */
type Covered = LookedUp & Pick<Distribution, 'label' | 'endOfLife'>

/** The coverage of a registry: by all advisories for its language, which speak of every package that has one. */
function registryCoverage(registry: Covered, deps: CoverageDeps): DistributionCoverage {
  if (!isOfLanguage(registry))
    return { coverage: 'covered', said: 'An image has no advisories of its own: what is inside is looked up.' }
  const { ecosystem: _, ...known } = languageCoverage(ecosystemOf(registry).ecosystem, deps)
  return known.coverage === 'not_covered'
    ? { ...known, said: `${known.said} An admin imports them on the page Engines.` }
    : known
}

/** The coverage of one distribution by the loaded advisories; whether they know a package of it is another question. */
export function coverageOf(distribution: Covered, { meta, now, maxAgeDays }: CoverageDeps): DistributionCoverage {
  if (meta === undefined || Object.keys(meta.ecosystems).length === 0) {
    return {
      coverage: 'no_data',
      said: `${NO_DATA} An admin imports them on the page Engines.`,
    }
  }
  if (distribution.kind === 'registry') return registryCoverage(distribution, { meta, now, maxAgeDays })
  const { label, scanner } = distribution
  if (scanner === undefined) {
    return {
      coverage: 'not_covered',
      said: `${label} has no scanner identifier, so its packages are not scanned for vulnerabilities.`,
    }
  }
  const where = ecosystemOf(distribution)
  if (meta.ecosystems[where.ecosystem] === undefined) {
    return {
      coverage: 'not_covered',
      said: `No advisories for ${where.isBorrowed ? `${label} (those of RHEL)` : label} are loaded, so nothing is known about its packages.`,
    }
  }
  const deps = { meta, now, maxAgeDays }
  const known = ageOf(where.ecosystem, label, deps)
  if (known.coverage === 'stale') return known
  const gaps = gapsOf(distribution, where, deps)
  if (gaps.length > 0) return { ...known, coverage: 'partial', said: [known.said, ...gaps].join(' ') }
  return TELLS_OPEN.test(where.ecosystem) || known.coverage === 'partial'
    ? known
    : { ...known, said: `${known.said} They announce fixes, so vulnerabilities without a fix are not known.` }
}

/** What is said of a distribution as a whole: a package that its advisories do not name is not covered. */
export function distributionCoverage(distribution: Covered, deps: CoverageDeps): DistributionCoverage {
  const known = coverageOf(distribution, deps)
  return distribution.kind !== 'registry' && (known.coverage === 'covered' || known.coverage === 'partial')
    ? { ...known, said: `${known.said} A package that they do not name is not covered.` }
    : known
}

/** The first of the NVD's files has what is older, too. */
const FIRST_YEAR = 2002

/** The coverage of native code: by the NVD, whose records come in a file for each year. */
function nativeCoverage({ meta, now, maxAgeDays }: CoverageDeps): EcosystemCoverage {
  const label = labelOf(NATIVE)
  if (meta?.ecosystems[NATIVE] === undefined)
    return {
      ecosystem: label,
      coverage: 'not_covered',
      said: `No advisories for ${label} are loaded: they come with the data of the NVD.`,
    }
  const known = ageOf(NATIVE, label, { meta, now, maxAgeDays })
  const years = Array.from({ length: now.getUTCFullYear() - FIRST_YEAR }, (_, n) => FIRST_YEAR + n)
  const missing = years.filter(year => meta.sources[`nvd/${year}`] === undefined)
  if (missing.length === 0 || known.coverage === 'stale') return { ecosystem: label, ...known }
  const said = `${known.said} ${missing.length} of the NVD's years since ${FIRST_YEAR} are not loaded, such as ${missing.at(-1)}.`
  return { ecosystem: label, ...known, coverage: 'partial', said }
}

/** The coverage of a language's packages, or of native code, such as those that a package carries inside. */
export function languageCoverage(ecosystem: Ecosystem, { meta, now, maxAgeDays }: CoverageDeps): EcosystemCoverage {
  if (ecosystem === NATIVE) return nativeCoverage({ meta, now, maxAgeDays })
  const label = labelOf(ecosystem)
  return {
    ecosystem: label,
    ...(meta?.ecosystems[ecosystem] === undefined
      ? { coverage: 'not_covered', said: `No advisories for ${label} packages are loaded.` }
      : ageOf(ecosystem, `${label} packages`, { meta, now, maxAgeDays })),
  }
}

/** The coverage of what a package carries: a language's packages, native code, or those of an image's system. */
export function carriedCoverage(ecosystem: Ecosystem, deps: CoverageDeps): EcosystemCoverage {
  const [scanner] = scannersOf(ecosystem)
  if (scanner === undefined || familyOf(ecosystem)?.kind !== 'distribution') return languageCoverage(ecosystem, deps)
  return { ecosystem, ...coverageOf({ label: ecosystem, scanner }, deps) }
}

/** What is said of a package of a language that is in none of its advisories, as most are. */
export const saySilent = (name: string): string => `No record is about ${name}.`

/** What is said of a package that is in none of the advisories of its distribution. */
export const sayUnnamed = (label: string, name: string, source: string): string =>
  `The advisories for ${label} do not name ${name}${source === name ? '' : ` nor its source ${source}`}, so they say nothing about it.`
