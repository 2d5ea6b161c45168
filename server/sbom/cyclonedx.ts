import type { Finding, Severity } from '../core/findings.ts'
import {
  carriedBy,
  isFalsePositive,
  isSupplied,
  printDecision,
  standOf,
  vulnerabilitySource,
  webAddress,
  type Entry,
  type Heading,
  type Print,
  type Stand,
} from './bill.ts'
import { sayGaps, type Component } from '../contents/component.ts'
import type { Unopened } from '../contents/reader.ts'

/** Source: https://cyclonedx.org/docs/1.5/json/ */
const SPEC_VERSION = '1.5'

// the severities of CycloneDX where its words differ from ours
const SEVERITY: Record<Severity, string> = {
  critical: 'critical',
  high: 'high',
  medium: 'medium',
  low: 'low',
  negligible: 'info',
  unknown: 'unknown',
}
const METHOD: Readonly<Record<string, string>> = { '4.0': 'CVSSv4', '3.1': 'CVSSv31', '3.0': 'CVSSv3', '2.0': 'CVSSv2' }

type Json = Readonly<Record<string, unknown>>
const property = (name: string, value: string | number | undefined): Json[] =>
  value === undefined || value === '' ? [] : [{ name: `gatehouse:${name}`, value: String(value) }]

/** The reference of a component: unique in the document, since a package URL may occur twice. */
const carriedRef = (purl: string, n: number): string => `${purl}#${n + 1}`

/** What a file only wants is not callable at all, which CycloneDX calls optional. */
function carried(component: Component, owner: string, n: number): Json {
  const { purl, group, name, version, path, presence, rule, confidence, packaged, cleared } = component
  return {
    'type': 'library',
    'bom-ref': carriedRef(owner, n),
    ...(group === undefined ? {} : { group }),
    name,
    ...(version === undefined ? {} : { version }),
    'scope': presence === 'shipped' ? 'required' : 'optional',
    purl,
    'evidence': { occurrences: [{ location: path }] },
    'properties': [
      ...property('presence', presence),
      ...property('rule', rule),
      ...property('confidence', confidence),
      ...(packaged === true ? property('packaged', 'true') : []),
      ...property('cleared', cleared === undefined ? undefined : `${cleared.ids.join(', ')}: ${cleared.why}`),
    ],
  }
}

/** A file that was not opened: what is in it is not in this document. */
function closed({ path, size, why }: Unopened, owner: string, n: number): Json {
  return {
    'type': 'file',
    'bom-ref': `${owner}#unopened-${n + 1}`,
    'name': path,
    'description': why,
    'properties': [...property('unopened', why), ...property('size', size)],
  }
}

/** What a package carries, and what of it was not opened. */
function insideOf({ contents: { components, unopened }, purl }: Entry): Json[] {
  return [
    ...components.map((component, n) => carried(component, purl, n)),
    ...unopened.map((one, n) => closed(one, purl, n)),
  ]
}

function hashes({ sha256, sha512, sha1, md5 }: Entry['manifest']['files'][0]['blob']): Json[] {
  return [
    { alg: 'SHA-256', content: sha256 },
    { alg: 'SHA-512', content: sha512 },
    { alg: 'SHA-1', content: sha1 },
    { alg: 'MD5', content: md5 },
  ]
}

function componentOf(entry: Entry): Json {
  const { manifest, purl, contents } = entry
  const inside = insideOf(entry)
  const { ref, about } = manifest
  const { path: filename, blob } = manifest.files[0]
  const website = webAddress(about.homepage)
  return {
    'type': 'library',
    'bom-ref': purl,
    'name': ref.name,
    'version': ref.version,
    ...(about.maintainer === undefined ? {} : { publisher: about.maintainer }),
    ...(about.summary === '' ? {} : { description: about.summary }),
    'hashes': hashes(blob),
    ...(about.license === undefined || about.license === ''
      ? {}
      : { licenses: [{ license: { name: about.license } }] }),
    purl,
    ...(website === undefined ? {} : { externalReferences: [{ type: 'website', url: website }] }),
    'properties': [
      ...property('distribution', ref.codename),
      ...property('format', ref.format),
      ...property('arch', ref.arch),
      ...property('state', manifest.state),
      ...property('filename', filename),
      ...property('source', about.source),
      ...property('source_version', about.source_version),
      ...sayGaps(contents).flatMap(gap => property('incomplete', gap)),
    ],
    ...(inside.length === 0 ? {} : { components: inside }),
  }
}

/** Whether somebody said that the finding is wrong, and that stands. */
const isDenied = ({ status, decision }: Stand): boolean =>
  status === 'accepted' && decision !== undefined && isFalsePositive(decision)

