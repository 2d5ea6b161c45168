import { ALL_SEEING, type Viewer } from '../core/viewer.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { findHeldPart } from '../catalog/queries/oci.ts'
import type { ContentsOf } from '../contents/contents.ts'
import type { Actor, Changed, Judgement } from '../catalog/change.ts'
import { mergeFindings, type Finding } from '../core/findings.ts'
import type { FormatId, Iso, PackageRef } from '../core/identity.ts'
import { transition, type Manifest, type State } from '../core/manifest.ts'
import type { Report, StepName } from '../core/report.ts'
import { acceptanceOf, asksForReview, openFindings, reconsider } from '../core/review.ts'
import { heldPartSentence, isHeldForPart } from '../core/signature-words.ts'
import { fail } from '../core/errors.ts'
import { isRegistry, type Repositories } from '../core/repository.ts'
import { policyOf } from '../core/policy.ts'
import type { Queryable } from '../db/db.ts'
import { readPooled, type Pool } from '../files/pool.ts'
import type { Format } from '../formats/format.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import type { Step, Subject } from '../pipeline/subject.ts'
import type { Metrics } from '../record/metrics.ts'
import type { Settings } from '../settings/store.ts'
import { differ, idsOf, isSilent, stateAfter, withReport, withScan, type Scanned } from './scan-result.ts'

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
  /**
   * Scans one package again, in any state, and applies the policy again.
   * @param which.told  the step that the audit line speaks of; that of vulnerabilities by default
   * @throws version_not_found
   */
  rescan(
    which: { readonly ref: PackageRef; readonly viewer: Viewer; readonly told?: StepName },
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
  /**
   * Looks at the signatures beside a version again. One that waited for them is scanned and judged anew; of others only
   * what is known of them changes. Does nothing for what is rejected, or not here.
   */
  lookForSignatures(ref: PackageRef, signal: AbortSignal): Promise<void>
}

export interface RescanDeps {
  readonly db: Queryable
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
    readonly signature: Step
  }
  readonly settings: Pick<Settings, 'now'>
  readonly metrics: Pick<Metrics, 'found'>
  readonly clock: Clock
  readonly contents: Pick<ContentsOf, 'of'>
}

/** The name of looks at signatures in the audit log. */
const SIGNATURES = 'signature check'

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
  db,
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

  /** What a package of a registry needs is looked up whenever it is itself, and so are signatures beside it. */
  const alsoFor = ({ distribution, format }: Subject): readonly Step[] => [
    ...(isRegistry(distribution) ? [steps.dependencies] : []),
    ...(isRegistry(distribution) && format.signing !== undefined ? [steps.signature] : []),
  ]

  const partsOf = ({ ref, facts }: Pick<Known, 'ref' | 'facts'>): readonly string[] =>
    formats(ref.format).partsOf?.(facts ?? {}) ?? []

  /** Why a version cannot be published although nothing is wrong with it: a part of it is not served. */
  async function heldForPart({ ref, facts }: Manifest): Promise<string | undefined> {
    // a registry that reads through looks at the parts whenever it is asked
    const isHosted = repositories.get(ref.codename).registry?.kind === 'hosted'
    if (!isHosted || partsOf({ ref, facts }).length === 0) return undefined
    const part = await findHeldPart(db, ref, ref.version)
    return part && heldPartSentence(part.digest, part.platform)
  }

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

  const rescan: Rescans['rescan'] = async ({ ref, viewer, told = 'vulnerabilities' }, actor, signal) => {
    const known =
      (await catalog.find(viewer, ref)) ?? fail('version_not_found', { name: ref.name, version: ref.version })
    const subject = await subjectOf(known)
    // an antivirus engine that did not answer then may answer now: otherwise the package would stay held for ever
    const wasUnavailable = known.reports.some(({ step, outcome }) => step === 'antivirus' && outcome === 'unavailable')
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
    const part = await heldForPart(known)
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
          // a rule that asks for signatures never takes away what is served
          const infected = reports.find(({ outcome, step }) => outcome === 'failed' && step !== 'signature')
          const verdict = reconsider(scan.after, policyOf(settings.now()), now)
          const wanted = verdict.state
          const { said } =
            infected ??
            verdict.because.find(({ licence }) => licence !== undefined) ??
            reports.find(({ step }) => step === told) ??
            report
          const moved = stateAfter(
            manifest,
            infected !== undefined && wanted === 'published' ? 'pending_review' : wanted,
          )
          const waits = part !== undefined && moved === 'published' && manifest.state !== 'published'
          // in quarantine only its signature was missing: for a part it is held, as any other
          const state = waits ? 'pending_review' : moved
          const heldFor = waits
            ? part
            : state === 'pending_review' && manifest.state === 'published'
              ? `Rescan: ${said}`
              : undefined
          const after = {
            ...scan.after,
            state,
            ...(heldFor === undefined ? {} : { review: { ...scan.after.review, held_for: heldFor } }),
          }
          return {
            after,
            fact: {
              action: 'RESCAN',
              result: report.outcome === 'unavailable' ? 'FAILURE' : state === 'pending_review' ? 'WARNING' : 'SUCCESS',
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
  }

  return {
    rescan,
    async lookForSignatures(ref, signal) {
      const known = await catalog.find(ALL_SEEING, ref)
      if (known === undefined || known.state === 'rejected') return
      const subject = await subjectOf(known)
      if (subject.format.signing === undefined) return
      const report = await steps.signature.run(subject, signal)
      const before = known.reports.find(({ step }) => step === report.step)
      const heldFor = known.review?.held_for
      const isOfPart = heldFor !== undefined && isHeldForPart(heldFor, partsOf(known))
      const waited = known.state !== 'published' && (before?.outcome !== 'ok' || isOfPart)
      if (waited && report.outcome === 'ok' && (heldFor === undefined || isOfPart)) {
        await rescan({ ref, viewer: ALL_SEEING, told: report.step }, { name: SIGNATURES }, signal)
        return
      }
      if (before?.said === report.said && before.outcome === report.outcome) return
      const judge = (manifest: Manifest): Judgement => ({
        after: { ...manifest, reports: withReport(manifest.reports, report) },
      })
      await catalog.change({ kind: 'review', ref, judge }, { name: SIGNATURES })
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
