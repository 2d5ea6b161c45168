import { fieldsOf, isFields, type Fields } from '../../lib/fields.ts'
import { parseJson } from '../../lib/json-file.ts'
import type { Found } from '../reader.ts'
import { linesOf, textOf, textReader } from '../text-file.ts'
import { MOST_BILL } from './cyclonedx.ts'
import { namedFound } from './named.ts'

const RULE = 'spdx'
const VCPKG = /(?:^|\/)vcpkg\.spdx\.json$/

const entry = (name: string, version: string, purl: string): Found[] =>
  namedFound({ purl, group: '', name, version, isExcluded: false }, RULE)

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])

/** SPDX 2: a package with its package URL among the external references. */
function packageOf(
  { SPDXID, name, versionInfo, externalRefs, primaryPackagePurpose }: Fields,
  isVcpkg: boolean,
): Found[] {
  const id = textOf(SPDXID)
  // syft writes the scanned folder as a package; vcpkg writes the port, its built archive and its downloads
  if (id.startsWith('SPDXRef-DocumentRoot') || primaryPackagePurpose === 'FILE') return []
  if (isVcpkg && id !== 'SPDXRef-port') return []
  const purl = listOf(externalRefs).find(({ referenceType }) => referenceType === 'purl')
  const version = isVcpkg ? textOf(versionInfo).replace(/#\d+$/, '') : textOf(versionInfo)
  return entry(textOf(name), version === 'NOASSERTION' ? '' : version, textOf(purl?.referenceLocator))
}

/** SPDX 3: elements of a graph. Source: spdx.github.io/spdx-spec/v3.0.1, Software, Package */
function elementOf(element: Fields): Found[] {
  if (element.type !== 'software_Package') return []
  const ids = listOf(element.externalIdentifier)
  const identifier = ids.find(({ externalIdentifierType }) => externalIdentifierType === 'packageUrl')
  const purl = textOf(element.software_packageUrl) || textOf(identifier?.identifier)
  return entry(textOf(element.name), textOf(element.software_packageVersion), purl)
}

/** Packages of an SPDX document in JSON; none of another. */
export function* spdxPackages(document: unknown, path: string): Generator<Found> {
  const fields = fieldsOf(document)
  for (const element of listOf(fields['@graph'])) yield* elementOf(element)
  if (typeof fields.spdxVersion !== 'string') return
  for (const one of listOf(fields.packages)) yield* packageOf(one, VCPKG.test(path))
}

/** SPDX as lines of `Tag: value`; texts of several lines stand in `<text>`. */
function* tagValues(text: string): Generator<readonly [tag: string, value: string]> {
  let isText = false
  for (const line of linesOf(text)) {
    if (isText) {
      isText = !line.includes('</text>')
      continue
    }
    const [, tag, value = ''] = /^([A-Za-z]+): ?(.*)$/.exec(line) ?? []
    if (tag === undefined) continue
    isText = value.startsWith('<text>') && !value.includes('</text>')
    yield [tag, value]
  }
}

function* tagValuePackages(text: string): Generator<Found> {
  let one: { name: string; version: string; purl: string } | undefined
  for (const [tag, value] of tagValues(text)) {
    if (tag === 'PackageName' || tag === 'FileName' || tag === 'SnippetSPDXID') {
      if (one !== undefined) yield* entry(one.name, one.version, one.purl)
      one = tag === 'PackageName' ? { name: value, version: '', purl: '' } : undefined
    }
    if (one === undefined) continue
    if (tag === 'PackageVersion') one.version = value
    if (tag === 'ExternalRef') one.purl = /^PACKAGE[-_]MANAGER purl (\S+)$/.exec(value)?.[1] ?? one.purl
  }
  if (one !== undefined) yield* entry(one.name, one.version, one.purl)
}

/** `*.spdx.json`, `*.spdx` in either form, and any other JSON that begins as SPDX. */
export const spdx = textReader({
  id: 'spdx',
  path: (path, head) =>
    /\.spdx(?:\.json)?$/i.test(path) ||
    (path.endsWith('.json') &&
      /"(?:spdxVersion|@context"\s{0,9}:\s{0,9}"https:\/\/spdx)/.test(head.toString('latin1'))),
  most: MOST_BILL,
  read: (text, path) =>
    text.trimStart().startsWith('{') ? spdxPackages(parseJson(text), path) : tagValuePackages(text),
})
