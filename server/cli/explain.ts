import { askedAs } from '../contents/asked.ts'
import { sayEvidence, whyOf } from '../core/why.ts'
import { parsePurl } from '../core/purl.ts'
import type { Distribution } from '../core/repository.ts'
import type { OsvScanner } from '../scanners/osv.ts'
import { debianRelease, ecosystemOf } from '../vulndb/match/ecosystems.ts'
import type { PackageQuery } from '../vulndb/match/matching-rules.ts'

/** What is to be explained: a package URL, or a name and a version in a distribution. */
export interface Wish {
  readonly words: readonly string[]
  readonly distribution: Distribution | undefined
  /** `name` or `name@version` of its source, where that is another. */
  readonly source: string | undefined
}

const FORMATS: ReadonlySet<string> = new Set(['deb', 'rpm', 'apk'])

/** `openssl@3.0.13-1`, with the package's own version where it has none. */
function sourceFrom(text: string | undefined, version: string): Pick<PackageQuery, 'source'> {
  if (text === undefined) return {}
  const [, name = '', own = version] = /^(.+?)(?:@(.+))?$/.exec(text) ?? []
  return { source: { name, version: own } }
}

/** `debian-12` and `ubuntu-22.04` as they are, `bookworm` and `debian-bookworm` by their release. */
const releaseOf = (distro: string): string => debianRelease(distro.replace(/^debian-/, '')) ?? distro

/** @throws Error with a sentence where it cannot be looked up */
export function queryFor({ words: [first = '', second], distribution, source }: Wish): PackageQuery {
  const language = askedAs(first)
  if (language !== undefined) return { ecosystem: language.ecosystem, name: language.name, version: language.version }
  const purl = parsePurl(first)
  const version = purl?.version ?? second
  const { distro, upstream, epoch, arch } = purl?.qualifiers ?? {}
  const ecosystem =
    distribution !== undefined
      ? ecosystemOf(distribution).ecosystem
      : distro === undefined
        ? undefined
        : releaseOf(distro)
  if (purl !== undefined && !FORMATS.has(purl.type)) throw new Error(`There are no advisories for ${first}.`)
  if (ecosystem === undefined || version === undefined)
    throw new Error('Name a package URL with a version, or a name, a version and --distribution.')
  const full = epoch === undefined || epoch === '0' ? version : `${epoch}:${version}`
  return {
    ecosystem,
    name: purl?.name ?? first,
    version: full,
    ...(arch === undefined ? {} : { arch }),
    ...sourceFrom(source ?? upstream, full),
  }
}

/**
 * Lines that say what was looked up in data of which day, every finding with its proof, and what the other records say.
 * @param covers  what is loaded for an ecosystem, in one sentence; undefined where nobody can say
 */
export async function explain(
  wish: Wish,
  scanner: Pick<OsvScanner, 'match' | 'explain'>,
  covers: (ecosystem: string) => string | undefined,
): Promise<string[]> {
  const query = queryFor(wish)
  const [answer] = await scanner.match([query])
  const said = await scanner.explain(query)
  const findings = answer?.findings ?? []
  const proofs = new Set(
    findings.flatMap(({ evidence = [] }) => evidence.map(({ record, says }) => `${record} ${says}`)),
  )
  const others = said.filter(
    ({ record, says, answer: word }) => word !== 'affected' && !proofs.has(`${record} ${says}`),
  )
  const count = findings.length === 1 ? '1 finding' : `${findings.length} findings`
  const named = said.length === 1 ? '1 record names it' : `${said.length} records name it`
  return [
    `${query.name} ${query.version} in the data for ${query.ecosystem}: ${named}, ${count}.`,
    ...[covers(query.ecosystem) ?? []].flat(),
    ...(said.length === 0 ? ['The loaded data do not name it, so they say nothing about it.'] : []),
    ...(answer?.isUnreadable === true ? [`${query.version} is no version that they can be compared with.`] : []),
    ...findings.flatMap(finding => [
      `${finding.id}: ${finding.severity}, ${finding.fixed_in === undefined ? 'no fix known' : `fixed in ${finding.fixed_in}`}`,
      ...whyOf(finding).map(line => `  ${line}`),
    ]),
    ...(others.length === 0 ? [] : ['What does not concern this version:']),
    ...others.map(one => `  ${sayEvidence(one)}`),
  ]
}
