import { NOT_AFFECTED_BECAUSE } from '../../core/vex.ts'
import { fieldsOf, isFields, type Fields } from '../../lib/fields.ts'
import { malformed } from '../../lib/limited.ts'
import { cveOf, type Advisory, type Row } from '../advisory.ts'
import { scoreOf, severityOf } from '../match/severity.ts'
import { readProducts, type CsafPackage } from './csaf-products.ts'
import type { FeedContext } from './distribution-feeds.ts'

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])
const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
const MOST_TEXT = 300

/** The entries of a list that speak of a product; those without products speak of all. */
const about = (list: unknown, id: string): readonly Fields[] =>
  listOf(list).filter(({ product_ids: ids }) => ids === undefined || textsOf(ids).includes(id))

/** The severity of a product, in the vendor's word: `Important`. */
function impactOf(threats: unknown, id: string): ReturnType<typeof severityOf> {
  return about(threats, id)
    .filter(({ category }) => category === 'impact')
    .map(({ details }) => severityOf(details))
    .find(word => word !== undefined)
}

/** What the vendor says of a fix that is not there: `Will not fix`, `Fix deferred`. */
function planOf(remediations: unknown, id: string): string | undefined {
  return about(remediations, id)
    .filter(({ category }) => category === 'none_available' || category === 'no_fix_planned')
    .map(({ details }) => details)
    .find(details => typeof details === 'string' && details !== '') as string | undefined
}

function vectorsOf(scores: unknown): readonly string[] {
  const vectors = listOf(scores)
    .flatMap(({ cvss_v4, cvss_v3, cvss_v2 }) => [cvss_v4, cvss_v3, cvss_v2])
    .map(score => fieldsOf(score).vectorString)
  return [...new Set(vectors.filter(vector => typeof vector === 'string'))].filter(
    vector => scoreOf(vector) !== undefined,
  )
}

type Statement = 'fixed' | 'affected' | 'safe'

/** The row of one product under one statement, or undefined for what a table cannot hold. */
function rowOf(what: Statement, { name, isSource, version, module }: CsafPackage): Row | undefined {
  const row = {
    name,
    by: isSource ? 'source' : 'binary',
    ...(module === undefined ? {} : { modules: [module] }),
  } as const
  if (what === 'safe') return { ...row, spans: [], safe: true }
  if (what === 'fixed') return version === undefined ? undefined : { ...row, spans: [{ from: '0', to: version }] }
  return version === undefined ? { ...row, spans: [{ from: '0' }] } : { ...row, spans: [], versions: [version] }
}

interface Document {
  readonly id: string
  readonly publisher: string
  readonly modified: string
}

/** Every statement of one vulnerability. */
function readVulnerability(
  vulnerability: Fields,
  { id, publisher, modified }: Document,
  { productOf, source, orders, sink }: FeedContext & { readonly productOf: (id: string) => CsafPackage | undefined },
): void {
  const { cve: written, product_status: status, threats, remediations, flags, title } = vulnerability
  const cve = typeof written === 'string' ? cveOf(written) : undefined
  if (cve === undefined) return sink.skip('malformed')
  const vectors = vectorsOf(vulnerability.scores)
  const advisory: Advisory = {
    id,
    source,
    rank: 3,
    cves: [cve],
    modified,
    ...(vectors.length === 0 ? {} : { vectors }),
    ...(typeof title === 'string' ? { summary: title.slice(0, MOST_TEXT) } : {}),
  }
  const word = listOf(threats)
    .filter(({ category }) => category === 'impact')
    .map(({ details }) => severityOf(details))
    .find(found => found !== undefined)
  if (word !== undefined && /^red hat\b/i.test(publisher)) sink.rate(cve, { red_hat: word })
  if (vectors.length > 0) sink.vector(cve, vectors)
  const seen = new Set<string>()
  const add = (what: Statement, product: string): void => {
    const found = productOf(product)
    if (found === undefined) return sink.skip('other_ecosystem')
    if (/-debug(?:info|source)$/.test(found.name)) return
    const row = rowOf(what, found)
    if (row === undefined || (what === 'fixed' && !orders.rpm.isVersion(found.version ?? '')))
      return sink.skip('bad_version')
    const key = JSON.stringify([found.ecosystem, row])
    if (seen.has(key)) return
    seen.add(key)
    const label = about(flags, product)
      .map(flag => NOT_AFFECTED_BECAUSE[String(flag.label)])
      .find(text => text !== undefined)
    const plan = what === 'affected' ? planOf(remediations, product) : undefined
    const said = what === 'safe' ? `not affected${label === undefined ? '' : `: ${label}`}` : plan
    const severity = impactOf(threats, product)
    sink.add({
      ecosystem: found.ecosystem,
      advisory,
      row: {
        ...row,
        ...(severity === undefined ? {} : { severity }),
        ...(said === undefined ? {} : { said: `${publisher}: ${said.slice(0, MOST_TEXT)}.` }),
      },
    })
  }
  const { known_affected, last_affected, known_not_affected, fixed, first_fixed, recommended } = fieldsOf(status)
  for (const list of [fixed, first_fixed, recommended]) for (const product of textsOf(list)) add('fixed', product)
  for (const list of [known_affected, last_affected]) for (const product of textsOf(list)) add('affected', product)
  for (const product of textsOf(known_not_affected)) add('safe', product)
}

/** Who publishes a document, as a part of a source's name: `red-hat`. */
const slugOf = (publisher: string): string =>
  publisher
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 40)

/** What a document says of itself. @throws Malformed when it is no CSAF 2.0 */
export function readCsafHead(value: unknown): Document & { readonly slug: string } {
  const { csaf_version: version, tracking, publisher } = fieldsOf(fieldsOf(value).document)
  const { id, current_release_date: date } = fieldsOf(tracking)
  const { name } = fieldsOf(publisher)
  if (version !== '2.0') malformed('the file is no CSAF 2.0 document')
  if (typeof id !== 'string' || id === '' || id.length > 200 || typeof name !== 'string' || name === '')
    return malformed('the CSAF document does not say its id and who published it')
  const at = new Date(typeof date === 'string' ? date : NaN)
  if (Number.isNaN(at.getTime())) malformed('the CSAF document does not say when it was released')
  return {
    id,
    publisher: name.replace(/ Product Security$/, '').slice(0, 60),
    modified: at.toISOString(),
    slug: slugOf(name),
  }
}

/**
 * Reads a CSAF 2.0 document, such as Red Hat's and SUSE's VEX: what is fixed in which version, what is affected without
 * a fix, and what is not affected. What is under investigation says nothing.
 * @throws Malformed when it is no such document
 * Source: https://docs.oasis-open.org/csaf/csaf/v2.0/os/csaf-v2.0-os.html, 3.2 and 4.5
 */
export function readCsaf(value: unknown, context: FeedContext): Document {
  const document = readCsafHead(value)
  const { product_tree: tree, vulnerabilities } = fieldsOf(value)
  const productOf = readProducts(fieldsOf(tree))
  for (const one of listOf(vulnerabilities)) readVulnerability(one, document, { ...context, productOf })
  return document
}
