import type { FixAdvisory, OfferedPackage } from '../../core/advisories.ts'
import { parseEvr } from './version.ts'
import { element, escapeAttribute } from './xml.ts'

/** A package that an advisory brings. `file` is its name alone, `source` that of its source package. */
export interface AdvisedPackage {
  readonly name: string
  readonly epoch: string
  readonly version: string
  readonly release: string
  readonly arch: string
  readonly source?: string
  readonly file: string
}

/** An advisory of a distributor about packages that fix something. Times are ISO 8601. */
export interface RpmAdvisory {
  /** `ALSA-2026:1234` */
  readonly id: string
  readonly title: string
  readonly kind: 'security' | 'bugfix' | 'enhancement' | 'newpackage'
  readonly severity?: 'critical' | 'high' | 'medium' | 'low'
  readonly description: string
  readonly issued: string
  readonly updated?: string
  /** The issuer: an address or a name. */
  readonly from: string
  readonly references: readonly {
    readonly kind: 'cve' | 'bugzilla' | 'self' | 'other'
    readonly id: string
    readonly href: string
    readonly title?: string
  }[]
  readonly packages: readonly AdvisedPackage[]
}

// the words that `dnf updateinfo --sec-severity` and zypper's `--severity` know
const SEVERITY: Readonly<Record<NonNullable<RpmAdvisory['severity']>, string>> = {
  critical: 'Critical',
  high: 'Important',
  medium: 'Moderate',
  low: 'Low',
}

/** `2026-11-21 03:00:00`, UTC. */
const printTime = (iso: string): string => iso.slice(0, 19).replace('T', ' ')

function printPackage({ name, epoch, version, release, arch, source, file }: AdvisedPackage): string {
  const attributes = { name, version, release, epoch, arch, ...(source === undefined ? {} : { src: source }) }
  const printed = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeAttribute(value)}"`)
    .join('')
  return `        <package${printed}>\n          ${element('filename', file)}\n        </package>\n`
}

function printReference({ kind, id, href, title = id }: RpmAdvisory['references'][number]): string {
  return `      <reference href="${escapeAttribute(href)}" id="${escapeAttribute(id)}" type="${kind}" title="${escapeAttribute(title)}"/>\n`
}

function printAdvisory(advisory: RpmAdvisory, collection: string): string {
  const { id, title, kind, severity, description, issued, updated = issued, from, references, packages } = advisory
  return `  <update from="${escapeAttribute(from)}" status="final" type="${kind}" version="1">
    ${element('id', id)}
    ${element('title', title)}
    <issued date="${escapeAttribute(printTime(issued))}"/>
    <updated date="${escapeAttribute(printTime(updated))}"/>
${severity === undefined ? '' : `    <severity>${SEVERITY[severity]}</severity>\n`}    ${element('description', description)}
    <references>
${references.map(printReference).join('')}    </references>
    <pkglist>
      <collection short="${escapeAttribute(collection)}">
        ${element('name', collection)}
${packages.map(printPackage).join('')}      </collection>
    </pkglist>
  </update>
`
}

/** True for a file that the repository offers. Advisories must not name others. */
export type IsOffered = (one: AdvisedPackage) => boolean

/**
 * updateinfo.xml: what `dnf updateinfo` and `zypper list-patches` show. Only packages that the repository offers are
 * named; an advisory without any is left out.
 * @param collection a short word for the repository, without spaces
 * @returns undefined when no advisory is left
 * Source: createrepo_c, src/xml_dump_updateinfo.c
 */
export function printUpdateinfo(
  advisories: readonly RpmAdvisory[],
  { collection, isOffered }: { readonly collection: string; readonly isOffered: IsOffered },
): string | undefined {
  const said = advisories
    .map(one => ({ ...one, packages: one.packages.filter(isOffered) }))
    .filter(({ packages }) => packages.length > 0)
  if (said.length === 0) return undefined
  return `<?xml version="1.0" encoding="UTF-8"?>\n<updates>\n${said.map(one => printAdvisory(one, collection)).join('')}</updates>\n`
}

/** The ids of the advisories in an updateinfo.xml. */
export function idsOf(document: string): ReadonlySet<string> {
  return new Set([...document.matchAll(/<id>\s*([^<\s]+)\s*<\/id>/g)].map(([, id = '']) => id))
}

/** Joins two updateinfo.xml, both well-formed, to one. */
export function joinUpdateinfo(first: string, second: string | undefined): string {
  // the end of the outermost element is the last of that name; one without content has none
  const body = /<updates(?:\s[^>]*)?>([\s\S]*)<\/updates>/
  const [, advisories = ''] = body.exec(first) ?? []
  const [, more = ''] = body.exec(second ?? '') ?? []
  return `<?xml version="1.0" encoding="UTF-8"?>\n<updates>\n${advisories.trim()}\n${more.trim()}\n</updates>\n`
}

const WORDS: Readonly<Record<NonNullable<FixAdvisory['severity']>, RpmAdvisory['severity']>> = {
  critical: 'critical',
  high: 'high',
  medium: 'medium',
  low: 'low',
  negligible: 'low',
  unknown: undefined,
}

function advise({ name, version: evr, arch, source, source_version: built }: OfferedPackage): AdvisedPackage {
  const { epoch = '0', version, release = '' } = parseEvr(evr)
  return {
    name,
    epoch,
    version,
    release,
    arch,
    source: `${source}-${built}.src.rpm`,
    file: `${name}-${version}-${release}.${arch}.rpm`,
  }
}

/** One advisory in the form of updateinfo.xml. */
export function advisoryOf({
  id,
  kind,
  severity,
  title,
  at,
  from,
  cves,
  references,
  packages,
}: FixAdvisory): RpmAdvisory {
  const word = severity === undefined ? undefined : WORDS[severity]
  const page = (cve: string): string =>
    references.find(address => address.includes(cve)) ?? `https://nvd.nist.gov/vuln/detail/${encodeURIComponent(cve)}`
  // the distributor's own page has the id in its address, with a dash where a colon would have to be escaped
  const isOwn = (address: string): boolean => address.includes(id) || address.includes(id.replaceAll(':', '-'))
  const others = references.filter(address => !cves.some(cve => address.includes(cve)))
  return {
    id,
    title,
    kind,
    ...(word === undefined ? {} : { severity: word }),
    description: title,
    issued: at,
    from,
    references: [
      ...cves.map(cve => ({ kind: 'cve' as const, id: cve, href: page(cve) })),
      ...others.map(href =>
        isOwn(href) ? { kind: 'self' as const, id, href } : { kind: 'other' as const, id: href, href },
      ),
    ],
    packages: packages.map(advise),
  }
}
