import { listPublished, listServedVersions } from '../catalog/queries/served-versions.ts'
import { DEPENDENCY_RULE, isMalicious, type Finding } from '../core/findings.ts'
import { actionOf, hardestAction, policyOf } from '../core/policy.ts'
import { barePurl } from '../core/purl.ts'
import type { Report } from '../core/report.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Queryable } from '../db/db.ts'
import type { Matcher } from '../scanners/matcher.ts'
import { doesNotAnswer, EngineUnavailable } from '../scanners/scanner.ts'
import { isOfLanguage } from '../vulndb/match/ecosystems.ts'
import { resolveNeeds, type Chosen, type ResolvedNeeds } from './registry-needs.ts'
import type { Subject } from './subject.ts'

/** What dependencies are looked up with. */
export type LookUp = Pick<Matcher, 'coverage' | 'match'>

const MOST_NAMED = 5

/** `1 of 3 needs is served here; the others come from elsewhere.` */
function sayServed(needs: number, { elsewhere }: ResolvedNeeds): string {
  const here = needs - elsewhere.length
  if (elsewhere.length === 0) return 'Everything it needs is served here.'
  if (here <= 0) return needs === 1 ? 'What it needs comes from elsewhere.' : 'All that it needs comes from elsewhere.'
  return `${here} of ${needs} needs ${here === 1 ? 'is' : 'are'} served here; the others come from elsewhere.`
}

/** `CVE-2026-1 (critical) in left-pad 1.3.0` */
function name(findings: readonly Finding[], versions: ReadonlyMap<string, string>): string {
  const named = findings
    .slice(0, MOST_NAMED)
    .map(
      one =>
        `${one.id} (${isMalicious(one) ? 'malicious code' : one.severity}) in ${one.package} ${versions.get(one.package) ?? ''}`,
    )
  return `${named.join(', ')}${findings.length > MOST_NAMED ? ` and ${findings.length - MOST_NAMED} more` : ''}`
}

/** Adds where a finding is: in what a client installs beside the package. */
function inDependency({ name, need }: Chosen, purl: string): (finding: Finding) => Finding {
  const at = {
    purl,
    path: `needs ${need}`,
    rule: DEPENDENCY_RULE,
    confidence: 'certain',
    presence: 'declared',
  } as const
  return finding => ({ ...finding, package: name, at })
}

type Looked = { readonly findings: readonly Finding[] } | { readonly silent: Report['outcome']; readonly said: string }

async function lookUp(chosen: readonly Chosen[], subject: Subject, data: LookUp, arch: string): Promise<Looked> {
  const { distribution, format } = subject
  try {
    const { coverage, said } = await data.coverage(distribution)
    // the step of vulnerabilities says what comes of that
    if (coverage === 'no_data' || coverage === 'not_covered') return { silent: 'ok', said }
    const packages = chosen.map(({ name, version }) => ({ name, version, arch, source: '', sourceVersion: '' }))
    const answers = await data.match(distribution, packages)
    return {
      findings: chosen.flatMap((one, at) => {
        const purl = format.purl({ format: format.id, name: one.name, version: one.version, arch }, distribution)
        return (answers[at] ?? []).map(inDependency(one, barePurl(purl)))
      }),
    }
  } catch (error) {
    if (error instanceof EngineUnavailable) return { silent: 'unavailable', said: doesNotAnswer(error.engine, error) }
    throw error
  }
}

/** What the policy makes of findings in dependencies: it may hold, and never rejects. */
function judged(findings: readonly Finding[], chosen: readonly Chosen[], base: Report, subject: Subject): Report {
  const policy = policyOf(subject.settings)
  const open = findings.filter(one => subject.again?.isAccepted(one) !== true)
  const action = hardestAction(open, policy)
  const versions = new Map(chosen.map(one => [one.name, one.version]))
  const because = open.filter(one => actionOf(one, policy) === action)
  const count = findings.length === 1 ? '1 known vulnerability' : `${findings.length} known vulnerabilities`
  const accepted = findings.length === open.length ? '' : ` ${findings.length - open.length} accepted.`
  const said = `${base.said} ${count} in what it needs.${accepted}`
  const told: Report = { ...base, verdict: 'findings', findings, said }
  if (action === 'review')
    return {
      ...told,
      outcome: 'warned',
      holds: true,
      said: `${said} The policy blocks ${name(because, versions)}; in a dependency that asks for a review.`,
    }
  if (action === 'warn')
    return { ...told, outcome: 'warned', said: `${said} The policy warns of ${name(because, versions)}.` }
  return told
}

/** What a version is made of passes the gate by itself, and may come later: nothing is known of it till then. */
async function partsReport(parts: readonly string[], subject: Subject, db: Queryable, name: string): Promise<Report> {
  const { format, distribution } = subject
  const of = { format: format.id, codename: distribution.codename, name }
  const here = await listPublished(db, ALL_SEEING, of, parts)
  const missing = parts.filter(part => !here.has(part))
  const base = { step: 'dependencies', outcome: 'ok' } as const
  if (missing.length === 0) return { ...base, verdict: 'satisfied', said: 'Everything that it names is served here.' }
  return {
    ...base,
    verdict: 'missing',
    missing,
    said: `Served here of the manifests that it names: ${here.size} of ${parts.length}. Each passes the gate by itself when it comes in; nothing is known of those that did not yet.`,
  }
}

/**
 * What a package of a registry needs: the versions that are served in the same registry at this moment, and what is
 * known of them. What is not served here comes from elsewhere, which holds nothing. A finding that would block the
 * package itself asks for a review (the specification, "States and transitions": dependency scan).
 */
export async function registryDependencies(
  subject: Subject,
  { db, data }: { readonly db: Queryable; readonly data: LookUp },
  signal: AbortSignal,
): Promise<Report> {
  const { about, identity, facts } = await subject.inspected(signal)
  const { format, distribution, settings } = subject
  const { depends } = about
  const parts = format.partsOf?.(facts) ?? []
  if (parts.length > 0) return partsReport(parts, subject, db, identity.name)
  if (depends.length === 0)
    return { step: 'dependencies', outcome: 'ok', verdict: 'satisfied', said: 'The package needs nothing.' }
  const names = [...new Set(depends.flat().map(one => one.name))]
  const served = await listServedVersions(db, ALL_SEEING, {
    format: format.id,
    codename: distribution.codename,
    names,
  })
  const resolved = resolveNeeds(depends, served, { format, own: identity })
  const { chosen, elsewhere, unknown } = resolved
  const plain: Report = {
    step: 'dependencies',
    outcome: 'ok',
    verdict: elsewhere.length === 0 ? 'satisfied' : 'missing',
    said: sayServed(depends.length, resolved),
    ...(elsewhere.length === 0 ? {} : { missing: elsewhere }),
  }
  if (!settings.validation.grype_scan || !isOfLanguage(distribution)) return plain
  const gap =
    unknown === 0
      ? ''
      : ` No version is known of ${unknown === 1 ? 'one of them' : `${unknown} of them`}, so nothing was looked up there.`
  const base = { ...plain, said: `${plain.said}${gap}` }
  if (chosen.length === 0) return base
  const looked = await lookUp(chosen, subject, data, identity.arch)
  if ('silent' in looked)
    return { ...base, outcome: looked.silent, said: `${base.said} Its dependencies were not looked up. ${looked.said}` }
  return looked.findings.length === 0 ? base : judged(looked.findings, chosen, base, subject)
}
