import type { Distribution } from '../core/repository.ts'
import { mergeFindings } from '../core/findings.ts'
import { CONTROL_NAME, engineDistribution, engineInput, printPurlFile } from './engine-input.ts'
import { engineCoverage, readAnswer } from './engine-answer.ts'
import { createEngine, lastWords, type EngineData, type ExternalDeps, type Run } from './external.ts'
import { grypeFindings, readGrype, type GrypeDocument, type GrypeMatch } from './grype-output.ts'
import { EngineUnavailable, type DistributionCoverage, type ScanSubject, type VulnerabilityScanner } from './scanner.ts'

const ID = 'grype'

/**
 * grype fetches nothing, and the age of its data is judged here. Source: grype, README "Configuration" and
 * cmd/grype/cli/options
 */
const environment = (folder: string): Readonly<Record<string, string>> => ({
  GRYPE_DB_CACHE_DIR: folder,
  GRYPE_DB_AUTO_UPDATE: 'false',
  GRYPE_DB_VALIDATE_AGE: 'false',
  GRYPE_DB_REQUIRE_UPDATE_CHECK: 'false',
  GRYPE_CHECK_FOR_APP_UPDATE: 'false',
})

function object(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

const word = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** `grype db status`: ends with 1 and a reason when there is no database or it cannot be used. */
export function readDbStatus(out: string, err: string): EngineData {
  const status = object(out)
  const at = Date.parse(word(status?.built) ?? '')
  if (status === undefined || status.valid !== true || Number.isNaN(at)) {
    return {
      missing: `It has no usable database${word(status?.error) === undefined ? lastWords(err) : `: ${word(status?.error)?.slice(0, 300) ?? ''}`}.`,
    }
  }
  const schema = word(status.schemaVersion)
  return { at: new Date(at).toISOString(), ...(schema === undefined ? {} : { version: schema }) }
}

async function read(run: Run): Promise<{ readonly version: string; readonly data: EngineData }> {
  const asked = await run(['version', '-o', 'json'])
  const version = word(object(asked.out.toString('utf8'))?.version)
  if (asked.code !== 0 || version === undefined)
    throw new EngineUnavailable(ID, `it does not tell its version${lastWords(asked.err)}`)
  const status = await run(['db', 'status', '-o', 'json'])
  return { version, data: readDbStatus(status.out.toString('utf8'), status.err) }
}

const isControl = ({ artifact }: GrypeMatch, version: string): boolean =>
  artifact.name === CONTROL_NAME && artifact.version?.replace(/^0:/, '') === version

/** The matches for our package, and whether the control was found vulnerable. */
export function sortMatches(
  { matches }: GrypeDocument,
  controlVersion: string,
): { readonly ours: readonly GrypeMatch[]; readonly isProven: boolean } {
  const ours = matches.filter(match => !isControl(match, controlVersion))
  return { ours, isProven: ours.length < matches.length }
}

/**
 * grype, where it is installed. It gets a file with two package URLs: ours, and a control that is vulnerable
 * everywhere. When it says nothing about the control, its silence about ours is no answer.
 */
export function createGrype(deps: ExternalDeps): VulnerabilityScanner {
  const engine = createEngine({ id: ID, environment, read }, deps)

  const coverage = (distribution: Distribution): Promise<DistributionCoverage> =>
    engineCoverage(engine, distribution, engineDistribution(distribution.scanner).grype)

  async function scan(subject: ScanSubject, signal: AbortSignal) {
    const { distribution, identity } = subject
    const covers = await coverage(distribution)
    const now = await engine.installed()
    const { grype } = engineDistribution(distribution.scanner)
    if (now === undefined || grype === undefined || covers.coverage === 'no_data') return { ...covers, findings: [] }
    const input = engineInput(subject, grype.distro)
    const text = await engine.ask(
      {
        binary: now.binary,
        name: 'packages.txt',
        text: printPurlFile(input),
        args: file => [`purl:${file}`, '-o', 'json', '--distro', grype.distro],
      },
      signal,
    )
    const document = readAnswer(ID, () => readGrype(text))
    const { ours, isProven } = sortMatches(document, input.controlVersion)
    const findings = mergeFindings([ours.flatMap(match => grypeFindings(match, identity.name))])
    const binary = { path: now.binary.path, sha256: now.binary.sha256, version: now.version }
    if (isProven) return { ...covers, findings, binary }
    return {
      coverage: 'not_covered' as const,
      findings,
      binary,
      said: `grype found nothing in a package that is vulnerable everywhere, so its silence about ${distribution.label} says nothing.`,
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
