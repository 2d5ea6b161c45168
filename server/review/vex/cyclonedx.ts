import type { VexStatus } from '../../core/vex.ts'
import { fieldsOf, type Fields } from '../../lib/fields.ts'
import { malformed } from '../../lib/limited.ts'
import {
  listOf,
  momentOf,
  plain,
  saidOf,
  textOf,
  type Product,
  type RawDocument,
  type RawStatement,
} from './statement.ts'

export const isCycloneDx = ({ bomFormat }: Fields): boolean => bomFormat === 'CycloneDX'

/** Source: CycloneDX 1.6, `vulnerabilities[].analysis.state` */
const STATES: Readonly<Record<string, VexStatus>> = {
  not_affected: 'not_affected',
  false_positive: 'not_affected',
  resolved: 'fixed',
  resolved_with_pedigree: 'fixed',
  exploitable: 'affected',
  in_triage: 'under_investigation',
}
const MOST_DEPTH = 30

interface Part {
  readonly purl?: string
  readonly sha256s: readonly string[]
}

function partOf({ purl, hashes }: Fields): Part {
  const digests = listOf(hashes)
    .filter(({ alg }) => alg === 'SHA-256')
    .flatMap(({ content }) => textOf(content)?.toLowerCase() ?? [])
  const written = textOf(purl)
  return { sha256s: digests, ...(written === undefined ? {} : { purl: written }) }
}

/** What each reference means: the components, those inside them, and the subject. */
function readParts(value: Fields): ReadonlyMap<string, Part> {
  const parts = new Map<string, Part>()
  const walk = (components: unknown, depth: number): void => {
    if (depth > MOST_DEPTH) malformed('its components nest deeper than any')
    for (const component of listOf(components)) {
      const ref = textOf(component['bom-ref'])
      if (ref !== undefined) parts.set(ref, partOf(component))
      walk(component.components, depth + 1)
    }
  }
  walk(value.components, 0)
  walk([fieldsOf(value.metadata).component], 0)
  return parts
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A reference within the document, a package URL, or a BOM-Link whose end is one. */
function partBehind(ref: string, parts: ReadonlyMap<string, Part>): Part | undefined {
  const end = decode(/^urn:cdx:[^#]+#(.+)$/.exec(ref)?.[1] ?? ref)
  return parts.get(ref) ?? parts.get(end) ?? (end.startsWith('pkg:') ? { purl: end, sha256s: [] } : undefined)
}

function productsOf(affects: unknown, parts: ReadonlyMap<string, Part>, subject: Part): readonly Product[] {
  return listOf(affects).flatMap(({ ref }): readonly Product[] => {
    const part = partBehind(textOf(ref) ?? '', parts)
    if (part === undefined) return []
    const own = { purls: part.purl === undefined ? [] : [part.purl], sha256s: part.sha256s }
    const isSubject = part.purl === subject.purl && part.sha256s.join() === subject.sha256s.join()
    if (isSubject || subject.purl === undefined || part.purl === undefined) return [own]
    return [own, { purls: [subject.purl], sha256s: subject.sha256s, components: [part.purl] }]
  })
}

/** Who made it, as far as it says. */
function authorOf(metadata: Fields): string | undefined {
  const { supplier, manufacturer, manufacture, authors, component } = metadata
  const { supplier: by, publisher } = fieldsOf(component)
  const names = [supplier, manufacturer, manufacture, listOf(authors)[0], by].map(one => textOf(fieldsOf(one).name))
  return [...names, textOf(publisher)].find(name => name !== undefined)
}

/**
 * Reads a CycloneDX document with analyses of vulnerabilities. Those without one say nothing.
 * @throws Malformed, naming the rule that it breaks
 * Source: https://cyclonedx.org/docs/1.6/json/, `vulnerabilities`
 */
export function readCycloneDxVex(value: Fields): RawDocument {
  const { metadata: head, serialNumber, version, vulnerabilities } = value
  const metadata = fieldsOf(head)
  const issued = momentOf(metadata.timestamp) ?? malformed('it has no metadata.timestamp')
  const parts = readParts(value)
  const subject = partOf(fieldsOf(metadata.component))
  const statements = listOf(vulnerabilities).flatMap(
    ({ id, references, analysis, affects, updated }, n): readonly RawStatement[] => {
      const { state, justification, detail, lastUpdated, firstIssued } = fieldsOf(analysis)
      if (state === undefined) return []
      const status = STATES[textOf(state) ?? '']
      const names = [id, ...listOf(references).map(one => one.id)].flatMap(name => textOf(name) ?? [])
      if (status === undefined)
        return malformed(
          `vulnerability ${n + 1} has the analysis.state ${plain(JSON.stringify(state) ?? 'none', 60)}. It is one of ${Object.keys(STATES).join(', ')}`,
        )
      if (names.length === 0) return malformed(`vulnerability ${n + 1} has no id`)
      return [
        {
          names: names.map(name => plain(name, 100)),
          status,
          products: productsOf(affects, parts, subject),
          ...saidOf(justification, detail),
          at: momentOf(lastUpdated) ?? momentOf(updated) ?? momentOf(firstIssued) ?? issued,
        },
      ]
    },
  )
  return {
    format: 'CycloneDX',
    id: plain(
      `${textOf(serialNumber) ?? malformed('it has no serialNumber')} ${typeof version === 'number' ? version : 1}`,
      200,
    ),
    author: plain(
      authorOf(metadata) ?? malformed('it does not say who made it: metadata.supplier, manufacturer or authors'),
      100,
    ),
    issued,
    statements,
  }
}
