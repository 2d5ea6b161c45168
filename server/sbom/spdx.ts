import { createHash } from 'node:crypto'
import { fullName, vulnerabilitySource, webAddress, type Entry, type Print } from './bill.ts'
import { sayGaps, type Component } from '../contents/component.ts'
import type { Unopened } from '../contents/reader.ts'
import { spdxExpression } from '../core/licences/judge.ts'
import { licenseRef } from './licenses.ts'

type Json = Readonly<Record<string, unknown>>

// SPDXRef-[letters, digits, dot, dash]: other characters of a package URL go into the digest
const refOf = (purl: string, n?: number | `unopened-${number}`): string => {
  const digest = createHash('sha256')
    .update(n === undefined ? purl : `${purl}#${n}`)
    .digest('hex')
    .slice(0, 20)
  const slug = (/^pkg:[^/]+\/(?:.*\/)?([^@?]+)/.exec(purl)?.[1] ?? '').replace(/[^A-Za-z0-9.-]+/g, '-').slice(0, 60)
  return `SPDXRef-${n === undefined ? 'Package' : 'Component'}-${slug}-${digest}`
}

const seconds = (iso: string): string => `${iso.slice(0, 19)}Z`

function purlReference(purl: string): Json {
  return { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl }
}

/**
 * `Person: Ada (ada@example.test)`; free text without name and address stays as it is. Source: SPDX 2.3, 7.5 and 7.6
 */
function person(maintainer: string | undefined): string {
  const [, name = '', mail = ''] = /^"?([^<>()"]+)(?:"\s*)?<([^<>()\s]+)>/.exec(maintainer ?? '') ?? []
  return name === '' ? 'NOASSERTION' : `Person: ${name.trim()} (${mail})`
}

/** Licence texts that are no SPDX expression, by the name they were given. */
type Extracted = Map<string, string>

function licenseOf(text: string | undefined, extracted: Extracted): string {
  if (text === undefined || text === '') return 'NOASSERTION'
  const expression = spdxExpression(text)
  if (expression !== undefined) return expression
  const name = licenseRef(text)
  extracted.set(name, text)
  return name
}

function packageOf({ manifest, purl, contents }: Entry, extracted: Extracted): Json {
  const { ref, about } = manifest
  const { path: filename, blob } = manifest.files[0]
  const supplier = person(about.maintainer)
  const gaps = sayGaps(contents)
  return {
    SPDXID: refOf(purl),
    name: ref.name,
    versionInfo: ref.version,
    packageFileName: filename,
    supplier,
    originator: supplier,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    primaryPackagePurpose: 'INSTALL',
    checksums: [
      { algorithm: 'SHA256', checksumValue: blob.sha256 },
      { algorithm: 'SHA512', checksumValue: blob.sha512 },
      { algorithm: 'SHA1', checksumValue: blob.sha1 },
      { algorithm: 'MD5', checksumValue: blob.md5 },
    ],
    ...(webAddress(about.homepage) === undefined ? {} : { homepage: webAddress(about.homepage) }),
    sourceInfo: `built from ${about.source} ${about.source_version}; ${ref.codename}, ${ref.arch}, ${manifest.state}`,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: licenseOf(about.license, extracted),
    copyrightText: 'NOASSERTION',
    ...(about.summary === '' ? {} : { summary: about.summary }),
    ...(about.description === '' ? {} : { description: about.description }),
    ...(gaps.length === 0 ? {} : { comment: `Not everything it carries could be read. ${gaps.join(' ')}` }),
    externalRefs: [
      purlReference(purl),
      ...manifest.findings.map(({ id, severity }) => ({
        referenceCategory: 'SECURITY',
        referenceType: 'advisory',
        referenceLocator: vulnerabilitySource(id).url,
        comment: `${id}, ${severity}`,
      })),
    ],
  }
}

function carriedOf(component: Component, owner: string, n: number): Json {
  return {
    SPDXID: refOf(owner, n),
    name: fullName(component),
    ...(component.version === undefined ? {} : { versionInfo: component.version }),
    supplier: 'NOASSERTION',
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    primaryPackagePurpose: 'LIBRARY',
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    sourceInfo: `${component.presence === 'shipped' ? 'named' : 'declared, not shipped'} by ${component.path} (${component.rule}, ${component.confidence})`,
    externalRefs: [purlReference(component.purl)],
  }
}

/** A file that was not opened: what is in it is not in this document. */
function closed({ path, size, why }: Unopened, owner: string, n: number): Json {
  return {
    SPDXID: refOf(owner, `unopened-${n}`),
    name: path,
    supplier: 'NOASSERTION',
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    primaryPackagePurpose: 'FILE',
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    sourceInfo: `${size} bytes, not opened`,
    comment: why,
  }
}

const relation = (from: string, relationshipType: string, to: string): string =>
  JSON.stringify({ spdxElementId: from, relationshipType, relatedSpdxElement: to })

/**
 * SPDX 2.3 as JSON. Decisions have no place in it; findings are references of the category SECURITY. Source:
 * https://spdx.github.io/spdx-spec/v2.3/
 */
export const spdx: Print = {
  ending: 'spdx.json',
  async *print({ heading, entries }) {
    const head = {
      spdxVersion: 'SPDX-2.3',
      dataLicense: 'CC0-1.0',
      SPDXID: 'SPDXRef-DOCUMENT',
      name: heading.version === undefined ? heading.name : `${heading.name}-${heading.version}`,
      documentNamespace: `https://spdx.org/spdxdocs/${encodeURIComponent(heading.name)}-${heading.uuid}`,
      creationInfo: {
        created: seconds(heading.at),
        creators: [`Tool: Gatehouse-${heading.tool.replace(/[\s-]+/g, '.')}`],
      },
      comment: `${heading.total} ${heading.total === 1 ? 'package' : 'packages'} in all.`,
    }
    yield `${JSON.stringify(head).slice(0, -1)},"packages":[`
    const extracted: Extracted = new Map()
    const relations: string[] = []
    let comma = ''
    for await (const entry of entries()) {
      const own = refOf(entry.purl)
      const { components, unopened } = entry.contents
      relations.push(relation('SPDXRef-DOCUMENT', 'DESCRIBES', own))
      const packages = [
        packageOf(entry, extracted),
        ...components.map((component, n) => carriedOf(component, entry.purl, n)),
        ...unopened.map((one, n) => closed(one, entry.purl, n)),
      ]
      components.forEach(({ presence }, n) =>
        relations.push(relation(own, presence === 'shipped' ? 'CONTAINS' : 'DEPENDS_ON', refOf(entry.purl, n))),
      )
      unopened.forEach((_, n) => relations.push(relation(own, 'CONTAINS', refOf(entry.purl, `unopened-${n}`))))
      yield comma + packages.map(one => JSON.stringify(one)).join(',')
      comma = ','
    }
    yield `],"relationships":[${relations.join(',')}]`
    if (extracted.size > 0) {
      yield `,"hasExtractedLicensingInfos":${JSON.stringify([...extracted].map(([licenseId, extractedText]) => ({ licenseId, extractedText })))}`
    }
    yield '}\n'
  },
}
