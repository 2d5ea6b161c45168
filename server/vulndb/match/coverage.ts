import { daysOld, isTooOld } from '../../core/data-age.ts'
import type { Distribution } from '../../core/repository.ts'
import type { DistributionCoverage } from '../../scanners/scanner.ts'
import { ecosystemOf } from './ecosystems.ts'
import type { Meta } from '../store/generation-meta.ts'

/** What is said where there is nothing to look in. */
export const NO_DATA = 'No vulnerability data are loaded.'

/** A distribution has thousands; this few are somebody's sample. */
const FEW = 100
/** A source that brings less than this part of an ecosystem's rows does not make the rest any younger. */
const SHARE = 0.2

/**
 * The date of what is loaded for an ecosystem: that of the newest source that carries it. `checked` are feeds that have
 * confirmed since that nothing changed.
 */
function dateOf(
  { ecosystems, sources }: Meta,
  ecosystem: string,
  checked: Readonly<Record<string, string>>,
): string | undefined {
  const { rows = 0, sources: shares = {} } = ecosystems[ecosystem] ?? {}
  return Object.entries(shares)
    .filter(([, share]) => share.rows >= rows * SHARE)
    .flatMap(([name, { newest }]) => {
      const source = sources[name]
      // files imported by hand may be of very different days; a date after the import counts as none
      const own = newest !== undefined && newest <= (source?.imported_at ?? '') ? newest : source?.as_of
      return [source?.dated === false ? own : source?.as_of, checked[name]]
    })
    .filter(date => date !== undefined)
    .map(date => new Date(date).toISOString())
    .sort()
    .at(-1)
}

export interface CoverageDeps {
  readonly meta: Meta | undefined
  readonly now: Date
  /** The age in days above which data are stale. */
  readonly maxAgeDays: number
  readonly checked?: Readonly<Record<string, string>>
}

/** Distributions that publish open vulnerabilities as well as fixed ones; the others announce only fixes. */
const TELLS_OPEN = /^(?:debian|ubuntu)-/

/** The coverage of one distribution by the loaded advisories. Pure. */
export function coverageOf(
  distribution: Pick<Distribution, 'label' | 'scanner'>,
  { meta, now, maxAgeDays, checked = {} }: CoverageDeps,
): DistributionCoverage {
  if (meta === undefined || Object.keys(meta.ecosystems).length === 0) {
    return {
      coverage: 'no_data',
      said: `${NO_DATA} An admin imports them on the page Engines.`,
    }
  }
  if (distribution.scanner === undefined) {
    return {
      coverage: 'not_covered',
      said: `${distribution.label} has no scanner identifier, so its packages are not scanned for vulnerabilities.`,
    }
  }
  const { ecosystem, isBorrowed } = ecosystemOf(distribution)
  const facts = meta.ecosystems[ecosystem]
  const at = dateOf(meta, ecosystem, checked)
  if (facts === undefined || at === undefined) {
    return {
      coverage: 'not_covered',
      said: `No advisories for ${isBorrowed ? `${distribution.label} (those of RHEL)` : distribution.label} are loaded, so nothing is known about its packages.`,
    }
  }
  const data = `The advisories for ${distribution.label} are of ${at.slice(0, 10)}`
  if (isTooOld(at, { now, maxAgeDays })) {
    return {
      coverage: 'stale',
      data_at: at,
      said: `${data}: ${daysOld(at, now)} days old, more than the ${maxAgeDays} that validation.vuln_data_max_age_days allows. Import newer ones.`,
    }
  }
  const count = facts.ranks[1] + facts.ranks[2] + facts.ranks[3]
  if (count < FEW)
    return { coverage: 'partial', data_at: at, said: `${data}, and only ${count} are loaded: others are not known.` }
  if (isBorrowed)
    return { coverage: 'partial', data_at: at, said: `${data} and those of RHEL, which its packages may differ from.` }
  if (TELLS_OPEN.test(ecosystem)) {
    return facts.ranks[2] + facts.ranks[3] === 0
      ? {
          coverage: 'partial',
          data_at: at,
          said: `${data}, and only announcements of fixes are loaded: vulnerabilities without a fix are not known.`,
        }
      : { coverage: 'covered', data_at: at, said: `${data}.` }
  }
  return {
    coverage: 'covered',
    data_at: at,
    said: `${data}; they announce fixes, so vulnerabilities without a fix are not known.`,
  }
}
