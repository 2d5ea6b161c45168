import type { Contents } from '../contents/component.ts'
import type { Distribution } from '../core/repository.ts'
import type { Finding } from '../core/findings.ts'
import type { PackageIdentity } from '../core/identity.ts'
import type { Report, StepName } from '../core/report.ts'
import type { SpooledFile } from '../files/spool.ts'
import type { Unpacked } from '../files/unpacked.ts'
import type { Format, Inspection } from '../formats/format.ts'
import type { ScanSubject } from '../scanners/scanner.ts'
import type { SettingsValue } from '../settings/schema.ts'

/** What is examined: bytes that have arrived, and the facts that came with them. Steps only read it. */
export interface Subject {
  readonly file: SpooledFile
  readonly format: Format
  readonly distribution: Distribution
  /** The source that it has to be built from, or be, where it comes together with others. */
  readonly builtFrom?: { readonly source: string; readonly version: string }
  /** Lower-case hex, from the sender or the upstream index. */
  readonly expectedSha256?: string
  /** One snapshot for the whole run: a setting that changes meanwhile does not split it. */
  readonly settings: Pick<SettingsValue, 'validation' | 'cve_policy' | 'script_policy' | 'license_policy'>
  /** Set for a package that is known already: a scan may only hold it. These vulnerabilities were accepted. */
  readonly again?: { readonly isAccepted: (finding: Finding) => boolean }
  /** What it carries inside. */
  contents(signal: AbortSignal): Promise<Contents>
  /** What reading it unpacked, for the engines. */
  readonly unpacked?: Unpacked
  /**
   * What the package is. Read from the file at the first call, the same value at the next. @throws bad_package,
   * wrong_arch
   */
  inspected(signal: AbortSignal): Promise<Inspection>
}

/** One look at a subject. It writes nothing and is never undone. */
export interface Step {
  readonly name: StepName
  run(subject: Subject, signal: AbortSignal): Promise<Report>
}

/** What the engines get of a subject; what it carries inside is for the vulnerability step to add. */
export async function scanSubject(subject: Subject, signal: AbortSignal): Promise<ScanSubject> {
  const { identity, about, facts } = await subject.inspected(signal)
  const { file, format, distribution, unpacked } = subject
  return {
    identity,
    about,
    facts,
    distribution,
    purl: format.purl(identity, distribution, about),
    inner: () => format.inner(file, unpacked),
  }
}

/** `hello 2.10-3 (amd64)` */
export function printIdentity({ name, version, arch }: PackageIdentity): string {
  return `${name} ${version} (${arch})`
}
