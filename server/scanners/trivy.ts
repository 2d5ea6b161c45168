import type { Distribution } from '../core/repository.ts'
import { mergeFindings } from '../core/findings.ts'
import { CONTROL_NAME, engineDistribution, engineInput, printTrivyBill } from './engine-input.ts'
import { engineCoverage, readAnswer } from './engine-answer.ts'
import { createEngine, lastWords, type EngineData, type ExternalDeps, type Run } from './external.ts'
import { EngineUnavailable, type DistributionCoverage, type ScanSubject, type VulnerabilityScanner } from './scanner.ts'
import { readTrivy, trivyFindings, type TrivyDocument } from './trivy-output.ts'

const ID = 'trivy'

/** Builds that steal credentials. Source: GHSA-69fq-xp46-6x23, with the tags beside it */
const MALICIOUS = new Set(['0.69.4', '0.69.5', '0.69.6'])
// the linker's flags stay in a Go binary (debug/buildinfo) unless they were stripped; `trivy version` is the second
// check
const MALICIOUS_FILE = /version\/app\.ver=v?0\.69\.[456](?![\d.])/

interface VersionAnswer {
  readonly Version?: unknown
  readonly VulnerabilityDB?: { readonly UpdatedAt?: unknown; readonly Version?: unknown } | null
}

/** Reads `trivy version -f json`. @throws EngineUnavailable for a build that is known to be malicious */
export function readTrivyVersion(out: string, err = ''): { readonly version: string; readonly data: EngineData } {
  let answer: VersionAnswer
  try {
    answer = JSON.parse(out) as VersionAnswer
  } catch {
    throw new EngineUnavailable(ID, `it does not tell its version${lastWords(err)}`)
  }
  const version = typeof answer.Version === 'string' ? answer.Version.replace(/^v/, '') : ''
  if (version === '') throw new EngineUnavailable(ID, `it does not tell its version${lastWords(err)}`)
  if (MALICIOUS.has(version))
    throw new EngineUnavailable(
      ID,
      `version ${version} is malicious (GHSA-69fq-xp46-6x23) and is not run. Remove it, and change every secret of this machine`,
    )
  const at = Date.parse(typeof answer.VulnerabilityDB?.UpdatedAt === 'string' ? answer.VulnerabilityDB.UpdatedAt : '')
  // a missing database has the year 1 as its date
  return {
    version,
    data:
      Number.isNaN(at) || at <= 0
        ? { missing: 'It has no database.' }
        : { at: new Date(at).toISOString(), version: String(answer.VulnerabilityDB?.Version ?? '') },
  }
}

const readWith = (databaseFolder: string) => async (run: Run) => {
  const { code, out, err } = await run(['version', '-f', 'json', '--cache-dir', databaseFolder])
  if (code !== 0) throw new EngineUnavailable(ID, `it does not tell its version${lastWords(err)}`)
  return readTrivyVersion(out.toString('utf8'), err)
}

/** What was found in our package, whether both packages were scanned, and whether the control was found vulnerable. */
export function sortResults(
  { results }: TrivyDocument,
  { name, controlVersion }: { readonly name: string; readonly controlVersion: string },
) {
  const listed = results.filter(({ Class }) => Class === 'os-pkgs')
  const vulnerabilities = listed.flatMap(({ Vulnerabilities }) => Vulnerabilities ?? [])
  const isControl = (pkg: { readonly PkgName: string; readonly InstalledVersion?: string }): boolean =>
    pkg.PkgName === CONTROL_NAME && pkg.InstalledVersion === controlVersion
  const ours = vulnerabilities.filter(one => !isControl(one))
  const isListed = listed.some(({ Packages }) => (Packages ?? []).some(one => one.Name === name))
  return { ours, isProven: isListed && ours.length < vulnerabilities.length }
}

/**
 * trivy, where it is installed. It gets a bill of materials with one operating system, our package, and a control that
 * is vulnerable everywhere. It has scanned if it lists ours and finds something in the control.
 */
export function createTrivy(deps: ExternalDeps): VulnerabilityScanner {
  const engine = createEngine(
    { id: ID, environment: () => ({}), read: readWith(deps.databaseFolder), refused: MALICIOUS_FILE },
    deps,
  )
  const FLAGS = [
    '--format',
    'json',
    '--scanners',
    'vuln',
    '--offline-scan',
    '--skip-db-update',
    '--skip-java-db-update',
    '--skip-version-check',
    '--disable-telemetry',
    '--no-progress',
  ]

  const coverage = (distribution: Distribution): Promise<DistributionCoverage> =>
    engineCoverage(engine, distribution, engineDistribution(distribution.scanner).trivy)

  async function scan(subject: ScanSubject, signal: AbortSignal) {
    const { distribution, identity } = subject
    const covers = await coverage(distribution)
    const now = await engine.installed()
    const { trivy } = engineDistribution(distribution.scanner)
    if (now === undefined || trivy === undefined || covers.coverage === 'no_data') return { ...covers, findings: [] }
    const input = engineInput(subject, `${trivy.family}-${trivy.version}`)
    const text = await engine.ask(
      {
        binary: now.binary,
        name: 'bom.cdx.json',
        text: printTrivyBill(input, subject, trivy),
        args: file => ['sbom', ...FLAGS, '--cache-dir', deps.databaseFolder, file],
      },
      signal,
    )
    const document = readAnswer(ID, () => readTrivy(text))
    const { ours, isProven } = sortResults(document, { name: identity.name, controlVersion: input.controlVersion })
    const findings = mergeFindings([ours.flatMap(one => trivyFindings(one, identity.name))])
    const binary = { path: now.binary.path, sha256: now.binary.sha256, version: now.version }
    if (!isProven) {
      return {
        coverage: 'not_covered' as const,
        findings,
        binary,
        said: `trivy did not show that it looked: its silence about ${distribution.label} says nothing.`,
      }
    }
    if (document.os?.EOSL !== true || covers.coverage === 'stale') return { ...covers, findings, binary }
    return {
      ...covers,
      coverage: 'partial' as const,
      findings,
      binary,
      said: `trivy says that ${distribution.label} is out of support, so newer vulnerabilities are missing.`,
    }
  }

  return {
    id: ID,
    kind: 'vulnerability',
    scan,
    status: () => engine.status(),
    isPresent: () => engine.isPresent(),
    covers: coverage,
  }
}
