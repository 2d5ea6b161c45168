import type { DistributionCoverage, EcosystemCoverage, VulnerabilityAnswer } from './scanner.ts'

/** What is known of a package, part by part. */
export interface Parts {
  /** Of the data for its distribution. */
  readonly own: DistributionCoverage
  /** Said where those data do not name the package. */
  readonly unnamed: string | undefined
  /** Of the data for each language of what it carries. */
  readonly ecosystems: readonly EcosystemCoverage[]
  /** Sentences about what could not be compared. */
  readonly gaps: readonly string[]
  /** Sentences that leave the coverage as it is. */
  readonly notes: readonly string[]
}

/**
 * The coverage of a package as a whole: `covered` only where current data name it and cover all that it carries. Where
 * they do not name it, what it carries may still have been looked up: that is a part.
 */
export function joinCoverage({ own, unnamed, ecosystems, gaps, notes }: Parts): Omit<VulnerabilityAnswer, 'findings'> {
  const isSilent = unnamed !== undefined && (own.coverage === 'covered' || own.coverage === 'partial')
  const isLookedUp = ecosystems.some(({ coverage }) => coverage === 'covered')
  const isWhole = gaps.length === 0 && ecosystems.every(({ coverage }) => coverage === 'covered')
  const known = isSilent ? (isLookedUp ? 'partial' : 'not_covered') : own.coverage
  return {
    coverage: known === 'covered' && !isWhole ? 'partial' : known,
    said: [isSilent ? unnamed : own.said, ...gaps, ...ecosystems.map(({ said }) => said), ...notes].join(' '),
    ...(known === 'not_covered' && isSilent ? { isUnnamed: true } : {}),
    ...(ecosystems.length === 0 ? {} : { ecosystems }),
  }
}
