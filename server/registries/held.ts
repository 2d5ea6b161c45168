import { isMalicious, SEVERITIES, type Finding } from '../core/findings.ts'
import type { PackageRef } from '../core/identity.ts'
import type { Manifest, State } from '../core/manifest.ts'

/** Why a version is not served, as clients of registries show it to people. */
export interface Held {
  /** With the link: `Held for review by Gatehouse: CVE-2024-1 (critical). https://host/#/review?…` */
  readonly sentence: string
  /** ASCII on one line, at most 120 characters, without the link: the text after a status code. */
  readonly short: string
}

/** Which name of the house is not said: not everybody who reads this sees the registry that has it. */
export const LOOKS_ALIKE = 'Its name looks like one that belongs to this house.'
/** The same where a registry holds such versions. */
export const WAITS_AS_LOOKALIKE = 'Its name looks like one that belongs to this house: somebody looks at it first.'

const LONGEST = 120
const MOST_IDS = 3
const MOST_SAID = 300

const BEGINS: Readonly<Record<State, string>> = {
  published: 'Published by Gatehouse',
  pending_review: 'Held for review by Gatehouse',
  quarantined: 'Quarantined by Gatehouse',
  rejected: 'Rejected by Gatehouse',
}

/** Printable ASCII on one line, without accents: what else would end a header, or show as something else. */
export const asciiLine = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{Mark}+/gu, '')
    .replace(/[^ -~]+/g, ' ')
    .replace(/ {2,}/g, ' ')
    .trim()

/** At most so many characters, with an ellipsis where some are left out. */
export const cutLine = (text: string, most: number = LONGEST): string =>
  text.length > most ? `${text.slice(0, most - 3).trimEnd()}...` : text

/** The worst of them, by name: `CVE-2024-1 (critical), CVE-2024-2 (high) and 4 more.` */
export function printFindings(findings: readonly Finding[]): string {
  const worstFirst = findings.toSorted(
    (a, b) =>
      Number(isMalicious(b)) - Number(isMalicious(a)) ||
      SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
      (a.id < b.id ? -1 : 1),
  )
  const ids = [...new Map(worstFirst.map(one => [one.id, one])).values()]
  const shown = ids.slice(0, MOST_IDS).map(one => `${one.id} (${isMalicious(one) ? 'malicious' : one.severity})`)
  const more = ids.length - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`
}

const isGrave = (finding: Finding): boolean =>
  isMalicious(finding) || finding.kev === true || finding.severity === 'critical' || finding.severity === 'high'

/** The cause, without who says it: a person's word, what is grave, what a step says, what else was found. */
function causeOf({
  reports,
  findings,
  review,
  decision,
}: Pick<Manifest, 'reports' | 'findings' | 'review' | 'decision'>): string {
  if (decision?.action === 'reject') return decision.justification
  if (review?.held_for !== undefined) return review.held_for
  const grave = findings.filter(isGrave)
  if (grave.length > 0) return printFindings(grave)
  const step =
    reports.find(({ outcome }) => outcome === 'failed') ??
    reports.find(({ holds }) => holds === true) ??
    // the policy may let pass what an engine did not look at, never what cannot be signed
    reports.find(({ step, outcome }) => step === 'signature' && outcome === 'unavailable') ??
    reports.find(({ outcome }) => outcome === 'unavailable')
  if (step !== undefined && step.said !== '') return step.said
  return findings.length > 0 ? printFindings(findings) : 'somebody decides whether clients get it.'
}

/**
 * Why clients do not get this version: the only place that says it to them.
 * @param console  its address, for the link to the page of the version; absent where the reader has none
 */
export function whyHeld(
  manifest: Pick<Manifest, 'ref' | 'state' | 'reports' | 'findings' | 'review' | 'decision'>,
  console?: string,
): Held {
  const cause = cutLine(asciiLine(causeOf(manifest)), MOST_SAID)
  const said = `${BEGINS[manifest.state]}: ${cause === '' ? 'nobody said why.' : cause}`
  const whole = /[.!?]$/.test(said) ? said : `${said}.`
  return {
    sentence: console === undefined ? whole : `${whole} ${reviewLink(console, manifest.ref)}`,
    short: cutLine(whole),
  }
}

/**
 * Why clients do not get a version that its upstream has: the only place that says it to them.
 * @param said  a sentence with its cause
 */
export function whyHidden(said: string, console: string, { name, codename }: Omit<PackageRef, 'arch'>): Held {
  const cause = cutLine(asciiLine(said), MOST_SAID)
  const query = new URLSearchParams({ in: codename, view: 'hidden', q: name })
  return {
    sentence: `Hidden by Gatehouse: ${cause} ${console}/#/registries?${query.toString()}`,
    short: cutLine(`Hidden by Gatehouse: ${cause}`),
  }
}

/** The page of the console where a held version is decided. @param console  its address, without a slash at the end */
export function reviewLink(console: string, { name, version, codename, arch }: PackageRef): string {
  const query = new URLSearchParams({ pick: name, version, in: codename, arch })
  return `${console}/#/review?${query.toString()}`
}
