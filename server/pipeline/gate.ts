import type { Catalog } from '../catalog/catalog.ts'
import type { Actor, Admit, Changed } from '../catalog/change.ts'
import type { Contents } from '../contents/component.ts'
import type { ContentsOf } from '../contents/contents.ts'
import { fail } from '../core/errors.ts'
import { mergeFindings, worst } from '../core/findings.ts'
import { printRef, type PackageRef } from '../core/identity.ts'
import { receivedSha256, type Manifest } from '../core/manifest.ts'
import { decide, type Verdict, policyOf } from '../core/policy.ts'
import { mainOf } from '../core/repository.ts'
import type { Report } from '../core/report.ts'
import type { Unpacked } from '../files/unpacked.ts'
import type { Inspection } from '../formats/format.ts'
import type { Arrivals } from '../lib/arrivals.ts'
import { isoNow, type Clock } from '../lib/clock.ts'
import type { Lanes } from '../lib/lanes.ts'
import type { Settings } from '../settings/store.ts'
import { examine } from './examine.ts'
import { createSubject } from './format-check.ts'
import type { PackageSigning, Sealed } from './package-signing.ts'
import type { Step, Subject } from './subject.ts'

/** Bytes that ask for admission, and who sent them. */
export interface Applicant extends Pick<Subject, 'file' | 'format' | 'distribution' | 'builtFrom'> {
  readonly expectedSha256?: string
  /** Where the sender wants it; absent: where the package says, or in the first one of the distribution. */
  readonly component?: string
  readonly actor: Actor
  readonly from: Manifest['from']
  /** Why it is held for review although nothing is wrong with it, in one sentence: what it needs did not come in. */
  readonly heldFor?: string
  /** See `Admit`. */
  readonly publishWithinMs?: number
  readonly imported?: Manifest['imported']
  /** What another thread read of these very bytes, in the ways of this one; what is absent is read here. */
  readonly read?: { readonly inspection?: Inspection; readonly contents?: Contents }
}

/** The catalogue's own door, by itself or for many together. */
export type Door = (change: Admit, actor: Actor) => Promise<Changed>

/** The way in for uploads and imports alike. */
export interface Gate {
  /**
   * Examines the applicant and admits it in the state the verdict gives it; yields each report as it comes.
   * Owns the file from the first `next()` on: when it ends, in whatever way, nothing is left in `incoming/`.
   * Once the verdict is there it is carried out, whether or not somebody still listens.
   * @throws bad_package, wrong_arch, unpacking_full, digest_mismatch, duplicate_conflict; the signal's reason when it
   *   aborts before the verdict
   * @param door  `catalog.change` by default; what comes together waits there for the others
   */
  admit(applicant: Applicant, signal: AbortSignal, door?: Door): AsyncGenerator<Report, Changed>
}

export interface GateDeps {
  /** `createSteps(…)`. */
  readonly steps: readonly Step[]
  readonly catalog: Pick<Catalog, 'change' | 'findKnown'>
  readonly settings: Pick<Settings, 'now'>
  readonly signing: PackageSigning
  /** `createUnpacking()`: one for the whole process. */
  readonly unpacking: Lanes
  /** Keeps what is unpacked for those who read it next. */
  readonly copies: () => Unpacked
  readonly contents: Pick<ContentsOf, 'read'>
  readonly clock: Clock
  readonly arrivals: Pick<Arrivals, 'enter'>
}

/**
 * Which component it goes to; nothing for the first one. What a package asks for itself is followed where the
 * distribution has it.
 */
function componentFor(
  { format, distribution }: Pick<Subject, 'format' | 'distribution'>,
  { about, wanted }: { readonly about: Inspection['about']; readonly wanted: string | undefined },
): Pick<Manifest, 'component'> {
  const asked = format.componentOf?.(about)
  const component = wanted ?? (asked !== undefined && distribution.components.includes(asked) ? asked : undefined)
  return component === undefined || component === mainOf(distribution) ? {} : { component }
}

/** Answers for a package that is known already: an error with other bytes, no work with the same. */
async function findKnown(
  catalog: GateDeps['catalog'],
  ref: PackageRef,
  { file }: Subject,
): Promise<Changed | undefined> {
  const known = await catalog.findKnown(ref)
  if (known === undefined) return undefined
  // sent again as it was sent before, or as clients get it
  const [first] = known.files
  if (![receivedSha256(first), first.blob.sha256].includes(file.blob.sha256)) {
    fail('duplicate_conflict', {
      ref: printRef(ref),
      incoming_sha256: file.blob.sha256,
      existing_sha256: receivedSha256(first),
    })
  }
  return { outcome: 'already', manifest: known, settled: () => Promise.resolve(true) }
}

