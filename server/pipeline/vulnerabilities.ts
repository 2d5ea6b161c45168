import { recordOf as contentsRecord, sayPartial, type Contents } from '../contents/component.ts'
import { askedOf } from '../contents/asked.ts'
import { isOwnPlace, type Owner } from '../contents/ownership.ts'
import { closeDenied, isMalicious, mergeFindings, SEVERITIES, type Denied, type Finding } from '../core/findings.ts'
import {
  actionOf,
  crossChecked,
  hardestAction,
  missingCatalogues,
  policyOf,
  uploadAction,
  type CvePolicy,
} from '../core/policy.ts'
import type { EngineRecord, Report } from '../core/report.ts'
import {
  doesNotAnswer,
  EngineUnavailable,
  type CoverageAnswer,
  type ScanSubject,
  type VulnerabilityAnswer,
  type VulnerabilityScanner,
} from '../scanners/scanner.ts'
import { scanSubject, type Step, type Subject } from './subject.ts'

interface Answer extends Omit<VulnerabilityAnswer, 'coverage'> {
  readonly id: string
  readonly coverage: CoverageAnswer | 'unavailable'
}

// together the engines cover as much as the best of them
const ORDER = ['covered', 'partial', 'stale', 'not_covered', 'no_data', 'unavailable'] as const

/** `2 critical, 1 low` */
function count(findings: readonly Finding[]): string {
  return SEVERITIES.map(
    severity => [findings.filter(finding => finding.severity === severity).length, severity] as const,
  )
    .filter(([n]) => n > 0)
    .map(([n, severity]) => `${n} ${severity}`)
    .join(', ')
}

/** `Malicious code: MAL-2024-1 in event-stream. `, or nothing. */
function sayMalicious(findings: readonly Finding[]): string {
  const named = findings.filter(isMalicious).map(({ id, package: name }) => `${id} in ${name}`)
  const more = named.length > 5 ? ` and ${named.length - 5} more` : ''
  return named.length === 0 ? '' : `Malicious code: ${named.slice(0, 5).join(', ')}${more}. `
}

/** Why the policy does not block: what a second engine alone saw, or what is only probable. */
function sayHeld(findings: readonly Finding[], engines: readonly EngineRecord[], policy: CvePolicy): string {
  const second = crossChecked(findings, engines).filter(one => actionOf(one, policy) === 'block')
  const seenBy = [...new Set(second.flatMap(({ detected_by }) => detected_by))].join(' and ')
  return second.length > 0
    ? `The policy blocks what ${seenBy} alone saw; a second engine's word asks for a review.`
    : 'The policy blocks what is only probably in it; a finding that is not certain asks for a review.'
}

/** What the policy makes of findings, in the words of a report. */
function found(
  findings: readonly Finding[],
  engines: readonly EngineRecord[],
  { settings, again }: Pick<Subject, 'settings' | 'again'>,
): Report {
  const open = again === undefined ? findings : findings.filter(finding => !again.isAccepted(finding))
  const accepted = findings.length === open.length ? '' : ` ${findings.length - open.length} accepted.`
  const said = `${sayMalicious(open)}${findings.length === 1 ? `1 known vulnerability: ${count(findings)}.` : `${findings.length} known vulnerabilities: ${count(findings)}.`}${accepted}`
  const base = { step: 'vulnerabilities', verdict: 'findings', findings } as const
  const policy = policyOf(settings)
  const action = hardestAction(open, policy)
  if (action === 'block' && again !== undefined)
    return {
      ...base,
      outcome: 'warned',
      holds: true,
      said: `${said} The policy would block this today; it needs a review.`,
    }
  const atUpload = uploadAction({ findings: open, engines }, policy)
  if (atUpload !== action)
    return {
      ...base,
      outcome: 'warned',
      holds: true,
      said: `${said} ${sayHeld(open, engines, policy)}`,
    }
  switch (action) {
    case 'block':
      return {
        ...base,
        outcome: 'failed',
        quarantine: true,
        said: `${said} The policy blocks this; the file is in quarantine.`,
      }
    case 'review':
      return {
        ...base,
        outcome: 'warned',
        holds: true,
        said: `${said} The policy asks for a review before it is served.`,
      }
    case 'warn':
      return { ...base, outcome: 'warned', said: `${said} The policy warns of this.` }
    case 'allow':
      return { ...base, outcome: 'ok', said: `${said} The policy allows them.` }
  }
}

/**
 * The coverage of all engines together. No other engine makes up for one that is installed and does not answer.
 */
function coverageOf(answers: readonly Answer[]): Answer['coverage'] {
  if (answers.some(({ coverage }) => coverage === 'unavailable')) return 'unavailable'
  return ORDER.find(kind => answers.some(({ coverage }) => coverage === kind)) ?? 'no_data'
}

const recordOf = ({ id, coverage, isUnnamed, said, findings, ecosystems, binary }: Answer): EngineRecord => ({
  id,
  coverage: coverage === 'unavailable' ? 'failed' : coverage,
  ...(isUnnamed === true ? { unnamed: true } : {}),
  said,
  findings: findings.length,
  ...(ecosystems === undefined ? {} : { ecosystems }),
  ...(binary === undefined ? {} : { binary }),
})

