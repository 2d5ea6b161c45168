import { spdxExpression } from '../../core/licences/judge.ts'
import { identifierOrName, licencesNamed } from '../../core/licences/names.ts'
import { malformed, quote } from '../../lib/limited.ts'
import type { Description } from '../../core/manifest.ts'
import { isBrought } from '../../core/mark.ts'
import type { Marking, MarkSet } from '../marking.ts'
import { needValue, valueOf, type Headers } from './metadata.ts'
import { complainName, complainVersion, normalName, normalVersion, type FileName } from './names.ts'
import { dependsOf } from './requirement.ts'
import { readBounds } from './specifier.ts'

/** What the simple pages and the JSON of a project need of a file, beside its blob. */
export interface PypiFacts {
  readonly filetype: 'bdist_wheel' | 'sdist'
  /** As METADATA or PKG-INFO writes them. */
  readonly name: string
  readonly version: string
  readonly metadata_version: string
  readonly requires_python?: string
  readonly requires_dist: readonly string[]
  readonly provides_extra?: readonly string[]
  /** The fields that only building tells, in lower case; of a source release. */
  readonly dynamic?: readonly string[]
  readonly author?: string
  readonly author_email?: string
  readonly keywords?: string
  readonly classifiers?: readonly string[]
  /** `Homepage, https://…` */
  readonly project_urls?: readonly string[]
  /** Of the METADATA of a wheel, which is served beside it. */
  readonly metadata?: { readonly sha256: string; readonly size: number }
  /** Set by a person: clients take it only where they are told to by its exact version. Source: PEP 592 */
  readonly yanked?: MarkSet
}

const MAX_ROWS = 1_000
const MAX_DESCRIPTION = 32 * 1024

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text)

/** @throws Malformed where the file is named after something else than its metadata say */
function mustAgree(said: { name: string; version: string }, named: FileName, what: string): void {
  const isName = normalName(said.name) === normalName(named.name)
  const isVersion = normalVersion(said.version) === normalVersion(named.version)
  if (isName && isVersion) return
  malformed(
    `its file name says ${quote(`${named.name} ${named.version}`)} and ${what} says ${quote(`${said.name} ${said.version}`)}; both must name the same`,
  )
}

const listOf = ({ fields }: Headers, key: string): readonly string[] => fields.get(key) ?? []
type Some<K extends string, T> = { readonly [_ in K]?: T }
const some = <K extends string>(key: K, values: readonly string[]): Some<K, readonly string[]> =>
  values.length === 0 ? {} : ({ [key]: values.slice(0, MAX_ROWS).map(one => cut(one, 1000)) } as Some<K, string[]>)
const one = <K extends string>(key: K, value: string | undefined): Some<K, string> =>
  value === undefined ? {} : ({ [key]: cut(value, 1000) } as Some<K, string>)

/**
 * What METADATA or PKG-INFO say of a package. @param what  names the file in messages
 * @throws Malformed for a field that breaks its rule, and where the name of the file says something else
 * Source: packaging.python.org, core metadata specifications
 */
export function factsOf(headers: Headers, named: FileName, what: string): PypiFacts {
  const [name, version] = ['Name', 'Version'].map(field => needValue(headers, field, what)) as [string, string]
  const metadataVersion = needValue(headers, 'Metadata-Version', what)
  if (!/^[12]\.\d$/.test(metadataVersion))
    malformed(`${what} is of the metadata version ${quote(metadataVersion)}; 1.0 to 2.9 are read`)
  for (const why of [complainName(name), complainVersion(version)]) if (why !== undefined) malformed(why)
  mustAgree({ name, version }, named, what)
  const requiresPython = valueOf(headers, 'requires-python')
  if (requiresPython !== undefined && (requiresPython.length > 500 || readBounds(requiresPython) === undefined))
    malformed(`the field Requires-Python of ${what} holds ${quote(requiresPython)}, which bounds no version (PEP 440)`)
  const dynamic = listOf(headers, 'dynamic').map(field => field.toLowerCase())
  return {
    filetype: named.arch === 'sdist' ? 'sdist' : 'bdist_wheel',
    name,
    version,
    metadata_version: metadataVersion,
    requires_dist: listOf(headers, 'requires-dist'),
    ...one('requires_python', requiresPython),
    ...some('provides_extra', listOf(headers, 'provides-extra')),
    ...some('dynamic', dynamic),
    ...one('author', valueOf(headers, 'author')),
    ...one('author_email', valueOf(headers, 'author-email')),
    ...one('keywords', valueOf(headers, 'keywords')),
    ...some('classifiers', listOf(headers, 'classifier')),
    ...some('project_urls', listOf(headers, 'project-url')),
  }
}

