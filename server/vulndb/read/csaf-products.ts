import { fieldsOf, isFields, type Fields } from '../../lib/fields.ts'
import { malformed } from '../../lib/limited.ts'
import type { Ecosystem } from '../match/ecosystems.ts'

const MOST_DEPTH = 30
const MOST_PRODUCTS = 1_000_000

/** A package of a release, as a document names it. `isSource`: it is a source package. */
export interface CsafPackage {
  readonly ecosystem: Ecosystem
  readonly name: string
  readonly isSource: boolean
  /** With its epoch; absent where the document speaks of every version. */
  readonly version?: string
  /** `name:stream` of its module. */
  readonly module?: string
}

interface Product {
  readonly name: string
  readonly cpe: string
  readonly purl: string
}

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Releases by their CPE, in both of its spellings. Extended support has fixes of its own and is left out. */
const PLATFORMS: readonly (readonly [pattern: RegExp, ecosystem: (release: string) => Ecosystem])[] = [
  [/^cpe:(?:2\.3:|\/)[oa]:redhat:enterprise_linux:(\d+)(?:[.:]|$)/, release => `redhat-${release}`],
  [/^cpe:(?:2\.3:|\/)o:opensuse:leap:(\d+\.\d+)(?::|$)/, release => `opensuse-leap-${release}`],
  [/^cpe:(?:2\.3:|\/)o:opensuse:tumbleweed(?::|$)/, () => 'opensuse-tumbleweed'],
]

function ecosystemOf(cpe: string): Ecosystem | undefined {
  for (const [pattern, ecosystem] of PLATFORMS) {
    const found = pattern.exec(cpe)
    if (found !== null) return ecosystem(found[1] ?? '')
  }
  return undefined
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const PURL = /^pkg:(rpm|rpmmod)\/(?:[^/@?#]+\/)*([^/@?#]+)(?:@([^?#]+))?(?:\?([^#]*))?/
/** `openssl-1:3.0.7-27.el9.src`, with or without epoch and architecture. */
const NEVRA = /^([^/]+)-((?:\d+:)?[^-:/]+-\d[^-/]*?)(?:\.(src|noarch|x86_64|aarch64|ppc64le|s390x|i[56]86))?(?:\.rpm)?$/

/** The package that a product names, and the module when it is one. */
function readComponent({ name, purl }: Product): Omit<CsafPackage, 'ecosystem'> & { readonly isModule: boolean } {
  // `nodejs:18/nodejs`
  const [, stream, own = name] = /^([\w.+-]+:[\w.+-]+)\/(.+)$/.exec(name) ?? []
  const module = stream === undefined ? {} : { module: stream }
  const found = PURL.exec(purl)
  if (found !== null) {
    const [, type, named = '', version = '', rest = ''] = found
    const of = new URLSearchParams(rest)
    const epoch = of.get('epoch') ?? '0'
    const written = decode(version)
    const rpmmod = /^([^:]+:[^:]+)/.exec(of.get('rpmmod') ?? '')?.[1]
    return {
      name: decode(named),
      isSource: of.get('arch') === 'src',
      isModule: type === 'rpmmod',
      ...(written === '' ? {} : { version: type === 'rpmmod' || epoch === '0' ? written : `${epoch}:${written}` }),
      ...(rpmmod === undefined ? module : { module: rpmmod }),
    }
  }
  const nevra = NEVRA.exec(own)
  if (nevra === null) return { name: own, isSource: false, isModule: false, ...module }
  const [, named = own, version = '', arch] = nevra
  return { name: named, version, isSource: arch === 'src', isModule: false, ...module }
}

/**
 * Reads the products of a document: what each of its product ids means.
 * @returns the package of an id; undefined for releases that are not known here and for whole products
 * @throws Malformed when it is deeper or larger than any document
 */
export function readProducts(tree: Fields): (id: string) => CsafPackage | undefined {
  const products = new Map<string, Product>()
  const relations = new Map<string, readonly [component: string, platform: string]>()
  const add = (product: unknown): void => {
    const { product_id: id, name, product_identification_helper: helper } = fieldsOf(product)
    if (typeof id !== 'string') return
    if (products.size >= MOST_PRODUCTS) malformed('the CSAF document has more products than any')
    products.set(id, { name: textOf(name), cpe: textOf(fieldsOf(helper).cpe), purl: textOf(fieldsOf(helper).purl) })
  }
  const walk = (branches: unknown, depth: number): void => {
    if (depth > MOST_DEPTH) malformed('the CSAF document nests its products deeper than any')
    for (const branch of listOf(branches)) {
      add(branch.product)
      walk(branch.branches, depth + 1)
    }
  }
  walk(tree.branches, 0)
  listOf(tree.full_product_names).forEach(add)
  for (const {
    product_reference: component,
    relates_to_product_reference: platform,
    full_product_name: full,
  } of listOf(tree.relationships)) {
    const { product_id: id } = fieldsOf(full)
    if (typeof id === 'string' && typeof component === 'string' && typeof platform === 'string')
      relations.set(id, [component, platform])
  }
  /** What an id is made of: the package first, then its module, then the release. */
  const leavesOf = (id: string, depth = 0): readonly Product[] => {
    const relation = depth > 5 ? undefined : relations.get(id)
    if (relation !== undefined) return relation.flatMap(part => leavesOf(part, depth + 1))
    const product = products.get(id)
    // a component may be named only where it is used
    return [product ?? { name: id, cpe: '', purl: '' }]
  }
  return id => {
    const [first, ...others] = leavesOf(id)
    const ecosystem = others.map(({ cpe }) => ecosystemOf(cpe)).find(found => found !== undefined)
    if (first === undefined || ecosystem === undefined) return undefined
    const { isModule, ...component } = readComponent(first)
    if (isModule || component.name === '' || component.name.length > 200) return undefined
    const holder = others.map(readComponent).find(one => one.isModule)
    const stream = holder?.version?.split(':')[0]
    return {
      ecosystem,
      ...component,
      ...(component.module === undefined && holder !== undefined && stream !== undefined
        ? { module: `${holder.name}:${stream}` }
        : {}),
    }
  }
}
