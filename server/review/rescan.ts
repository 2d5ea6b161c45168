import type { Viewer } from '../core/viewer.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { ContentsOf } from '../contents/contents.ts'
import type { Actor, Changed, Judgement } from '../catalog/change.ts'
import { mergeFindings, type Finding } from '../core/findings.ts'
import type { FormatId, Iso, PackageRef } from '../core/identity.ts'
import { transition, type Manifest, type State } from '../core/manifest.ts'
import type { Report } from '../core/report.ts'
import { acceptanceOf, asksForReview, openFindings, reconsider } from '../core/review.ts'
import { fail } from '../core/errors.ts'
import { isRegistry, type Repositories } from '../core/repository.ts'
import { policyOf } from '../core/policy.ts'
import { readPooled, type Pool } from '../files/pool.ts'
import type { Format } from '../formats/format.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import type { Step, Subject } from '../pipeline/subject.ts'
import type { Metrics } from '../record/metrics.ts'
import type { Settings } from '../settings/store.ts'
import { differ, idsOf, isSilent, stateAfter, withScan, type Scanned } from './scan-result.ts'

/** A known package, with or without its index facts. */
export type Known = Omit<Manifest, 'facts' | 'paths'> & Partial<Pick<Manifest, 'facts' | 'paths'>>

export interface Rescanned {
  readonly changed: Changed
  readonly before: State
  readonly report: Report
  /** Ids that no scan of this package had found before, and ids that this one no longer found. */
  readonly fresh: readonly string[]
  readonly gone: readonly string[]
}

/** `same`: nothing was written. `unavailable`: no engine could answer, so nothing new is known. */
export type Matched = 'same' | 'changed' | 'held' | 'unavailable'

export interface Rescans {
  /** Scans one package again, in any state, and applies the policy again. @throws version_not_found */
  rescan(
    which: { readonly ref: PackageRef; readonly viewer: Viewer },
    actor: Actor,
    signal: AbortSignal,
  ): Promise<Rescanned>
  /**
   * An automatic scan of a served or waiting package: new ids whose action is block or review hold it for review;
   * nothing else moves it.
   */
  rematch(known: Known, signal: AbortSignal, by?: string): Promise<Matched>
  /**
   * Findings of a separate mechanism: a second engine, the libraries inside. They are added to those that are known.
   * @param by  the name in the audit log: `dependency scan`
   */
  report(ref: PackageRef, findings: readonly Finding[], by: string): Promise<Matched>
}

export interface RescanDeps {
  readonly catalog: Pick<Catalog, 'change' | 'find'>
  readonly pool: Pick<Pool, 'locate'>
  readonly formats: (id: FormatId) => Format
  readonly repositories: Pick<Repositories, 'get'>
  /** The steps whose result may have changed since. */
  readonly steps: {
    readonly vulnerabilities: Step
    readonly antivirus: Step
    readonly scripts: Step
    /** What the policy makes of its licence. */
    readonly format: Step
    readonly dependencies: Step
  }
  readonly settings: Pick<Settings, 'now'>
  readonly metrics: Pick<Metrics, 'found'>
  readonly clock: Clock
  readonly contents: Pick<ContentsOf, 'of'>
}

const list = (ids: readonly string[]): string =>
  ids.length > 20 ? `${ids.slice(0, 20).join(', ')} and ${ids.length - 20} more` : ids.join(', ')

/** What is on record of a package beside findings, to compare. */
const contentsOf = ({ reports }: Manifest): string =>
  JSON.stringify([
    reports.find(({ step }) => step === 'vulnerabilities')?.contents,
    reports.find(({ step }) => step === 'scripts')?.install,
    reports.find(({ verdict }) => verdict === 'licence')?.said,
  ])

