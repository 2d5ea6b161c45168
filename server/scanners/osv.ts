import type { Distribution } from '../core/repository.ts'
import type { Evidence, Finding, FoundIn } from '../core/findings.ts'
import { printPurl } from '../core/purl.ts'
import type { Clock } from '../lib/clock.ts'
import { joinCoverage } from './joined-coverage.ts'
import {
  EngineUnavailable,
  type DistributionCoverage,
  type EmbeddedPackage,
  type ScanSubject,
  type VulnerabilityScanner,
} from './scanner.ts'
import { cveOf } from '../vulndb/advisory.ts'
import {
  carriedCoverage,
  coverageOf,
  distributionCoverage,
  languageCoverage,
  NO_DATA,
  saySilent,
  sayUnnamed,
  sourceDate,
  type CoverageDeps,
} from '../vulndb/match/coverage.ts'
import type { Database, Snapshot } from '../vulndb/store/database.ts'
import { CARRIED, ecosystemOf, familyOf, isOfLanguage, NATIVE, NOBODY, spellName } from '../vulndb/match/ecosystems.ts'
import { matchPackage, sayRows, sourceOf, type Said } from '../vulndb/match/match.ts'
import type { Matched, PackageQuery, Versioned } from '../vulndb/match/matching-rules.ts'
import type { Orders } from '../vulndb/versions/orders.ts'
import { rateFinding } from '../vulndb/match/rate.ts'

export interface OsvDeps {
  readonly database: Database
  readonly orders: Orders
  readonly clock: Clock
  readonly maxAgeDays: () => number
}

/** The embedded engine: matches the loaded advisories by the rules of each distribution. */
export interface OsvScanner extends VulnerabilityScanner {
  /**
   * Looks anything up by ecosystem, name and version, such as the libraries inside a package. @throws EngineUnavailable
   */
  match(queries: readonly PackageQuery[]): Promise<readonly Matched[]>
  covers(distribution: Distribution): Promise<DistributionCoverage>
  /** What every record about a package says, also of other versions. @throws EngineUnavailable */
  explain(query: PackageQuery): Promise<readonly Said[]>
}

const ID = 'osv'
/** How many packages one sentence names. */
const MOST_NAMED = 5

/** The names under which to ask about a package: its own and its source's. */
function queryOf({
  identity,
  about,
  distribution,
  facts,
}: Pick<ScanSubject, 'identity' | 'about' | 'distribution' | 'facts'>): PackageQuery {
  const { ecosystem } = ecosystemOf(distribution)
  if (isOfLanguage(distribution)) return { ecosystem, name: identity.name, version: identity.version }
  // only RPM headers have it, and only those of module builds
  const { modularity } = typeof facts === 'object' && facts !== null ? (facts as { readonly modularity?: unknown }) : {}
  return {
    ecosystem,
    name: identity.name,
    version: identity.version,
    arch: identity.arch,
    source: { name: about.source, version: about.source_version },
    ...(typeof modularity === 'string' && modularity !== '' ? { module: modularity } : {}),
  }
}

/** A version without its epoch, which headers of RPM sources lack, and without the number of a rebuild of Debian's. */
const bare = (version: string): string => version.replace(/^\d+:/, '').replace(/\+b\d+$/, '')

/** Whether what is inside is only the package itself, as files in it name it. */
function isItself(one: EmbeddedPackage, own: PackageQuery, orders: Orders): boolean {
  const spelled = ({ ecosystem, name }: { readonly ecosystem: string; readonly name: string }): string =>
    `${ecosystem} ${spellName(ecosystem, name)}`
  const family = familyOf(own.ecosystem)
  if (family?.kind !== 'language' || spelled(one) !== spelled(own)) return false
  const { reads, compare } = orders[family.order]
  // `1.0-rc1` of a file is `1.0rc1` of the package
  return (
    one.version === own.version || (reads(one.version) && reads(own.version) && compare(one.version, own.version) === 0)
  )
}

/** What could not be compared: no findings there says nothing. */
function gapsOf(unreadable: readonly Pick<PackageQuery, 'name' | 'version'>[]): string[] {
  const versions = unreadable
    .slice(0, MOST_NAMED)
    .map(({ name, version }) => `${version} of ${name}`)
    .join(', ')
  return versions === '' ? [] : [`The version ${versions} is none that its advisories can be compared with.`]
}

/** Whether a copy that is carried inside cannot have this vulnerability. */
const isCleared = ({ cleared }: Pick<EmbeddedPackage, 'cleared'>, { id, aliases = [] }: Finding): boolean =>
  cleared?.ids.some(one => one === id || aliases.includes(one)) === true

