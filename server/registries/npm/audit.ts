import { createHash } from 'node:crypto'
import semver from 'semver'
import type { Finding, Severity } from '../../core/findings.ts'
import { printRef, type PackageRef } from '../../core/identity.ts'
import type { Manifest } from '../../core/manifest.ts'
import { acceptanceOf } from '../../core/review.ts'
import { cleanVersion, isInRange } from '../../formats/npm/version.ts'
import { fieldsOf, type Fields } from '../../lib/fields.ts'
import { parseJsonObject } from '../../lib/json-file.ts'
import { Malformed, malformed, printBytes } from '../../lib/limited.ts'
import { isoNow } from '../../lib/clock.ts'
import { EngineUnavailable } from '../../scanners/scanner.ts'
import { chunksOf, readSmall } from '../body.ts'
import type { RegistryDeps } from '../deps.ts'
import type { RegistryAnswer, RegistryRequest, Together } from '../protocol.ts'
import { refOf } from '../refs.ts'
import { json, refused } from './answers.ts'

const MOST_BYTES = 16 * 2 ** 20
const MOST_ASKED = 50_000

/** Severities as npm counts them. */
const LEVELS: Readonly<Record<Severity, 'critical' | 'high' | 'moderate' | 'low' | 'info'>> = {
  critical: 'critical',
  high: 'high',
  medium: 'moderate',
  low: 'low',
  negligible: 'info',
  // not knowing is not harmless
  unknown: 'moderate',
}

/** Versions by the names of their packages. */
type Asked = ReadonlyMap<string, ReadonlySet<string>>

/** One vulnerability of one package, with those of the asked versions that have it. */
interface Hit {
  readonly name: string
  readonly finding: Finding
  readonly affected: readonly string[]
}

/** @throws Malformed */
async function readBody({ body }: Pick<RegistryRequest, 'body'>): Promise<Fields> {
  const bytes = await readSmall(chunksOf(body), MOST_BYTES)
  return parseJsonObject((bytes ?? malformed(`it has more than ${printBytes(MOST_BYTES)}`)).toString())
}

function createAsked() {
  const asked = new Map<string, Set<string>>()
  let count = 0
  return {
    asked: asked as Asked,
    add(name: string, version: unknown): void {
      const clean = typeof version === 'string' ? cleanVersion(version) : undefined
      if (clean === undefined || name.length > 214) return
      const versions = asked.get(name) ?? new Set()
      if (versions.has(clean)) return
      if (++count > MOST_ASKED) malformed(`it names more than ${MOST_ASKED} versions`)
      asked.set(name, versions.add(clean))
    },
  }
}

/** The versions that clients get by these names and numbers, where they are here: of a group from its members. */
async function findHere(
  { catalog }: Pick<RegistryDeps, 'catalog'>,
  request: Pick<RegistryRequest, 'registry'>,
  group: Together | undefined,
  wanted: readonly { readonly name: string; readonly version: string }[],
): Promise<(name: string, version: string) => Manifest | undefined> {
  const speaks = await group?.speakers(wanted.map(({ name }) => name))
  const refsOf = (name: string, version: string): PackageRef[] =>
    (group?.members ?? [request]).flatMap(({ registry }) =>
      speaks?.(registry.codename, name) === false ? [] : [refOf({ registry }, name, version)],
    )
  const known = await catalog.findAll(wanted.flatMap(({ name, version }) => refsOf(name, version)))
  return (name, version) => refsOf(name, version).flatMap(ref => known.get(printRef(ref)) ?? [])[0]
}

/** The findings that the asked versions have, without those that somebody accepted for a version that is here. */
async function hitsOf(
  { matcher, catalog, clock }: Pick<RegistryDeps, 'matcher' | 'catalog' | 'clock'>,
  request: Pick<RegistryRequest, 'registry'>,
  { asked, group }: { readonly asked: Asked; readonly group: Together | undefined },
): Promise<readonly Hit[]> {
  const packages = [...asked].flatMap(([name, versions]) =>
    [...versions].map(version => ({ name, version, arch: 'any', source: '', sourceVersion: '' })),
  )
  const answers = await matcher.match(request.registry, packages)
  const found = packages.flatMap(({ name, version }, at) => {
    const findings = answers[at] ?? []
    return findings.length === 0 ? [] : [{ name, version, findings }]
  })
  const hereOf = await findHere({ catalog }, request, group, found)
  const now = isoNow(clock)
  const hits = new Map<string, { name: string; finding: Finding; affected: string[] }>()
  for (const { name, version, findings } of found) {
    const here = hereOf(name, version)
    for (const finding of findings) {
      if (here !== undefined && acceptanceOf(here, finding, now) !== undefined) continue
      const key = JSON.stringify([name, finding.id])
      const hit = hits.get(key) ?? { name, finding, affected: [] }
      hit.affected.push(version)
      hits.set(key, hit)
    }
  }
  return [...hits.values()]
}

/**
 * The range that clients test versions with: all before the fix, where that takes no asked version that does not
 * have it; else exactly those that have it.
 */
function rangeOf({ name, finding: { fixed_in }, affected }: Hit, asked: Asked): string {
  const fixed = fixed_in === undefined ? null : semver.valid(fixed_in)
  const exact = affected.join(' || ')
  if (fixed === null) return exact
  const before = `<${fixed}`
  const isRight = [...(asked.get(name) ?? [])].every(
    version => isInRange(version, before) === affected.includes(version),
  )
  return isRight ? before : exact
}