/** Scans packages that are already here again, with what engines know today. */
export function createRescans({
  catalog,
  pool,
  formats,
  repositories,
  steps,
  settings,
  metrics,
  clock,
  contents,
}: RescanDeps): Rescans {
  async function subjectOf(known: Known): Promise<Subject> {
    const { ref, about, facts, paths } = known
    const { codename, ...identity } = ref
    const { validation, cve_policy, script_policy, license_policy } = settings.now()
    const now = isoNow(clock)
    return {
      file: await readPooled(pool, known.files),
      format: formats(ref.format),
      distribution: repositories.get(codename),
      settings: { validation, cve_policy, script_policy, license_policy },
      again: { isAccepted: finding => acceptanceOf(known, finding, now) !== undefined },
      contents: signal => contents.of(known, signal),
      inspected: () => Promise.resolve({ identity, about, facts: facts ?? {}, paths: paths ?? [] }),
    }
  }

  /** What a package of a registry needs is looked up whenever it is itself. */
  const alsoFor = ({ distribution }: Subject): readonly Step[] => (isRegistry(distribution) ? [steps.dependencies] : [])

  function tellFound(fresh: readonly Finding[], { codename }: Pick<PackageRef, 'codename'>): void {
    for (const { severity } of fresh) metrics.found(severity, 1, codename)
  }

  /** Holds a served package because of new findings; otherwise only updates what is known. */
  async function judgeNew(
    ref: PackageRef,
    work: (before: Manifest, now: Iso) => Scanned,
    by: string,
  ): Promise<Matched> {
    let matched: Matched = 'same'
    let fresh: readonly Finding[] = []
    await catalog.change(
      {
        kind: 'review',
        ref,
        judge: (before, now): Judgement | undefined => {
          matched = 'same'
          fresh = []
          if (before.state !== 'published' && before.state !== 'pending_review') return undefined
          const scan = work(before, now)
          if (!differ(scan.after.findings, before.findings) && contentsOf(scan.after) === contentsOf(before))
            return undefined
          fresh = scan.fresh
          const counts = fresh.filter(finding => openFindings({ ...scan.after, findings: [finding] }, now).length > 0)
          const state =
            before.state === 'published' && asksForReview(counts, policyOf(settings.now()))
              ? transition(before.state, 'hold')
              : before.state
          matched = state === before.state ? 'changed' : 'held'
          const isQuiet = fresh.length === 0 && scan.lost.length === 0
          const why = `New: ${list(idsOf(fresh))}.`
          const after = {
            ...scan.after,
            state,
            changed_at: isQuiet ? before.changed_at : now,
            ...(state === before.state ? {} : { review: { ...scan.after.review, held_for: `${by}: ${why}` } }),
          }
          if (isQuiet) return { after }
          const facts = {
            kind: 'package.rescanned',
            from_state: before.state,
            to_state: state,
            found: idsOf(fresh),
            lost: scan.lost,
          } as const
          return { after, fact: { action: 'RESCAN', result: state === before.state ? 'SUCCESS' : 'WARNING', facts } }
        },
      },
      { name: by },
    )
    tellFound(fresh, ref)
    return matched
  }

  return {
    async rescan({ ref, viewer }, actor, signal) {
      const known =
        (await catalog.find(viewer, ref)) ?? fail('version_not_found', { name: ref.name, version: ref.version })
      const subject = await subjectOf(known)
      // an antivirus engine that did not answer then may answer now: otherwise the package would stay held for ever
      const wasUnavailable = known.reports.some(
        ({ step, outcome }) => step === 'antivirus' && outcome === 'unavailable',
      )
      const reports = await Promise.all(
        [
          steps.vulnerabilities,
          ...(wasUnavailable ? [steps.antivirus] : []),
          ...[steps.scripts, steps.format],
          ...alsoFor(subject),
        ].map(step => step.run(subject, signal)),
      )
      const [report] = reports
      if (report === undefined) throw new Error('the scan said nothing')
      let fresh: readonly Finding[] = []
      let lost: readonly string[] = []
      let before: State = known.state
      const changed = await catalog.change(
        {
          kind: 'review',
          ref,
          judge: (manifest, now) => {
            const scan = withScan(manifest, reports, now)
            ;({ fresh, lost } = scan)
            before = manifest.state
            const infected = reports.find(({ outcome }) => outcome === 'failed')
            const verdict = reconsider(scan.after, policyOf(settings.now()), now)
            const wanted = verdict.state
            const { said } = infected ?? verdict.because.find(({ licence }) => licence !== undefined) ?? report
            const state = stateAfter(
              manifest,
              infected !== undefined && wanted === 'published' ? 'pending_review' : wanted,
            )
            const after = {
              ...scan.after,
              state,
              ...(state === 'pending_review' && manifest.state === 'published'
                ? { review: { ...scan.after.review, held_for: `Rescan: ${said}` } }
                : {}),
            }
            return {
              after,
              fact: {
                action: 'RESCAN',
                result:
                  report.outcome === 'unavailable' ? 'FAILURE' : state === 'pending_review' ? 'WARNING' : 'SUCCESS',
                facts: {
                  kind: 'package.rescanned',
                  from_state: manifest.state,
                  to_state: state,
                  message: said,
                  found: idsOf(fresh),
                  lost,
                },
              },
            }
          },
        },
        actor,
      )
      tellFound(fresh, ref)
      return { changed, before, report, fresh: idsOf(fresh), gone: lost }
    },
    async rematch(known, signal, by = 'new vulnerability data') {
      const subject = await subjectOf(known)
      const report = await steps.vulnerabilities.run(subject, signal)
      if (report.outcome === 'skipped' || (isSilent(report) && (report.findings ?? []).length === 0))
        return 'unavailable'
      const others = await Promise.all(
        [steps.scripts, steps.format, ...alsoFor(subject)].map(step => step.run(subject, signal)),
      )
      return judgeNew(known.ref, (before, now) => withScan(before, [report, ...others], now), by)
    },
    report: (ref, findings, by) =>
      judgeNew(
        ref,
        (before, now) => {
          const merged = mergeFindings([before.findings, findings])
          const base = before.reports.find(({ step }) => step === 'vulnerabilities')
          return withScan(
            before,
            [
              {
                step: 'vulnerabilities',
                verdict: 'findings',
                said: `${merged.length} known vulnerabilities.`,
                ...base,
                outcome: 'warned',
                findings: merged,
              },
            ],
            now,
          )
        },
        by,
      ),
  }
}