/** Decisions in the words of CycloneDX. */
function analysisOf(stand: Stand, finding: Finding): Json {
  const { status, decision } = stand
  if (decision === undefined) return { state: 'in_triage' }
  if (isDenied(stand))
    return {
      state: 'false_positive',
      detail: printDecision(decision),
      firstIssued: decision.at,
      lastUpdated: decision.at,
    }
  if (status === 'accepted' && isSupplied(decision))
    return {
      state: decision.decision === 'fixed' ? 'resolved' : 'not_affected',
      detail: printDecision(decision),
      firstIssued: decision.at,
      lastUpdated: decision.at,
    }
  const response =
    status === 'accepted' ? ['will_not_fix'] : finding.fixed_in === undefined ? ['can_not_fix'] : ['update']
  return {
    state: 'exploitable',
    response,
    detail: printDecision(decision),
    firstIssued: decision.at,
    lastUpdated: decision.at,
  }
}

function ratingOf({ id, severity, cvss, detected_by }: Finding): Json {
  return {
    source: { name: detected_by.join(', ') || vulnerabilitySource(id).name },
    severity: SEVERITY[severity],
    ...(cvss === undefined ? {} : { score: cvss.score, method: METHOD[cvss.version] ?? 'other', vector: cvss.vector }),
  }
}

function vulnerabilityOf(entry: Entry, finding: Finding, now: string): Json {
  const at = carriedBy(entry, finding)
  const stand = standOf(entry.manifest, finding, now)
  const advisories = (finding.references ?? []).flatMap(reference => webAddress(reference) ?? []).map(url => ({ url }))
  return {
    id: finding.id,
    source: vulnerabilitySource(finding.id),
    ...(finding.aliases === undefined || finding.aliases.length === 0
      ? {}
      : { references: finding.aliases.map(id => ({ id, source: vulnerabilitySource(id) })) }),
    ratings: [ratingOf(finding)],
    ...(finding.summary === undefined ? {} : { description: finding.summary }),
    ...(finding.fixed_in === undefined ? {} : { recommendation: `Upgrade to ${finding.fixed_in}.` }),
    ...(advisories.length === 0 ? {} : { advisories }),
    analysis: analysisOf(stand, finding),
    affects: [
      {
        ref: at === undefined ? entry.purl : carriedRef(entry.purl, at),
        versions: [
          {
            version: entry.contents.components[at ?? -1]?.version ?? entry.manifest.ref.version,
            status: isDenied(stand) ? 'unaffected' : 'affected',
          },
        ],
      },
    ],
    properties: [
      ...property('detected_by', finding.detected_by.join(', ')),
      ...property('epss', finding.epss),
      ...property('kev', finding.kev === true ? 'true' : undefined),
      ...property('fixed_in', finding.fixed_in),
    ],
  }
}

function metadataOf({ name, version, at, tool, total }: Heading): Json {
  return {
    timestamp: at,
    tools: { components: [{ type: 'application', name: 'Gatehouse', version: tool }] },
    component: {
      'type': version === undefined ? 'platform' : 'application',
      'bom-ref': 'subject',
      name,
      ...(version === undefined ? {} : { version }),
    },
    properties: property('packages', total),
  }
}

/** CycloneDX 1.5 as JSON, with the decisions as VEX in `vulnerabilities[].analysis`. */
export const cyclonedx: Print = {
  ending: 'cdx.json',
  async *print({ heading, entries }) {
    const { metadata, ...head } = {
      bomFormat: 'CycloneDX',
      specVersion: SPEC_VERSION,
      serialNumber: `urn:uuid:${heading.uuid}`,
      version: 1,
      metadata: metadataOf(heading),
    }
    yield `${JSON.stringify(head).slice(0, -1)},"metadata":${JSON.stringify(metadata)},"components":[`
    const incomplete: string[] = []
    const top: string[] = []
    let comma = ''
    for await (const entry of entries()) {
      yield comma + JSON.stringify(componentOf(entry))
      comma = ','
      top.push(entry.purl)
      if (sayGaps(entry.contents).length > 0) incomplete.push(entry.purl)
    }
    yield `],"dependencies":[${JSON.stringify({ ref: 'subject', dependsOn: top })}]`
    if (incomplete.length > 0)
      yield `,"compositions":[${JSON.stringify({ aggregate: 'incomplete', assemblies: incomplete })}]`
    yield ',"vulnerabilities":['
    comma = ''
    for await (const entry of entries()) {
      for (const finding of entry.manifest.findings) {
        yield comma + JSON.stringify(vulnerabilityOf(entry, finding, heading.now))
        comma = ','
      }
    }
    yield ']}\n'
  },
}