/** The address that a project gives as its home, whatever it calls that. */
function homepageOf(headers: Headers): string | undefined {
  const home = valueOf(headers, 'home-page')
  if (home !== undefined) return home
  const urls = listOf(headers, 'project-url').map(line => /^([^,]*),\s*(\S+)$/.exec(line))
  return urls.find(match => /home|source|repository/i.test(match?.[1] ?? ''))?.[2]
}

/** What a classifier says beside that somebody approved it: `MIT License`. */
const licencesIn = (classifiers: readonly string[]): readonly string[] =>
  classifiers.flatMap(line => {
    const [kind, ...levels] = line.split('::').map(level => level.trim())
    const last = levels.at(-1)
    return kind !== 'License' || last === undefined || / approved$/i.test(last) ? [] : [last]
  })

/**
 * The licence in the order of the specifications: the expression, else classifiers, else free text. Several classifiers
 * do not say whether one may choose, so they count together. Text that is an expression says more than one classifier
 * that is not clear. Source: PEP 639, PEP 301
 */
function licenseOf(headers: Headers, { classifiers = [] }: PypiFacts): string | undefined {
  const [expression, text] = [valueOf(headers, 'license-expression'), valueOf(headers, 'license')]
  if (expression !== undefined) return expression
  const names = licencesIn(classifiers)
  const [name, ...others] = names
  const isUnclear = name !== undefined && others.length === 0 && licencesNamed(name)?.length !== 1
  if (name === undefined || (isUnclear && text !== undefined && spdxExpression(text) !== undefined)) return text
  return names
    .map(one =>
      identifierOrName(one)
        .replace(/\([^)]*\)/g, '')
        .trim(),
    )
    .join(' AND ')
}

/** @throws Malformed for a requirement that is none */
export function describe(headers: Headers, facts: PypiFacts): Description {
  const [name, version] = [normalName(facts.name), normalVersion(facts.version)]
  const text = valueOf(headers, 'description') ?? headers.body
  const maintainer =
    valueOf(headers, 'maintainer-email') ??
    valueOf(headers, 'maintainer') ??
    valueOf(headers, 'author-email') ??
    valueOf(headers, 'author')
  return {
    summary: cut(valueOf(headers, 'summary') ?? '', 500),
    description: cut(text.trim(), MAX_DESCRIPTION),
    source: name,
    source_version: version,
    ...one('homepage', homepageOf(headers)),
    ...one('maintainer', maintainer),
    ...one('license', licenseOf(headers, facts)),
    depends: dependsOf(facts.requires_dist),
    provides: [{ name, version }],
    conflicts: [],
  }
}

function set(facts: PypiFacts, mark: MarkSet | undefined): PypiFacts {
  const isSaidAlike = isBrought(facts.yanked?.by) === isBrought(mark?.by)
  if (facts.yanked?.reason === mark?.reason && isSaidAlike) return facts
  const { yanked: _, ...plain } = facts
  return mark === undefined ? plain : { ...plain, yanked: mark }
}

/** Yanked versions. Source: PEP 592 */
export const marking: Marking<PypiFacts> = {
  kind: 'yanked',
  read: ({ yanked }) => yanked && { kind: 'yanked', reason: yanked.reason },
  set,
  carry(facts, { yanked }, { by, at }) {
    if (facts.yanked?.reason === yanked?.reason) return facts
    if (facts.yanked !== undefined && !isBrought(facts.yanked.by)) return undefined
    return set(facts, yanked && { reason: yanked.reason, by, at })
  },
}
