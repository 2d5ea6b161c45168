import { SCANS, type Beside, type Scan, type Selected } from '../../catalog/queries/review-selection.ts'
import type { AppError, ErrorCode } from '../../core/errors.ts'
import { SEVERITIES, type Severity } from '../../core/findings.ts'

/** A package in an answer about many. */
export interface Named {
  readonly name: string
  readonly version: string
  readonly distribution: string
  readonly arch: string
}

/** A package that a decision leaves as it is, and why. */
export interface LeftOut extends Named {
  readonly code: ErrorCode
  readonly error: string
}

/** A package that has to be ticked by itself before it may be published. */
export interface Remarked extends Named {
  /** What ticks it, in `confirmed`. */
  readonly key: number
  readonly severity: Severity | null
  readonly overdue: boolean
  readonly kev: boolean
  readonly malicious: boolean
}

/** What publishing changes for the clients of one distribution. */
export interface ForClients extends Readonly<Record<Beside, number>> {
  readonly distribution: string
  /** Clients are kept at an earlier publication: they get nothing until it goes forward again. */
  readonly held_back: boolean
}

export const named = ({
  name,
  version,
  codename,
  arch,
}: Pick<Selected, 'name' | 'version' | 'codename' | 'arch'>): Named => ({
  name,
  version,
  distribution: codename,
  arch,
})

type Perils = Pick<Selected, 'severity' | 'overdue' | 'kev' | 'malicious'>

/** Why it must not go along with others unseen; empty where it may. */
export function perilsOf({ severity, overdue, kev, malicious }: Perils): readonly string[] {
  return [
    ...(malicious ? ['malicious code'] : []),
    ...(kev ? ['known to be exploited'] : []),
    ...(overdue && severity === 'critical' ? ['critical and overdue'] : []),
  ]
}

/** What a package without a finding that counts is: `not_looked` where no engine looked at all of it. */
export const NO_SEVERITY = ['none', 'not_looked'] as const
export type BySeverity = Readonly<Record<Severity | (typeof NO_SEVERITY)[number], number>>

/** How many of these packages have which severity as their worst. */
export function countSeverities(packages: readonly Pick<Selected, 'severity' | 'not_scanned'>[]): BySeverity {
  const words = packages.map(
    ({ severity, not_scanned }) => severity ?? (not_scanned.includes('vulnerabilities') ? 'not_looked' : 'none'),
  )
  return Object.fromEntries(
    [...SEVERITIES, ...NO_SEVERITY].map(word => [word, words.filter(one => one === word).length]),
  ) as BySeverity
}

/** How many were not scanned in full, by any scan and by each. */
export type NotScanned = Readonly<Record<Scan | 'any', number>>

export function countNotScanned(packages: readonly Pick<Selected, 'not_scanned'>[]): NotScanned {
  const by = SCANS.map(scan => [scan, packages.filter(one => one.not_scanned.includes(scan)).length])
  const any = packages.filter(one => one.not_scanned.length > 0).length
  return { any, ...Object.fromEntries(by) } as NotScanned
}

/** What publishing these changes for clients, one row for each distribution. */
export function forClients(
  packages: readonly Pick<Selected, 'codename' | 'beside'>[],
  heldBack: ReadonlySet<string>,
): readonly ForClients[] {
  return [...new Set(packages.map(({ codename }) => codename))].sort().map(distribution => {
    const here = packages.filter(({ codename }) => codename === distribution)
    const count = (what: Beside): number => here.filter(({ beside }) => beside === what).length
    return {
      distribution,
      new: count('new'),
      newer: count('newer'),
      older: count('older'),
      held_back: heldBack.has(distribution),
    }
  })
}

/** A refusal as an answer and a log have it. */
export function leftOut(one: Named, { code, message }: Pick<AppError, 'code' | 'message'>): LeftOut {
  return { ...one, code, error: message }
}

/** How many were left out for which reason. */
export function countCodes(refused: readonly Pick<LeftOut, 'code'>[]): Readonly<Partial<Record<ErrorCode, number>>> {
  const counts: Partial<Record<ErrorCode, number>> = {}
  for (const { code } of refused) counts[code] = (counts[code] ?? 0) + 1
  return counts
}
