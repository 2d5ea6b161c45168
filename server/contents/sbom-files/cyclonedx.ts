import { SaxesParser } from 'saxes'
import { fieldsOf, isFields } from '../../lib/fields.ts'
import { malformed } from '../../lib/limited.ts'
import { parseJson } from '../../lib/json-file.ts'
import type { Found } from '../reader.ts'
import { MOST_ROWS, textOf, textReader } from '../text-file.ts'
import { namedFound, type Named } from './named.ts'

const RULE = 'cyclonedx'
export const MOST_BILL = 32 * 2 ** 20

// what is code; others (a file, a key, a model) count where they have a package URL
const CODE: ReadonlySet<string> = new Set([
  'library',
  'framework',
  'application',
  'firmware',
  'platform',
  'device-driver',
])

const isCounted = (type: string, purl: string): boolean => purl !== '' || CODE.has(type)

/** The component, and those inside it. */
function* componentsOf(component: unknown): Generator<Found> {
  if (!isFields(component)) return
  const { type, purl, group, name, version, scope, components } = component
  if (isCounted(textOf(type), textOf(purl))) {
    const isExcluded = scope === 'excluded'
    yield* namedFound(
      { purl: textOf(purl), group: textOf(group), name: textOf(name), version: textOf(version), isExcluded },
      RULE,
    )
  }
  if (Array.isArray(components)) for (const inner of components) yield* componentsOf(inner)
}

/** Components of a CycloneDX document in JSON; none of another. Source: cyclonedx.org, specification 1.0 to 1.7 */
export function* cycloneDxComponents(document: unknown): Generator<Found> {
  const { bomFormat, metadata, components } = fieldsOf(document)
  if (bomFormat !== 'CycloneDX') return
  yield* componentsOf(fieldsOf(metadata).component)
  if (Array.isArray(components)) for (const component of components) yield* componentsOf(component)
}

const FIELDS = ['group', 'name', 'version', 'purl', 'scope'] as const
const LONGEST_TEXT = 4096
const MOST_DEPTH = 200

interface Open extends Record<(typeof FIELDS)[number], string> {
  readonly type: string
  readonly depth: number
}

/** The same in XML. The parser knows no entities but those of XML, so there are none to expand. */
function xmlComponents(text: string): Found[] {
  const found: Found[] = []
  const open: Open[] = []
  let depth = 0
  let field: (typeof FIELDS)[number] | undefined
  const parser = new SaxesParser({ xmlns: false })
  parser.on('error', error => malformed(`it is not XML: ${error.message.slice(0, 200)}`))
  parser.on('opentag', ({ name, attributes }) => {
    if (++depth > MOST_DEPTH) malformed(`it is nested more than ${MOST_DEPTH} deep`)
    const local = name.replace(/^.*:/, '')
    const parent = open.at(-1)
    field = parent?.depth === depth - 1 ? FIELDS.find(one => one === local) : undefined
    if (local === 'component')
      open.push({ type: attributes.type ?? '', depth, group: '', name: '', version: '', purl: '', scope: '' })
  })
  parser.on('text', chunk => {
    const component = open.at(-1)
    if (component !== undefined && field !== undefined && component[field].length < LONGEST_TEXT)
      component[field] += chunk
  })
  parser.on('closetag', () => {
    field = undefined
    const component = open.at(-1)?.depth === depth ? open.pop() : undefined
    depth--
    if (component === undefined || !isCounted(component.type, component.purl) || found.length > MOST_ROWS) return
    const named: Named = { ...component, isExcluded: component.scope === 'excluded' }
    found.push(...namedFound(named, RULE))
  })
  parser.write(text).close()
  return found
}

const SCHEMA = 'cyclonedx.org/schema/bom'

/** `*.cdx.json`, `bom.json`, and any other JSON that begins as CycloneDX. */
export const cycloneDxJson = textReader({
  id: 'cyclonedx-json',
  path: (path, head) =>
    path.endsWith('.json') &&
    (/(?:^|[/.])(?:cdx|s?bom)\.json$/i.test(path) ||
      /(?:\.dist-info\/sboms|META-INF\/sbom)\/[^/]+$/.test(path) ||
      /"bomFormat"\s{0,9}:/.test(head.toString('latin1'))),
  most: MOST_BILL,
  read: text => cycloneDxComponents(parseJson(text)),
})

/** CycloneDX as XML. */
export const cycloneDxXml = textReader({
  id: 'cyclonedx-xml',
  path: (path, head) => path.endsWith('.xml') && head.toString('latin1').includes(SCHEMA),
  most: MOST_BILL,
  read: xmlComponents,
})