/** Admits without telling of the steps. @throws as `admit` */
export async function passGate(gate: Gate, applicant: Applicant, signal: AbortSignal, door?: Door): Promise<Changed> {
  const steps = gate.admit(applicant, signal, door)
  let next = await steps.next()
  while (next.done !== true) next = await steps.next()
  return next.value
}

/** Makes the gate from its steps and the catalogue. */
export function createGate(deps: GateDeps): Gate {
  const { steps, catalog, settings, signing, unpacking, copies, contents, clock, arrivals } = deps

  function manifestOf(
    {
      subject,
      applicant,
      reports,
      verdict,
    }: {
      readonly subject: Subject
      readonly applicant: Applicant
      readonly reports: readonly Report[]
      readonly verdict: Verdict
    },
    { kind, identity, about, paths }: Inspection,
    { file, facts, signed }: Sealed,
  ): Manifest {
    const findings = mergeFindings(reports.map(report => report.findings ?? []))
    const severity = worst(findings)
    const at = isoNow(clock)
    const { heldFor } = applicant
    const held: Pick<Manifest, 'state' | 'review'> =
      verdict.state === 'published' && heldFor !== undefined
        ? { state: 'pending_review', review: { held_at: at, held_for: heldFor } }
        : { state: verdict.state }
    return {
      schema: 2,
      ref: { ...identity, codename: subject.distribution.codename },
      ...componentFor(subject, { about, wanted: applicant.component }),
      ...(kind === undefined ? {} : { kind }),
      files: [
        { path: subject.file.filename, blob: file.blob, ...(signed === undefined ? {} : { signed }) },
        ...(file.beside ?? []).map(({ filename: path, blob }) => ({ path, blob })),
      ],
      about,
      ...held,
      reports,
      findings,
      ...(severity === undefined ? {} : { worst: severity }),
      facts,
      paths,
      by: applicant.actor.name,
      from: applicant.from,
      ...(applicant.imported === undefined ? {} : { imported: applicant.imported }),
      at,
      changed_at: at,
    }
  }

  return {
    async *admit(applicant, signal, door = catalog.change) {
      const { file, format, distribution, builtFrom, expectedSha256, actor, read = {} } = applicant
      const { validation, cve_policy, script_policy, license_policy } = settings.now()
      const unpacked = copies()
      const subject = createSubject(
        {
          file,
          format,
          distribution,
          settings: { validation, cve_policy, script_policy, license_policy },
          unpacked,
          ...(builtFrom === undefined ? {} : { builtFrom }),
          ...(expectedSha256 === undefined ? {} : { expectedSha256 }),
          contents: signal => contents.read({ format: format.id, file, unpacked, known: read.contents }, signal),
        },
        unpacking,
        read.inspection,
      )
      const examination = examine({ subject, steps, signal }, reports =>
        decide(reports, policyOf(subject.settings), 'native'),
      )
      const reports: Report[] = []
      let sealed: Sealed | undefined
      const leave = arrivals.enter()
      try {
        let next = await examination.next()
        while (next.done !== true) {
          reports.push(next.value)
          yield next.value
          if (next.value.step === 'provenance') {
            // before the expensive steps, but after the one that detects damage
            const { identity } = await subject.inspected(signal)
            const known = await findKnown(catalog, { ...identity, codename: distribution.codename }, subject)
            if (known !== undefined) return known
          }
          next = await examination.next()
        }
        signal.throwIfAborted()
        const inspection = await subject.inspected(signal)
        sealed = await signing(subject, inspection)
        const manifest = manifestOf({ subject, applicant, reports, verdict: next.value }, inspection, sealed)
        return await door(
          {
            kind: 'admit',
            manifest,
            files: [sealed.file, ...(file.beside ?? [])],
            because: next.value.state === 'published' ? [] : next.value.because.map(({ step }) => step),
            ...(applicant.publishWithinMs === undefined ? {} : { publishWithinMs: applicant.publishWithinMs }),
          },
          actor,
        )
      } finally {
        leave()
        await unpacked.close()
        await sealed?.file.discard()
        await file.discard()
      }
    },
  }
}
