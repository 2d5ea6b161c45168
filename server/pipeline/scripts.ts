import { listPrevious } from '../catalog/queries/previous.ts'
import { changesBetween, sayChanges } from '../contents/changes.ts'
import type { Contents } from '../contents/component.ts'
import type { ContentsOf } from '../contents/contents.ts'
import type { PackageRef } from '../core/identity.ts'
import { actionForKind, sayFact, type InstallFact, type InstallRecord } from '../core/install-facts.ts'
import { DONE, installAction, policyOf, type Action, type CvePolicy } from '../core/policy.ts'
import type { Report } from '../core/report.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import { isUnavailable } from '../db/database-unavailable.ts'
import type { Queryable } from '../db/db.ts'
import { shareReads } from '../lib/groups.ts'
import type { Step, Subject } from './subject.ts'

export interface ScriptsDeps {
  readonly db: Queryable
  /** What is kept of the version before. */
  readonly contents: Pick<ContentsOf, 'known'>
}

// the manifest of a package keeps these
const MOST_RECORDED = 150
const MOST_SAID = 3

const RANK: Readonly<Record<Action, number>> = { block: 0, review: 1, warn: 2, allow: 3 }

/** The facts for the record, those that the policy looks at first. */
function recordOf({ scripts, facts, more = 0 }: InstallRecord, policy: CvePolicy): InstallRecord {
  const rank = ({ kind }: InstallFact): number => RANK[actionForKind(kind, policy.scripts)]
  const kept = facts.toSorted((a, b) => rank(a) - rank(b)).slice(0, MOST_RECORDED)
  const hidden = more + facts.length - kept.length
  return { scripts, facts: kept, ...(hidden === 0 ? {} : { more: hidden }) }
}

/** `postinst runs what it downloads (line 3: curl … | sh), and 2 more.` */
function name(facts: readonly InstallFact[]): string {
  const more = facts.length > MOST_SAID ? `, and ${facts.length - MOST_SAID} more` : ''
  return `${facts.slice(0, MOST_SAID).map(sayFact).join('; ')}${more}.`
}

function count({ scripts, facts }: InstallRecord): string {
  const [s, f] = [scripts.length, facts.length]
  return `${s} ${s === 1 ? 'script' : 'scripts'}, ${f} ${f === 1 ? 'fact' : 'facts'} about what installing it does; nothing that the policy looks at.`
}

/** What the policy makes of it. */
function judged(install: InstallRecord | undefined, { settings, again }: Pick<Subject, 'settings' | 'again'>): Report {
  if (install === undefined)
    return {
      step: 'scripts',
      outcome: 'ok',
      verdict: 'plain',
      said: 'No scripts; installing it only puts plain files in their places.',
    }
  const policy = policyOf(settings)
  const record = recordOf(install, policy)
  const action = installAction(install, policy)
  if (action === 'allow')
    return { step: 'scripts', outcome: 'ok', verdict: 'facts', said: count(install), install: record }
  const because = record.facts.filter(({ kind }) => actionForKind(kind, policy.scripts) === action)
  const base = { step: 'scripts', verdict: 'facts', install: record } as const
  // known already: it was judged when it came, and only told of now
  if (again !== undefined) return { ...base, outcome: 'warned', said: name(because) }
  const said = `${name(because)} ${DONE[action]}`
  if (action === 'block') return { ...base, outcome: 'failed', quarantine: true, said }
  return { ...base, outcome: 'warned', said, ...(action === 'review' ? { holds: true } : {}) }
}

/**
 * The step of what scripts do, and of what the list of files says: setuid programs, services, cron jobs. Says
 * also what is new in that since the version that clients have.
 */
export function scriptsStep({ db, contents: kept }: ScriptsDeps): Step {
  const findPrevious = shareReads((refs: readonly PackageRef[]) => listPrevious(db, ALL_SEEING, refs), isUnavailable)

  async function since(subject: Subject, now: Contents, signal: AbortSignal): Promise<Report['since']> {
    const { identity, kind } = await subject.inspected(signal)
    if (kind === 'source') return undefined
    const before = await findPrevious({ ...identity, codename: subject.distribution.codename })
    const known = before === undefined ? undefined : await kept.known(before)
    if (before === undefined || known === undefined) return undefined
    if (now.install === undefined && known.install === undefined) return undefined
    return { version: before.ref.version, said: sayChanges(changesBetween(known, now)) }
  }

  return {
    name: 'scripts',
    async run(subject, signal) {
      const contents = await subject.contents(signal)
      const report = judged(contents.install, subject)
      const news = await since(subject, contents, signal)
      const told = news === undefined ? report : { ...report, since: news }
      // what was not read may hold scripts
      if (contents.cut === undefined || report.outcome === 'failed') return told
      return { ...told, outcome: 'unavailable', verdict: 'partial', said: `${told.said} ${contents.cut}` }
    },
  }
}
