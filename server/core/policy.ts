import type { Action } from './action.ts'
import type { Finding, Severity } from './findings.ts'
import { isMalicious, isOfDependency, isProbable, worst } from './findings.ts'
import { actionForKind, type InstallRecord, type ScriptPolicy } from './install-facts.ts'
import { licenceAction, type LicencePolicy } from './licences/policy.ts'
import type { State } from './manifest.ts'
import type { EngineRecord, Report } from './report.ts'

export type { Action }

/** The settings that decide. */
export interface CvePolicy {
  readonly critical: Action
  readonly high: Action
  readonly medium: Action
  readonly low: Action
  readonly negligible: Action
  /**
   * The severity whose action applies to unrated findings: `high` by default, since they may turn out to be anything.
   */
  readonly unknown_as?: Exclude<Severity, 'unknown'>
  /** What happens when an engine could not answer, or had no or old data. */
  readonly on_scanner_unavailable: 'hold' | 'warn'
  /** The least action for what is known to be exploited (KEV); absent means `allow`, which adds nothing. */
  readonly kev_action?: Action
  /** The least action where the exploit probability (EPSS) is `epss_threshold` or more; absent means `allow`. */
  readonly epss_action?: Action
  /** 0 to 1. */
  readonly epss_threshold?: number
  /**
   * A finding without a known fix is at most a warning by its severity: there is nothing to upgrade to. KEV and EPSS
   * count all the same.
   */
  readonly require_fix?: boolean
  /** The least action for malicious packages, whatever the severities say; absent means `block`. */
  readonly malicious_action?: Action
  /** For what scripts do and lists of files say; a kind that is not named has its default. */
  readonly scripts?: ScriptPolicy
  /** For what packages say of their licence; absent: nothing is forbidden. */
  readonly licences?: LicencePolicy
}

/** The part of the settings that decides. */
export function policyOf({
  cve_policy,
  validation,
  script_policy,
  license_policy,
}: {
  readonly cve_policy: Required<Omit<CvePolicy, 'on_scanner_unavailable' | 'scripts' | 'licences'>>
  readonly validation: Pick<CvePolicy, 'on_scanner_unavailable'>
  readonly script_policy: ScriptPolicy
  readonly license_policy: LicencePolicy
}): CvePolicy {
  const { critical, high, medium, low, negligible, unknown_as, kev_action, epss_threshold, epss_action } = cve_policy
  const { require_fix, malicious_action } = cve_policy
  return {
    critical,
    high,
    medium,
    low,
    negligible,
    unknown_as,
    kev_action,
    epss_threshold,
    epss_action,
    require_fix,
    malicious_action,
    on_scanner_unavailable: validation.on_scanner_unavailable,
    scripts: script_policy,
    licences: license_policy,
  }
}

/** What becomes of uploads while an engine cannot look: `unchecked` where its step is switched off. */
export interface Meanwhile {
  readonly uploads: 'hold' | 'warn' | 'unchecked'
  /** The same in one sentence. */
  readonly said: string
}

const MEANWHILE: Readonly<Record<Meanwhile['uploads'], (which: string) => string>> = {
  hold: which => `${which} are held for review.`,
  warn: which => `${which} are published with a warning.`,
  unchecked: () => 'The step is switched off, and uploads pass without it.',
}

/**
 * The only place that says what becomes of uploads which an engine cannot look at.
 * @param isOn  whether its step runs
 * @param which  those it is about, as the sentence begins
 */
export function whileUnavailable(
  { on_scanner_unavailable: action }: Pick<CvePolicy, 'on_scanner_unavailable'>,
  isOn: boolean,
  which = 'Uploads',
): Meanwhile {
  const uploads = isOn ? action : 'unchecked'
  return { uploads, said: MEANWHILE[uploads](which) }
}

/**
 * What a policy misses that looks at exploitation while the catalogue of it is not loaded; undefined where it looks at
 * none of them.
 */
export function missingCatalogues(
  without: readonly ('epss' | 'kev')[],
  { kev_action = 'allow', epss_action = 'allow' }: Pick<CvePolicy, 'kev_action' | 'epss_action'>,
): string | undefined {
  const names = [
    ...(kev_action === 'allow' ? [] : ['kev' as const]),
    ...(epss_action === 'allow' ? [] : ['epss' as const]),
  ]
    .filter(name => without.includes(name))
    .map(name => name.toUpperCase())
  if (names.length === 0) return undefined
  return `The policy looks at ${names.join(' and ')}, which ${names.length === 1 ? 'is' : 'are'} not loaded. Import ${names.length === 1 ? 'it' : 'them'}, or set the action to allow.`
}

