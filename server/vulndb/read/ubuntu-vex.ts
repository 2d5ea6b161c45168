import { parsePurl } from '../../core/purl.ts'
import { NOT_AFFECTED_BECAUSE } from '../../core/vex.ts'
import { fieldsOf, isFields, type Fields } from '../../lib/fields.ts'
import { malformed } from '../../lib/limited.ts'
import { cveOf, type Advisory, type Row } from '../advisory.ts'
import { ubuntuRelease } from '../match/ecosystems.ts'
import type { FeedContext } from './distribution-feeds.ts'

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])
const MOST_TEXT = 300

/** What stands in each statement before the words about this one. */
const BOILERPLATE = /^This package \(for the given release\)[^.]*\.\s*(?:CVE Notes(?: \/ justification)?:\s*)?/

/** Whether it is OpenVEX as Ubuntu writes it: its head stands in `metadata`. */
export const isUbuntuVex = (value: unknown): boolean => {
  const { metadata, statements } = fieldsOf(value)
  const context = fieldsOf(metadata)['@context']
  return Array.isArray(statements) && typeof context === 'string' && context.startsWith('https://openvex.dev/ns')
}

/** Ubuntu's own sentence, without what stands in all of them; undefined where nothing is left. */
function wordsOf(statement: Fields): string | undefined {
  const { justification, impact_statement: impact, action_statement: action, status } = statement
  const label = NOT_AFFECTED_BECAUSE[String(justification)]
  const text = typeof impact === 'string' ? impact : typeof action === 'string' ? action : ''
  const own = text.replace(BOILERPLATE, '').replace(/\s+/g, ' ').trim().slice(0, MOST_TEXT)
  const said = [status === 'not_affected' ? (label ?? '') : '', own].filter(words => words !== '').join('. ')
  return said === '' ? undefined : said.replace(/\.$/, '')
}

/** A source package of a release: `pkg:deb/ubuntu/krb5@1.19?arch=source&distro=jammy`. Pro's releases are others. */
function sourceOf(
  id: unknown,
): { readonly ecosystem: string; readonly name: string; readonly version: string } | undefined {
  // documents of 2024 have a question mark for the second qualifier's ampersand
  const purl = typeof id === 'string' ? parsePurl(id.replace(/(\?[^?]*)\?/, '$1&')) : undefined
  const { arch, distro = '' } = purl?.qualifiers ?? {}
  const ecosystem = ubuntuRelease(distro.replace(/^ubuntu\//, ''))
  return purl?.version === undefined || ecosystem === undefined || (arch !== 'source' && arch !== 'src')
    ? undefined
    : { ecosystem, name: purl.name, version: purl.version }
}

function rowOf(statement: Fields, name: string, version: string): Row | undefined {
  const said = wordsOf(statement)
  const about = { name, by: 'source' as const }
  if (statement.status === 'not_affected')
    return { ...about, spans: [], safe: true, said: `Ubuntu: not affected${said === undefined ? '' : `: ${said}`}.` }
  if (statement.status === 'fixed') return { ...about, spans: [{ from: '0', to: version }] }
  if (statement.status === 'affected')
    return { ...about, spans: [{ from: '0' }], ...(said === undefined ? {} : { said: `Ubuntu: ${said}.` }) }
  return undefined
}

/**
 * Reads one document of Ubuntu's VEX (OpenVEX 0.2 with its head in `metadata`): which source packages of which release
 * are fixed in which version, affected without a fix, or not affected. What is under investigation says nothing.
 * @returns when it was made, ISO 8601
 * @throws Malformed when it does not say who made it and when
 * Source: https://documentation.ubuntu.com/security/security-updates/vex/
 */
export function readUbuntuVex(value: unknown, { source, orders, sink }: FeedContext): string {
  const { metadata, statements } = fieldsOf(value)
  const { author, timestamp } = fieldsOf(metadata)
  if (typeof author !== 'string' || !/^Canonical\b/.test(author))
    return malformed('the VEX document is not of Canonical. Those of suppliers go beside their packages')
  // without a zone it is UTC
  const text = typeof timestamp === 'string' ? timestamp : ''
  const at = new Date(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`)
  if (Number.isNaN(at.getTime())) return malformed('the VEX document does not say when it was made')
  const modified = at.toISOString()
  for (const statement of listOf(statements)) {
    const cve = cveOf(String(fieldsOf(statement.vulnerability).name))
    if (cve === undefined) {
      sink.skip('malformed')
      continue
    }
    const references = [`https://ubuntu.com/security/${cve}`]
    const advisory: Advisory = { id: cve, source, rank: 3, cves: [cve], modified, references }
    for (const { '@id': id } of listOf(statement.products)) {
      const product = sourceOf(id)
      if (product === undefined) continue // a build of a source that is named too, or a release of Ubuntu Pro
      const row = rowOf(statement, product.name, product.version)
      if (row === undefined) continue
      if (row.spans[0]?.to !== undefined && !orders.deb.isVersion(product.version)) sink.skip('bad_version')
      else sink.add({ ecosystem: product.ecosystem, advisory, row })
    }
  }
  return modified
}
