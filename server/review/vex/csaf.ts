import type { VexStatus } from '../../core/vex.ts'
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

export const isCsaf = ({ document }: Fields): boolean => fieldsOf(document).csaf_version !== undefined

/** Source: CSAF 2.0, 3.2.3.9, "Product Status" */
const STATUSES: Readonly<Record<string, VexStatus>> = {
  known_not_affected: 'not_affected',
  fixed: 'fixed',
  first_fixed: 'fixed',
  known_affected: 'affected',
  first_affected: 'affected',
  last_affected: 'affected',
  under_investigation: 'under_investigation',
}
const MOST_DEPTH = 30
const MOST_PRODUCTS = 100_000
const MOST_LINKS = 5

interface Leaf {
  readonly purls: readonly string[]
  readonly sha256s: readonly string[]
}

/** What identifies a product. 2.1 has several package URLs. */
function leafOf(helper: Fields): Leaf {
  const digests = listOf(helper.hashes)
    .flatMap(({ file_hashes: all }) => listOf(all))
    .filter(({ algorithm }) => algorithm === 'sha256')
    .flatMap(({ value }) => textOf(value)?.toLowerCase() ?? [])
  return { purls: [...textsOf(helper.purls), textOf(helper.purl)].filter(purl => purl !== undefined), sha256s: digests }
}

/** What each product id means: itself, or a component as part of a product. */
function readProducts(tree: Fields): (id: string) => readonly Product[] {
  const leaves = new Map<string, Leaf>()
  const links = new Map<string, readonly [component: string, product: string]>()
  const add = (product: unknown): void => {
    const { product_id: id, product_identification_helper: helper } = fieldsOf(product)
    if (leaves.size >= MOST_PRODUCTS) malformed('it has more products than any')
    if (typeof id === 'string') leaves.set(id, leafOf(fieldsOf(helper)))
  }
  const walk = (branches: unknown, depth: number): void => {
    if (depth > MOST_DEPTH) malformed('its products nest deeper than any')
    for (const branch of listOf(branches)) {
      add(branch.product)
      walk(branch.branches, depth + 1)
    }
  }
  walk(tree.branches, 0)
  listOf(tree.full_product_names).forEach(add)
  for (const { product_reference: component, relates_to_product_reference: product, full_product_name: full } of listOf(
    tree.relationships,
  )) {
    const { product_id: id } = fieldsOf(full)
    add(full)
    if (typeof id === 'string' && typeof component === 'string' && typeof product === 'string')
      links.set(id, [component, product])
  }
  const partsOf = (id: string, depth = 0): readonly Leaf[] => {
    const link = depth > MOST_LINKS ? undefined : links.get(id)
    const own = leaves.get(id)
    return [...(own === undefined ? [] : [own]), ...(link ?? []).flatMap(part => partsOf(part, depth + 1))]
  }
  return id => {
    const parts = partsOf(id)
    const [component, product] = links.get(id) ?? []
    const inside = component === undefined ? [] : partsOf(component).flatMap(({ purls }) => purls)
    // a component of the package, or the package as a component of a distribution
    const within =
      product === undefined || inside.length === 0
        ? []
        : partsOf(product).map(leaf => ({ ...leaf, components: inside }))
    const whole =
      component === undefined
        ? parts
        : [...(leaves.has(id) ? [leaves.get(id) ?? { purls: [], sha256s: [] }] : []), ...partsOf(component)]
    return [...whole, ...within]
  }
}

/** The entries of a list about a product, by its id or one of its groups; those that name none speak of all. */
const about = (list: unknown, id: string, groupsOf: ReadonlyMap<string, readonly string[]>): readonly Fields[] =>
  listOf(list).filter(({ product_ids: ids, group_ids: groups }) =>
    ids === undefined && groups === undefined
      ? true
      : textsOf(ids).includes(id) || textsOf(groups).some(group => groupsOf.get(group)?.includes(id) === true),
  )

/**
 * Reads a CSAF 2.0 or 2.1 document of any profile with product statuses. @throws Malformed, naming the rule that it
 * breaks
 * Source: https://docs.oasis-open.org/csaf/csaf/v2.0/os/csaf-v2.0-os.html, 3.2 and 4.5
 */
export function readCsafVex(value: Fields): RawDocument {
  const { document, product_tree: tree, vulnerabilities } = value
  const { csaf_version: version, tracking, publisher } = fieldsOf(document)
  const { id, current_release_date: date } = fieldsOf(tracking)
  if (version !== '2.0' && version !== '2.1')
    malformed(`its csaf_version is ${plain(JSON.stringify(version) ?? 'none', 40)}. It is 2.0 or 2.1`)
  const issued = momentOf(date) ?? malformed('it has no document.tracking.current_release_date')
  const productsOf = readProducts(fieldsOf(tree))
  const groups = new Map(
    listOf(fieldsOf(tree).product_groups).flatMap(({ group_id: group, product_ids: ids }) =>
      typeof group === 'string' ? [[group, textsOf(ids)] as const] : [],
    ),
  )
  const statements = listOf(vulnerabilities).flatMap(
    ({ cve, ids, product_status: status, flags, threats }, n): readonly RawStatement[] => {
      const names = [cve, ...listOf(ids).map(({ text }) => text)].flatMap(name => textOf(name) ?? [])
      if (names.length === 0) return malformed(`vulnerability ${n + 1} has neither cve nor ids`)
      return Object.entries(fieldsOf(status)).flatMap(([list, members]) => {
        const word = STATUSES[list]
        if (word === undefined) return []
        return textsOf(members).map(product => ({
          names: names.map(name => plain(name, 100)),
          status: word,
          products: productsOf(product),
          ...saidOf(
            about(flags, product, groups)[0]?.label,
            about(threats, product, groups).find(({ category }) => category === 'impact')?.details,
          ),
          at: issued,
        }))
      })
    },
  )
  return {
    format: 'CSAF',
    id: plain(textOf(id) ?? malformed('it has no document.tracking.id'), 200),
    author: plain(textOf(fieldsOf(publisher).name) ?? malformed('it has no document.publisher.name'), 100),
    issued,
    statements,
  }
}