function reportOf(
  answers: readonly Answer[],
  findings: readonly Finding[],
  subject: Pick<Subject, 'settings' | 'again'>,
): Report {
  const coverage = coverageOf(answers)
  const said =
    answers.length === 0
      ? 'No vulnerability engine is configured.'
      : answers
          .filter(answer => answer.coverage === coverage)
          .map(answer => answer.said)
          .join(' ')
  const known = findings.length === 0 ? undefined : found(findings, answers.map(recordOf), subject)
  if (known?.outcome === 'failed') return known
  if (coverage === 'covered') return known ?? { step: 'vulnerabilities', outcome: 'ok', verdict: 'no_findings', said }
  if (coverage === 'partial')
    return known === undefined
      ? { step: 'vulnerabilities', outcome: 'warned', verdict: 'no_findings', said }
      : { ...known, said: `${known.said} ${said}` }
  // current data of the distribution are loaded and only this package is not in them: nobody failed to answer
  if (coverage === 'not_covered' && known === undefined && answers.some(({ isUnnamed }) => isUnnamed === true))
    return { step: 'vulnerabilities', outcome: 'warned', verdict: 'no_data', said }
  // findings from old or missing data count, but the absence of further ones says nothing
  return {
    step: 'vulnerabilities',
    outcome: 'unavailable',
    verdict: coverage === 'not_covered' ? 'no_data' : coverage,
    said: known === undefined ? said : `${known.said} ${said}`,
    ...(known === undefined ? {} : { findings }),
  }
}

/** Adds what is known about exploitation; names the catalogues that could not be asked. */
export type Enrich = (
  findings: readonly Finding[],
) => Promise<{ readonly findings: readonly Finding[]; readonly without: readonly ('epss' | 'kev')[] }>

/**
 * A policy that relies on a missing catalogue was not fully applied: that is reported like an engine that does not
 * answer.
 */
function unasked(without: readonly ('epss' | 'kev')[], policy: Subject['settings']['cve_policy']): Answer[] {
  const said = missingCatalogues(without, policy)
  return said === undefined ? [] : [{ id: 'enrichment', coverage: 'unavailable', findings: [], said }]
}

/** Who answers for what the package carries. An engine that cannot say is none that vouches. */
async function ownerOf(subject: ScanSubject, scanners: readonly VulnerabilityScanner[]): Promise<Owner> {
  const asked = scanners.map(async scanner => scanner.knows?.(subject).catch(() => undefined))
  const known = (await Promise.all(asked)).find(one => one !== undefined)
  return { known, sourceVersion: subject.about.source_version, builtUsing: subject.about.built_using ?? [] }
}

/**
 * What was not opened counts like an engine that could not answer: nothing is known of it. Of what the distribution
 * answers for, its advisories know enough.
 */
function withContents(report: Report, contents: Contents, owner: Owner): Report {
  const record = contentsRecord(contents)
  const { more = 0, cut } = contents
  const open = contents.unopened.filter(({ path }) => !isOwnPlace(path, owner))
  const partial = sayPartial({ ...contents, unopened: open, more: open.length > 0 || cut !== undefined ? more : 0 })
  const known = record === undefined ? report : { ...report, contents: record }
  if (partial === undefined) return known
  const said = `${report.said} ${partial}`
  return report.outcome === 'failed' || report.outcome === 'unavailable'
    ? { ...known, said }
    : { ...known, said, outcome: 'unavailable', verdict: 'partial' }
}

/** Says what a vendor's word closed. */
function withDenied(report: Report, closed: readonly Denied[]): Report {
  const said = closed.slice(0, 5).map(one => ` ${one.id} does not count: ${one.said}`)
  const more = closed.length > 5 ? ` ${closed.length - 5} more do not count for such reasons.` : ''
  return closed.length === 0 ? report : { ...report, said: `${report.said}${said.join('')}${more}` }
}

async function isAsked({ isPresent }: VulnerabilityScanner): Promise<boolean> {
  return isPresent === undefined || (await isPresent())
}

/**
 * Step 4. Asks every installed engine at once and merges the findings. Reports old or missing data as such, never as no
 * findings.
 */
export function vulnerabilitiesStep(scanners: readonly VulnerabilityScanner[], enrich?: Enrich): Step {
  return {
    name: 'vulnerabilities',
    async run(subject, signal) {
      if (!subject.settings.validation.grype_scan) {
        return {
          step: 'vulnerabilities',
          outcome: 'skipped',
          verdict: 'skipped',
          said: 'The vulnerability scan is switched off (validation.grype_scan).',
        }
      }
      const contents = await subject.contents(signal)
      const own = await scanSubject(subject, signal)
      const owner = await ownerOf(own, scanners)
      const scan = { ...own, embedded: askedOf(contents, owner) }
      const asked = await Promise.all(scanners.map(async scanner => ((await isAsked(scanner)) ? [scanner] : [])))
      const answers = await Promise.all(
        asked.flat().map(async (scanner): Promise<Answer> => {
          try {
            return { id: scanner.id, ...(await scanner.scan(scan, signal)) }
          } catch (error) {
            if (error instanceof EngineUnavailable)
              return {
                id: scanner.id,
                coverage: 'unavailable',
                findings: [],
                said: doesNotAnswer(scanner.id, error),
              }
            throw error
          }
        }),
      )
      const all = mergeFindings(answers.map(answer => answer.findings))
      const { findings: merged, closed } = answers.reduce<ReturnType<typeof closeDenied>>(
        (sofar, { id, denied = [] }) => {
          const next = closeDenied(sofar.findings, denied, id)
          return { findings: next.findings, closed: [...sofar.closed, ...next.closed] }
        },
        { findings: all, closed: [] },
      )
      const { cve_policy } = subject.settings
      const { findings, without } =
        enrich === undefined || !cve_policy.auto_enrich || merged.length === 0
          ? { findings: merged, without: [] }
          : await enrich(merged)
      return {
        ...withContents(
          withDenied(reportOf([...answers, ...unasked(without, cve_policy)], findings, subject), closed),
          contents,
          owner,
        ),
        engines: answers.map(recordOf),
        ...(closed.length === 0 ? {} : { denied: closed }),
      }
    },
  }
}