/** Clients want a number. */
const numberOf = ({ name, finding: { id } }: Hit): number =>
  createHash('sha256').update(`${name} ${id}`).digest().readUIntBE(0, 6)

const titleOf = ({ finding: { id, summary } }: Hit): string => (summary === undefined ? id : `${id}: ${summary}`)
const pageOf = ({ finding: { id, references } }: Hit): string =>
  references?.find(one => /^https?:/.test(one)) ?? `https://osv.dev/vulnerability/${encodeURIComponent(id)}`

/** What a client is told when nothing is known: never that there is nothing. */
async function silence(
  { matcher }: Pick<RegistryDeps, 'matcher'>,
  { registry }: Pick<RegistryRequest, 'registry'>,
): Promise<RegistryAnswer | undefined> {
  const { coverage, said } = await matcher.coverage(registry)
  return coverage === 'no_data' || coverage === 'not_covered'
    ? refused(503, `The vulnerabilities of these packages are not known here. ${said ?? ''}`.trim())
    : undefined
}

async function answered(answer: () => Promise<RegistryAnswer>): Promise<RegistryAnswer> {
  try {
    return await answer()
  } catch (error) {
    if (error instanceof Malformed) return refused(400, `The request could not be read: ${error.why}.`)
    if (error instanceof EngineUnavailable)
      return refused(503, `The vulnerabilities of these packages are not known here: ${error.message}`)
    throw error
  }
}

/** `POST /-/npm/v1/security/advisories/bulk`: what npm asks after each installation. */
export const bulk = (deps: RegistryDeps, request: RegistryRequest, group?: Together): Promise<RegistryAnswer> =>
  answered(async () => {
    const { asked, add } = createAsked()
    for (const [name, versions] of Object.entries(await readBody(request)))
      for (const version of Array.isArray(versions) ? (versions as unknown[]) : []) add(name, version)
    const silent = await silence(deps, request)
    if (silent !== undefined) return silent
    const byName = new Map<string, unknown[]>()
    for (const hit of await hitsOf(deps, request, { asked, group })) {
      const { severity, cvss } = hit.finding
      const advisory = {
        id: numberOf(hit),
        url: pageOf(hit),
        title: titleOf(hit),
        severity: LEVELS[severity],
        vulnerable_versions: rangeOf(hit, asked),
        cwe: [],
        cvss: { score: cvss?.score ?? 0, vectorString: cvss?.vector ?? null },
      }
      byName.set(hit.name, [...(byName.get(hit.name) ?? []), advisory])
    }
    return json(Object.fromEntries(byName))
  })

/** Where each version stands in the tree that a client sends. */
function pathsIn(tree: Fields, add: (name: string, version: unknown) => void): ReadonlyMap<string, string[]> {
  const paths = new Map<string, string[]>()
  const visit = (dependencies: unknown, above: readonly string[]): void => {
    for (const [name, entry] of Object.entries(fieldsOf(dependencies))) {
      const { version, dependencies: below } = fieldsOf(entry)
      const path = [...above, name]
      add(name, version)
      const key = `${name}@${typeof version === 'string' ? (cleanVersion(version) ?? '') : ''}`
      paths.set(key, [...(paths.get(key) ?? []), path.join('>')].slice(0, 100))
      visit(below, path)
    }
  }
  visit(tree['dependencies'], [])
  return paths
}

/** `POST /-/npm/v1/security/audits/quick`: what pnpm and older clients ask, with the whole tree. */
export const quick = (deps: RegistryDeps, request: RegistryRequest, group?: Together): Promise<RegistryAnswer> =>
  answered(async () => {
    const { asked, add } = createAsked()
    const paths = pathsIn(await readBody(request), add)
    const silent = await silence(deps, request)
    if (silent !== undefined) return silent
    const counts = { info: 0, low: 0, moderate: 0, high: 0, critical: 0 }
    const advisories = (await hitsOf(deps, request, { asked, group })).map(hit => {
      const { name, affected, finding } = hit
      const severity = LEVELS[finding.severity]
      counts[severity] += 1
      const fixed = finding.fixed_in
      return {
        id: numberOf(hit),
        module_name: name,
        title: titleOf(hit),
        overview: finding.summary ?? '',
        url: pageOf(hit),
        severity,
        vulnerable_versions: rangeOf(hit, asked),
        patched_versions: fixed === undefined ? '<0.0.0' : `>=${fixed}`,
        recommendation:
          fixed === undefined ? 'No version without it is known.' : `Upgrade to version ${fixed} or later`,
        cves: [finding.id, ...(finding.aliases ?? [])].filter(id => id.startsWith('CVE-')),
        github_advisory_id:
          [finding.id, ...(finding.aliases ?? []), ...(finding.advisories ?? [])].find(id => id.startsWith('GHSA-')) ??
          null,
        cwe: [],
        access: 'public',
        findings: affected.map(version => ({ version, paths: paths.get(`${name}@${version}`) ?? [] })),
      }
    })
    const total = [...asked.values()].reduce((sum, versions) => sum + versions.size, 0)
    return json({
      actions: [],
      advisories: Object.fromEntries(advisories.map(one => [String(one.id), one])),
      muted: [],
      metadata: {
        vulnerabilities: counts,
        dependencies: total,
        devDependencies: 0,
        optionalDependencies: 0,
        totalDependencies: total,
      },
    })
  })
