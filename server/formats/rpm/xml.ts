import type { RelationOp } from '../../core/relation.ts'
import type { PublishedEntry } from '../tree.ts'
import type { RpmDependency, RpmFacts, RpmFile } from './facts.ts'

// Source: https://www.w3.org/TR/xml/#charsets. Everything else cannot be written in XML 1.0, not even as a reference
// eslint-disable-next-line no-control-regex -- control characters are exactly what is dropped here
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g
const SPECIAL = /[&<>\r]/g
const SPECIAL_IN_QUOTES = /[&<>"\t\n\r]/g
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}
const entity = (char: string): string => ENTITIES[char] ?? ''

/** Text between tags. What XML 1.0 cannot hold is dropped, halves of a surrogate pair become U+FFFD. */
export function escapeText(text: string): string {
  return text.toWellFormed().replace(NOT_XML, '').replace(SPECIAL, entity)
}

/** Text between double quotes; line ends and tabs survive a reader's normalisation. */
export function escapeAttribute(text: string): string {
  return text.toWellFormed().replace(NOT_XML, '').replace(SPECIAL_IN_QUOTES, entity)
}

/** `<tag>text</tag>`, or `<tag/>` where there is no text. */
export function element(tag: string, text: string): string {
  const body = escapeText(text)
  return body === '' ? `<${tag}/>` : `<${tag}>${body}</${tag}>`
}

const FLAGS: Readonly<Record<RelationOp, string>> = { '=': 'EQ', '<': 'LT', '>': 'GT', '<=': 'LE', '>=': 'GE' }

/** A list of capabilities; nothing at all where it is empty. */
function entries(tag: string, list: readonly string[]): string {
  return list.length === 0 ? '' : `    <rpm:${tag}>\n${list.join('')}    </rpm:${tag}>\n`
}

/** `name="libfoo" flags="GE" epoch="0" ver="1.2"` */
function capability({ name, op, evr }: RpmDependency): string {
  const bound =
    op === undefined || evr === undefined
      ? ''
      : ` flags="${FLAGS[op]}" epoch="${escapeAttribute(evr.epoch ?? '0')}"${evr.version === '' ? '' : ` ver="${escapeAttribute(evr.version)}"`}${evr.release === undefined ? '' : ` rel="${escapeAttribute(evr.release)}"`}`
  return `name="${escapeAttribute(name)}"${bound}`
}

const printEntries = (list: readonly RpmDependency[]): string[] =>
  list.map(one => `      <rpm:entry ${capability(one)}${one.pre === true ? ' pre="1"' : ''}/>\n`)

/** True for the files that every client knows without fetching filelists.xml. Source: createrepo_c, `cr_is_primary`. */
export function isPrimaryFile(path: string): boolean {
  return path.startsWith('/etc/') || path.includes('bin/') || path === '/usr/lib/sendmail'
}

/** Requirements on others, each once, without those that the package satisfies itself. */
function printRequires({ requires, provides, files }: RpmFacts): string[] {
  const brought = new Set(files.filter(file => isPrimaryFile(file.path)).map(file => file.path))
  const own = new Set(provides.map(capability))
  const needed = requires.filter(one => !brought.has(one.name) && !own.has(capability(one)))
  return [...new Set(printEntries(needed))]
}

const printFile =
  (indent: string) =>
  ({ path, type }: RpmFile): string =>
    `${indent}<file${type === undefined ? '' : ` type="${type}"`}>${escapeText(path)}</file>\n`

// this format's inspect wrote it
const factsOf = (entry: PublishedEntry): RpmFacts => entry.facts as RpmFacts

const versionOf = ({ epoch, version, release }: RpmFacts): string =>
  `<version epoch="${escapeAttribute(epoch)}" ver="${escapeAttribute(version)}" rel="${escapeAttribute(release)}"/>`

const openPackage = (entry: PublishedEntry, facts: RpmFacts): string =>
  `<package pkgid="${entry.blob.sha256}" name="${escapeAttribute(entry.name)}" arch="${escapeAttribute(entry.arch)}">\n  ${versionOf(facts)}\n`

/**
 * One `<package>` of primary.xml, in the order of fields that createrepo_c writes. @param href relative to the
 * repository
 */
export function renderPrimary(entry: PublishedEntry, href: string): string {
  const facts = factsOf(entry)
  const { name, arch, blob } = entry
  return `<package type="rpm">
  <name>${escapeText(name)}</name>
  <arch>${escapeText(arch)}</arch>
  ${versionOf(facts)}
  <checksum type="sha256" pkgid="YES">${blob.sha256}</checksum>
  ${element('summary', facts.summary)}
  ${element('description', facts.description)}
  ${element('packager', facts.packager)}
  ${element('url', facts.url)}
  <time file="${facts.built}" build="${facts.built}"/>
  <size package="${blob.size}" installed="${facts.installed}" archive="${facts.archive}"/>
  <location href="${escapeAttribute(href)}"/>
  <format>
    ${element('rpm:license', facts.license)}
    ${element('rpm:vendor', facts.vendor)}
    ${element('rpm:group', facts.group)}
    ${element('rpm:buildhost', facts.buildhost)}
    ${element('rpm:sourcerpm', facts.sourcerpm)}
    <rpm:header-range start="${facts.header[0]}" end="${facts.header[1]}"/>
${[
  entries('provides', printEntries(facts.provides)),
  entries('requires', printRequires(facts)),
  entries('conflicts', printEntries(facts.conflicts)),
  entries('obsoletes', printEntries(facts.obsoletes)),
  entries('suggests', printEntries(facts.suggests)),
  entries('enhances', printEntries(facts.enhances)),
  entries('recommends', printEntries(facts.recommends)),
  entries('supplements', printEntries(facts.supplements)),
].join('')}${facts.files
    .filter(file => isPrimaryFile(file.path))
    .map(printFile('    '))
    .join('')}  </format>
</package>
`
}

/** One `<package>` of filelists.xml. */
export function renderFilelists(entry: PublishedEntry): string {
  const facts = factsOf(entry)
  return `${openPackage(entry, facts)}${facts.files.map(printFile('  ')).join('')}</package>\n`
}

/**
 * Spec files know only days, and clients sort by time: newer entries of one day get later seconds, as in createrepo_c.
 */
function datesOf({ changelog }: RpmFacts): number[] {
  const dates: number[] = []
  for (const [i, { at }] of changelog.entries()) {
    if (at === changelog[i - 1]?.at)
      for (let [newer, taken] = [i - 1, at]; dates[newer] === taken; newer--) dates[newer] = ++taken
    dates.push(at)
  }
  return dates
}

/** One `<package>` of other.xml: the changelog, oldest entry first. */
export function renderOther(entry: PublishedEntry): string {
  const facts = factsOf(entry)
  const dates = datesOf(facts)
  const changes = facts.changelog.map(
    ({ author, text }, i) =>
      `  <changelog author="${escapeAttribute(author)}" date="${dates[i] ?? 0}">${escapeText(text)}</changelog>\n`,
  )
  return `${openPackage(entry, facts)}${changes.toReversed().join('')}</package>\n`
}