/** What was left out for such a copy, a sentence each. */
function sayCleared(
  queries: readonly (PackageQuery & Pick<EmbeddedPackage, 'cleared'>)[],
  answers: readonly Matched[],
) {
  const said = queries.flatMap((query, at) => {
    const ids = answers[at]?.findings.filter(finding => isCleared(query, finding)).map(({ id }) => id) ?? []
    const verb = ids.length === 1 ? 'does' : 'do'
    return ids.length === 0
      ? []
      : [`${ids.join(' and ')} of ${query.name} ${query.version} ${verb} not count: ${query.cleared?.why ?? ''}`]
  })
  return [...new Set(said)].slice(0, MOST_NAMED)
}

/** What a vendor denies although another record names it, a sentence each. */
const sayDenied = (denied: NonNullable<Matched['denied']>): string[] =>
  denied
    .filter(({ isDisputed }) => isDisputed)
    .slice(0, MOST_NAMED)
    .map(({ id, said }) => `${id} does not count: ${said}`)

/** What other feeds say of the CVE, where its own advisories have no word. */
async function rate(finding: Finding, ecosystem: string, snapshot: Snapshot): Promise<Finding> {
  const cve = cveOf(finding.id)
  const family = familyOf(ecosystem)
  if (cve === undefined || family === undefined) return finding
  return rateFinding(finding, await snapshot.ratings(cve), family)
}

/** Adds the day of the data that each record is from. */
function dated<T extends { readonly evidence?: readonly Evidence[] }>(finding: T, { meta }: Snapshot): T {
  if (finding.evidence === undefined) return finding
  return {
    ...finding,
    evidence: finding.evidence.map(one => {
      const at = sourceDate(meta, one.source)
      return at === undefined ? one : { ...one, data_at: at }
    }),
  }
}

/** A source that the package says was built into it: `Built-Using`, `Static-Built-Using`. */
const builtIn = (ecosystem: string, { name, version }: Versioned): FoundIn => ({
  purl: printPurl({
    type: 'deb',
    namespace: ecosystem.replace(/-.*$/, ''),
    name,
    version,
    qualifiers: { arch: 'source' },
  }),
  path: 'control',
  rule: 'built-using',
  confidence: 'certain',
  presence: 'shipped',
})

/** `isNamed`: some advisory is about the package, whether it applies or not. */
interface Asked extends Matched {
  readonly isNamed: boolean
}