/** The same, with what becomes of uploads. */
export function missingCataloguesWarning(
  without: readonly ('epss' | 'kev')[],
  policy: Pick<CvePolicy, 'kev_action' | 'epss_action' | 'on_scanner_unavailable'>,
): string | undefined {
  const said = missingCatalogues(without, policy)
  return said === undefined
    ? undefined
    : `${said} ${whileUnavailable(policy, true, 'Uploads with known vulnerabilities').said}`
}

/** Why an antivirus engine gives no answer. `no_signatures`: it is on this machine, and does not start without them. */
export type Silence = 'not_set_up' | 'no_signatures' | 'no_answer'
const SILENCES: Readonly<Record<Silence, string>> = {
  not_set_up: 'No antivirus engine is set up.',
  no_signatures: 'The antivirus engine has no signatures of malware yet, and does not start without them.',
  no_answer: 'The antivirus engine does not answer.',
}

/** Where signatures come from, for clamd without any. */
export const BRING_SIGNATURES =
  'They come by freshclam where there is internet, and otherwise from where the settings section clamav says. Then start clamd; an appliance does that itself.'

/** Why an antivirus engine is silent, without the address that its own words may hold. */
export const antivirusSilence = (why: Silence): string => SILENCES[why]

/** What a silent antivirus engine means, where its step runs. */
export const antivirusSilent = (policy: Pick<CvePolicy, 'on_scanner_unavailable'>, why: Silence): string =>
  `${antivirusSilence(why)} ${whileUnavailable(policy, true).said}`

/** As `antivirusSilent`, with where signatures come from when they are what it lacks. */
export const antivirusWarning = (policy: Pick<CvePolicy, 'on_scanner_unavailable'>, why: Silence): string =>
  [antivirusSilent(policy, why), ...(why === 'no_signatures' ? [BRING_SIGNATURES] : [])].join(' ')

/** What a step means that an admin switched off. @param step  `antivirus scan` */
export const switchedOff = (step: string): string => `The ${step} is switched off, and uploads pass without it.`

export interface Verdict {
  readonly state: State
  /** The reports that led to it, worst first; empty when everything was fine. */
  readonly because: readonly Report[]
  readonly warned: boolean
}

/** The action for a severity alone. */
export function actionFor(severity: Severity, policy: CvePolicy): Action {
  return policy[severity === 'unknown' ? (policy.unknown_as ?? 'high') : severity]
}

const RANK: Record<Action, number> = { block: 3, review: 2, warn: 1, allow: 0 }

/** The stricter of two actions. */
export const harder = (a: Action, b: Action): Action => (RANK[b] > RANK[a] ? b : a)
const softer = (a: Action, b: Action): Action => (RANK[b] < RANK[a] ? b : a)

/**
 * What comes of an action in a dependency: what would block the package itself asks for a review, and nothing less
 * holds (the specification, "States and transitions").
 */
const IN_DEPENDENCY: Readonly<Record<Action, Action>> = {
  block: 'review',
  review: 'warn',
  warn: 'warn',
  allow: 'allow',
}

/**
 * The action for one finding: by its severity, and at least that for its exploitation and for malicious code; one step
 * less where it is in a dependency.
 */
export function actionOf(finding: Finding, policy: CvePolicy): Action {
  const action = ownAction(finding, policy)
  return isOfDependency(finding) ? IN_DEPENDENCY[action] : action
}

function ownAction(finding: Finding, policy: CvePolicy): Action {
  const { kev_action = 'allow', epss_action = 'allow', epss_threshold = 1, require_fix = false } = policy
  const { malicious_action = 'block' } = policy
  const bySeverity = actionFor(finding.severity, policy)
  const byFix = require_fix && finding.fixed_in === undefined ? softer(bySeverity, 'warn') : bySeverity
  const byKev = finding.kev === true ? kev_action : 'allow'
  const byEpss = finding.epss !== undefined && finding.epss >= epss_threshold ? epss_action : 'allow'
  const byMalice = isMalicious(finding) ? malicious_action : 'allow'
  return harder(harder(byFix, byMalice), harder(byKev, byEpss))
}

/**
 * The hardest action any finding asks for. A policy may be stricter on `high` than on `critical`; the hardest still
 * wins.
 */
export function hardestAction(findings: readonly Finding[], policy: CvePolicy): Action {
  return findings.reduce<Action>((sofar, finding) => harder(sofar, actionOf(finding, policy)), 'allow')
}

