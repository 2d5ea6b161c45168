import type { Engines } from '../../wire.ts'

/** How far vulnerability data cover a distribution, as it is said; the best comes first. */
export const COVERAGE: Readonly<Record<string, { word: string; icon: string; tone: string }>> = {
  covered: { word: 'Covered', icon: 'pass', tone: 'covered' },
  partial: { word: 'In part', icon: 'warn', tone: 'stale' },
  stale: { word: 'Too old', icon: 'warn', tone: 'stale' },
  not_covered: { word: 'Not covered', icon: 'unavailable', tone: 'unavailable' },
  no_data: { word: 'No data', icon: 'unavailable', tone: 'unavailable' },
  failed: { word: 'Failed', icon: 'fail', tone: 'broken' },
}
export const coverageOf = (id: string): { word: string; icon: string; tone: string } =>
  COVERAGE[id] ?? { word: id, icon: 'info', tone: 'unavailable' }

/** What the engine that covers a distribution best says of it. May find none. */
export function findCoverage(engines: Engines['engines'], codename: string) {
  const order = Object.keys(COVERAGE)
  return engines
    .flatMap(({ distributions }) => distributions.filter(one => one.distribution === codename))
    .toSorted((a, b) => order.indexOf(a.coverage) - order.indexOf(b.coverage))[0]
}
