import { VEX_STATUSES } from '../../core/vex.ts'
import { fieldsOf, type Fields } from '../../lib/fields.ts'
import { malformed } from '../../lib/limited.ts'
import {
  listOf,
  momentOf,
  plain,
  saidOf,
  textOf,
  textsOf,
  type Product,
  type RawDocument,
  type RawStatement,
} from './statement.ts'

export const isOpenVex = ({ '@context': context }: Fields): boolean =>
  [context].flat().some(one => typeof one === 'string' && /^https:\/\/openvex\.dev\/ns\b/.test(one))

/** Package URLs of a component: its `@id` and its identifiers. In 0.0 it was the text alone. */
const purlsOf = (component: unknown): readonly string[] => {
  const { '@id': id, identifiers } = fieldsOf(component)
  return [component, id, fieldsOf(identifiers).purl].filter(
    (text): text is string => typeof text === 'string' && text.startsWith('pkg:'),
  )
}

const listOfAny = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])

function productOf(product: unknown, shared: unknown): Product {
  const { hashes, subcomponents = shared } = fieldsOf(product)
  const components = listOfAny(subcomponents).flatMap(purlsOf)
  const { 'sha-256': digest } = fieldsOf(hashes)
  return {
    purls: purlsOf(product),
    sha256s: typeof digest === 'string' ? [digest.toLowerCase()] : [],
    // subcomponents without a package URL are something that is not known here: not the product as a whole
    ...(listOfAny(subcomponents).length === 0 ? {} : { components }),
  }
}

/** The vulnerability's names. In 0.0 it was its name alone. */
function namesOf(vulnerability: unknown): readonly string[] {
  const { name, '@id': id, aliases } = fieldsOf(vulnerability)
  const own = textOf(vulnerability) ?? textOf(name) ?? textOf(id)?.split('/').at(-1)
  return own === undefined ? [] : [own, ...textsOf(aliases)].map(one => plain(one, 100))
}

function statementOf(statement: Fields, n: number, issued: string): RawStatement {
  const { status: said, vulnerability, products, subcomponents, timestamp, last_updated: updated } = statement
  const status = VEX_STATUSES.find(one => one === said)
  if (status === undefined)
    return malformed(
      `statement ${n + 1} has the status ${plain(JSON.stringify(said) ?? 'none', 60)}. It is one of ${VEX_STATUSES.join(', ')}`,
    )
  const names = namesOf(vulnerability)
  if (names.length === 0) return malformed(`statement ${n + 1} names no vulnerability`)
  const { justification, impact_statement, status_notes, action_statement } = statement
  if (status === 'not_affected' && textOf(justification) === undefined && textOf(impact_statement) === undefined)
    return malformed(`statement ${n + 1} says not_affected without a justification or an impact_statement`)
  return {
    names,
    status,
    products: listOfAny(products).map(product => productOf(product, subcomponents)),
    ...saidOf(justification, impact_statement, status_notes, status === 'affected' ? action_statement : undefined),
    at: momentOf(updated) ?? momentOf(timestamp) ?? issued,
  }
}

/**
 * Reads an OpenVEX document, 0.0 to 0.2. @throws Malformed, naming the rule that it breaks
 * Source: https://github.com/openvex/spec/blob/main/OPENVEX-SPEC.md
 */
export function readOpenVex(value: Fields): RawDocument {
  const { '@id': id, author, timestamp, 'last_updated': updated, statements } = value
  const issued = momentOf(updated) ?? momentOf(timestamp) ?? malformed('it has no timestamp')
  return {
    format: 'OpenVEX',
    id: plain(textOf(id) ?? malformed('it has no @id'), 200),
    author: plain(textOf(author) ?? malformed('it has no author'), 100),
    issued,
    statements: listOf(statements).map((statement, n) => statementOf(statement, n, momentOf(timestamp) ?? issued)),
  }
}
