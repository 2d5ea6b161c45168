import type { Distribution } from '../core/repository.ts'
import type { Silence } from '../core/policy.ts'
import type { Denied, Finding, FoundIn } from '../core/findings.ts'
import type { PackageIdentity } from '../core/identity.ts'
import type { Description } from '../core/manifest.ts'
import type { InnerStream } from '../formats/format.ts'

/** An engine's report about itself. Times are ISO 8601. */
export interface EngineStatus {
  readonly id: string
  readonly ok: boolean
  readonly version?: string
  readonly signatures_version?: string
  readonly signatures_at?: string
  /** For engines that look for vulnerabilities: which data are loaded, and their date. */
  readonly data_version?: string
  readonly data_at?: string
  /** Why it is not ok, in one sentence. */
  readonly error?: string
  /** Why scans get no answer from it: it has no address, or it is asked and fails. */
  readonly silence?: Silence
}

/**
 * `ecosystem` is one of `OSV_LANGUAGES` such as `pypi`, a distribution's release such as `debian-12`, or `native`.
 */
export interface EmbeddedPackage {
  readonly ecosystem: string
  readonly name: string
  readonly version: string
  /** Of native code the system that it is for: `linux`, `windows`, `darwin`; of an image's system its own word. */
  readonly arch?: string
  /** Of a package of an image's system: the source that its advisories name. */
  readonly source?: { readonly name: string; readonly version: string }
  /** Vulnerabilities that this copy cannot have, and why, in one sentence. */
  readonly cleared?: { readonly ids: readonly string[]; readonly why: string }
  /** Where it is inside the package; absent for sources that were built in. */
  readonly at?: FoundIn
}

/** What a scanner gets: what the package is, and its bytes unpacked. */
export interface ScanSubject {
  readonly identity: PackageIdentity
  readonly about: Description
  readonly distribution: Distribution
  readonly purl: string
  /** The format's own index facts; an engine reads those it knows by name, such as `modularity`. */
  readonly facts?: unknown
  /** What it carries inside, by the names in advisories: libraries of a lockfile, sources that were built in. */
  readonly embedded?: readonly EmbeddedPackage[]
  inner(): AsyncIterable<InnerStream>
}

export type AntivirusAnswer =
  | { readonly kind: 'clean' }
  | { readonly kind: 'infected'; readonly signature: string; readonly where: string }
  /** A limit was exceeded, so the rest was not scanned: a failed scan, never a clean one. */
  | { readonly kind: 'unscannable'; readonly why: string; readonly where: string }

/**
 * `partial`: the loaded data leave vulnerabilities out, such as those without a fix. `not_covered`: data are loaded,
 * but none for this distribution, or none that name this package. `no_data`: nothing is loaded. `stale`: the data are
 * too old.
 */
export type CoverageAnswer = 'covered' | 'partial' | 'not_covered' | 'no_data' | 'stale'

/** The coverage of a distribution by an engine, with the reason in one sentence. `data_at` is ISO 8601. */
export interface DistributionCoverage {
  readonly coverage: CoverageAnswer
  readonly said: string
  readonly data_at?: string
}

/** The coverage of one language's packages, by the name that people call it. */
export interface EcosystemCoverage extends DistributionCoverage {
  readonly ecosystem: string
}

export interface VulnerabilityAnswer {
  readonly coverage: CoverageAnswer
  readonly said: string
  /** `not_covered` because of this package alone: current data for its distribution are loaded. */
  readonly isUnnamed?: boolean
  /** For each language of what it carries inside. */
  readonly ecosystems?: readonly EcosystemCoverage[]
  readonly findings: readonly Finding[]
  /** What vendors deny of the package, for what other engines find. */
  readonly denied?: readonly Denied[]
  /** The program that answered, for engines that are programs. */
  readonly binary?: { readonly path: string; readonly sha256: string; readonly version: string }
}

/** @throws EngineUnavailable from `scan` when it cannot answer */
export interface AntivirusScanner {
  readonly id: string
  readonly kind: 'antivirus'
  /** False where it has no address, so that it reads nothing. */
  readonly isConfigured?: boolean
  status(signal?: AbortSignal): Promise<EngineStatus>
  scan(subject: ScanSubject, signal: AbortSignal): Promise<AntivirusAnswer>
}

/** @throws EngineUnavailable from `scan` when it cannot answer */
export interface VulnerabilityScanner {
  readonly id: string
  readonly kind: 'vulnerability'
  status(signal?: AbortSignal): Promise<EngineStatus>
  scan(subject: ScanSubject, signal: AbortSignal): Promise<VulnerabilityAnswer>
  /**
   * False where it is not installed: it is then not asked. Absent for engines that are always
   * there.
   */
  isPresent?(): Promise<boolean>
  /**
   * Whether its data know the package as one of the distribution: its source in this version, or the source alone.
   * Absent for engines that cannot say. @throws EngineUnavailable
   */
  knows?(
    subject: Pick<ScanSubject, 'identity' | 'about' | 'distribution' | 'facts'>,
  ): Promise<'version' | 'source' | undefined>
  /** What it covers of this distribution now; absent where an engine learns that only by scanning. */
  covers?(distribution: Distribution): Promise<DistributionCoverage>
  /** What it covers of each language's packages; absent where an engine does not say it. */
  languages?(): Promise<readonly EcosystemCoverage[]>
}

/** What is said of an engine that could not answer. */
export const doesNotAnswer = (engine: string, error: EngineUnavailable): string =>
  `${engine} does not answer: ${error.message}.`

/** The engine did not answer. Never read as clean. */
export class EngineUnavailable extends Error {
  readonly engine: string
  constructor(engine: string, why: string, cause?: unknown) {
    super(why, cause === undefined ? {} : { cause })
    this.name = 'EngineUnavailable'
    this.engine = engine
  }
}