/** The embedded engine over the loaded data. */
export function createOsvScanner({ database, orders, clock, maxAgeDays }: OsvDeps): OsvScanner {
  async function open(): Promise<Snapshot | undefined> {
    try {
      return await database.open()
    } catch (error) {
      throw new EngineUnavailable(ID, 'its data cannot be read; import them again', error)
    }
  }

  /** The query in the spelling of the tables, and every row under its names. */
  async function rowsOf(snapshot: Snapshot, query: PackageQuery) {
    const spelled = { ...query, name: spellName(query.ecosystem, query.name) }
    const names = [spelled.name, query.name, sourceOf(spelled).name]
    return { spelled, rows: await snapshot.rows(query.ecosystem, names) }
  }

  async function ask(snapshot: Snapshot, query: PackageQuery): Promise<Asked> {
    const { spelled, rows } = await rowsOf(snapshot, query)
    const { findings, isUnreadable } = matchPackage(spelled, rows, orders)
    return {
      isUnreadable,
      isNamed: rows.length > 0,
      findings: await Promise.all(
        findings.map(finding => rate(dated({ ...finding, package: query.name }, snapshot), query.ecosystem, snapshot)),
      ),
    }
  }

  const known = (snapshot: Snapshot | undefined): CoverageDeps => ({
    meta: snapshot?.meta,
    now: clock.now(),
    maxAgeDays: maxAgeDays(),
  })

  return {
    id: ID,
    kind: 'vulnerability',
    covers: async distribution => distributionCoverage(distribution, known(await open())),
    async languages() {
      const now = known(await open())
      return CARRIED.map(ecosystem => languageCoverage(ecosystem, now))
    },
    async status() {
      try {
        const snapshot = await open()
        if (snapshot === undefined) return { id: ID, ok: false, error: NO_DATA }
        const newest = Object.values(snapshot.meta.sources)
          .map(source => source.as_of)
          .filter(date => date !== '')
          .sort()
          .at(-1)
        return {
          id: ID,
          ok: true,
          version: 'embedded',
          data_version: String(snapshot.meta.generation),
          ...(newest === undefined ? {} : { data_at: newest }),
        }
      } catch (error) {
        if (error instanceof EngineUnavailable)
          return { id: ID, ok: false, silence: 'no_answer', error: `${error.message}.` }
        throw error
      }
    },
    async knows(subject) {
      const snapshot = await open()
      if (snapshot === undefined) return undefined
      // nobody vouches for what a package of a language carries
      if (isOfLanguage(subject.distribution)) return undefined
      const own = queryOf(subject)
      const source = sourceOf(own)
      const rows = await snapshot.rows(own.ecosystem, [...new Set([own.name, source.name])]).catch((error: unknown) => {
        throw new EngineUnavailable(ID, 'its data cannot be read; import them again', error)
      })
      if (rows.length === 0) return undefined
      const versions = new Set([own.version, source.version].map(bare))
      const isNamed = rows.some(({ spans, versions: listed = [], ships = [] }) =>
        [...listed, ...ships, ...spans.flatMap(({ to }) => to ?? [])].some(version => versions.has(bare(version))),
      )
      return isNamed ? 'version' : 'source'
    },
    async explain(query) {
      const snapshot = await open()
      if (snapshot === undefined) return []
      const { spelled, rows } = await rowsOf(snapshot, query)
      return dated({ evidence: sayRows(spelled, rows, orders) }, snapshot).evidence
    },
    async match(queries) {
      const snapshot = await open()
      if (snapshot === undefined) return queries.map(() => ({ findings: [], isUnreadable: false }))
      try {
        return await Promise.all(queries.map(query => ask(snapshot, query)))
      } catch (error) {
        throw new EngineUnavailable(ID, 'its data cannot be read; import them again', error)
      }
    },
    async scan(subject) {
      const snapshot = await open()
      const of = ecosystemOf(subject.distribution).ecosystem
      // an image has no advisories of its own; those of its system say what is known of it
      const system = of === NOBODY ? subject.embedded?.find(({ source }) => source !== undefined)?.ecosystem : undefined
      const covers =
        system === undefined
          ? coverageOf(subject.distribution, known(snapshot))
          : carriedCoverage(system, known(snapshot))
      if (snapshot === undefined || covers.coverage === 'no_data') return { ...covers, findings: [] }
      const isKnown = covers.coverage !== 'not_covered' && of !== NOBODY
      const own = queryOf(subject)
      const carried = (subject.embedded ?? []).filter(one => !isItself(one, own, orders))
      // the package of a signed build names what it signs, which is asked about as its source
      const { name: source, version } = sourceOf(own)
      const built = (subject.about.built_using ?? [])
        .filter(one => one.name !== source || one.version !== version)
        .map(one => ({ ecosystem: own.ecosystem, ...one, at: builtIn(own.ecosystem, one) }))
      // libraries inside have advisories of their own, also where the distribution has none
      const queries: readonly (PackageQuery & Pick<EmbeddedPackage, 'at' | 'cleared'>)[] = [
        ...(isKnown ? [own, ...built] : []),
        ...carried,
      ]
      let answers: readonly Asked[]
      try {
        answers = await Promise.all(queries.map(query => ask(snapshot, query)))
      } catch (error) {
        throw new EngineUnavailable(ID, 'its data cannot be read; import them again', error)
      }
      const findings = answers.flatMap((answer, n) => {
        const { at, ...query } = queries[n] ?? {}
        const open = answer.findings.filter(finding => !isCleared(query, finding))
        // the NVD's names of products are not those of files
        const surely =
          queries[n]?.ecosystem === NATIVE && at !== undefined ? { ...at, confidence: 'probable' as const } : at
        return surely === undefined ? open : open.map(finding => ({ ...finding, at: surely }))
      })
      const denied = isKnown ? (answers[0]?.denied ?? []) : []
      const isNamed = !isKnown || answers[0]?.isNamed === true
      // a distribution names its packages; of a language only those that have something are named
      const isSilent = !isNamed && isOfLanguage(subject.distribution)
      return {
        ...joinCoverage({
          own: covers,
          unnamed: isNamed || isSilent ? undefined : sayUnnamed(subject.distribution.label, own.name, source),
          ecosystems: [...new Set(carried.map(({ ecosystem }) => ecosystem))]
            .filter(one => one !== system)
            .map(ecosystem => carriedCoverage(ecosystem, known(snapshot))),
          gaps: gapsOf(queries.filter((_, at) => answers[at]?.isUnreadable === true)),
          notes: [...(isSilent ? [saySilent(own.name)] : []), ...sayCleared(queries, answers), ...sayDenied(denied)],
        }),
        findings,
        ...(denied.length === 0 ? {} : { denied: denied.map(({ isDisputed: _, ...one }) => one) }),
      }
    },
  }
}