/**
 * Findings that only a second engine reported. The first engine that knows the distribution decides; those behind it
 * check it. Where none knows the distribution there is nothing to check.
 */
export function crossChecked(
  findings: readonly Finding[],
  engines: readonly Pick<EngineRecord, 'id' | 'coverage' | 'unnamed'>[] = [],
): readonly Finding[] {
  const own = engines.findIndex(
    ({ coverage, unnamed }) => coverage === 'covered' || coverage === 'partial' || unnamed === true,
  )
  const second = own < 0 ? [] : engines.slice(own + 1).map(({ id }) => id)
  return findings.filter(({ detected_by: by }) => by.length > 0 && by.every(id => second.includes(id)))
}

/**
 * Findings that hold for review where the policy blocks: what a second engine alone saw (the specification, "States and
 * transitions"), and what is about a component that is only probably there, or a record that is only probably about it.
 * Malicious code is blocked nevertheless.
 */
export function heldOnly(
  findings: readonly Finding[],
  engines?: Parameters<typeof crossChecked>[1],
): readonly Finding[] {
  const others = new Set(crossChecked(findings, engines))
  return findings.filter(one => others.has(one) || (isProbable(one) && !isMalicious(one)))
}

/** The action of a scan at upload. */
export function uploadAction(
  { findings = [], engines }: Pick<Report, 'findings' | 'engines'>,
  policy: CvePolicy,
): Action {
  const held = new Set(heldOnly(findings, engines))
  return harder(
    hardestAction(
      findings.filter(one => !held.has(one)),
      policy,
    ),
    softer(hardestAction([...held], policy), 'review'),
  )
}

/** What an action means for a package that comes in, in one sentence. */
export const DONE: Readonly<Record<Exclude<Action, 'allow'>, string>> = {
  block: 'The policy blocks this; the file is in quarantine.',
  review: 'The policy asks for a review before it is served.',
  warn: 'The policy warns of this.',
}

/** The hardest action that anything a package does at installation asks for. */
export function installAction(install: Pick<InstallRecord, 'facts'> | undefined, { scripts }: CvePolicy): Action {
  const kinds = new Set(install?.facts.map(({ kind }) => kind))
  return [...kinds].reduce<Action>((sofar, kind) => harder(sofar, actionForKind(kind, scripts)), 'allow')
}

/**
 * Turns reports into a verdict. Pure; the only place where that is decided.
 * @param mode  `native` at upload and import, which may reject or quarantine; `retro` for everything later, which may
 * only hold for review (the specification, "States and transitions", last paragraph)
 */
export function decide(reports: readonly Report[], policy: CvePolicy, mode: 'native' | 'retro'): Verdict {
  const failed = reports.filter(report => report.outcome === 'failed')
  const findings = reports.flatMap(report => report.findings ?? [])
  const byFindings =
    mode === 'retro'
      ? hardestAction(findings, policy)
      : reports.map(report => uploadAction(report, policy)).reduce<Action>(harder, 'allow')
  const ownActionOf = ({ install, licence }: Report): Action =>
    harder(installAction(install, policy), licenceAction(licence, policy.licences))
  const action = reports.map(ownActionOf).reduce(harder, byFindings)
  const unavailable = reports.filter(report => report.outcome === 'unavailable')
  const asking = reports.filter(report => {
    const asks = action !== 'allow' && ownActionOf(report) === action
    return asks || (byFindings === action && worst(report.findings ?? []) !== undefined)
  })
  const warned = action === 'warn' || reports.some(report => report.outcome === 'warned') || unavailable.length > 0

  if (mode === 'native' && failed.length > 0) {
    return {
      state: failed.some(report => report.quarantine === true) ? 'quarantined' : 'rejected',
      because: failed,
      warned,
    }
  }
  if (action === 'block')
    return { state: mode === 'native' ? 'quarantined' : 'pending_review', because: asking, warned }
  if (failed.length > 0) return { state: 'pending_review', because: failed, warned }
  // who has to sign is a rule of the registry, and no setting
  const unsigned = reports.filter(({ step, holds }) => step === 'signature' && holds === true)
  if (action === 'review') return { state: 'pending_review', because: [...asking, ...unsigned], warned }
  if (unsigned.length > 0) return { state: 'pending_review', because: unsigned, warned }
  // the setting speaks of engines; without a signing key nothing can be published, whatever it says
  const waits = unavailable.filter(({ step }) => step === 'signature' || policy.on_scanner_unavailable === 'hold')
  if (waits.length > 0) return { state: 'pending_review', because: waits, warned }
  return { state: 'published', because: warned ? [...asking, ...unavailable] : [], warned }
}
