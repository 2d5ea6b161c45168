import type { Manifest } from '../../core/manifest.ts'
import { meansPurl, type VexDocument, type VexStatement } from '../../core/vex.ts'
import { parsePurl } from '../../core/purl.ts'
import { isFields, type Fields } from '../../lib/fields.ts'
import { malformed } from '../../lib/limited.ts'
import { isCsaf, readCsafVex } from './csaf.ts'
import { isCycloneDx, readCycloneDxVex } from './cyclonedx.ts'
import { isOpenVex, readOpenVex } from './openvex.ts'
import type { Product, RawDocument } from './statement.ts'

/** The most bytes of a document. */
export const MAX_VEX = 8 * 2 ** 20
/** The most statements of a document about one package. */
const MOST_STATEMENTS = 2_000
const MOST_SHOWN = 3

const FORMATS: readonly (readonly [is: (value: Fields) => boolean, read: (value: Fields) => RawDocument])[] = [
  [isOpenVex, readOpenVex],
  [isCycloneDx, readCycloneDxVex],
  [isCsaf, readCsafVex],
]

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return malformed('it is no JSON in UTF-8')
  }
}

/** Reads a document of any of the formats. @throws Malformed, in words that end the sentence `it is refused: …` */
export function readVex(bytes: Uint8Array): RawDocument {
  const value = parse(bytes)
  const read = isFields(value) ? FORMATS.find(([is]) => is(value))?.[1] : undefined
  if (read === undefined || !isFields(value))
    return malformed('it is none of OpenVEX, CycloneDX and CSAF. Their JSON forms are read')
  return read(value)
}

/** How a package is named in documents. */
export interface PackageNames {
  readonly purl: string
  readonly manifest: Pick<Manifest, 'ref' | 'about' | 'files'>
}

/** Namespaces are the supplier's own; an epoch and an architecture count where both name one. */
function isPackage(said: string, { purl, manifest: { about } }: PackageNames): boolean {
  const [one, own] = [parsePurl(said), parsePurl(purl)]
  if (one === undefined || own === undefined || one.type !== own.type) return false
  const { arch, epoch } = one.qualifiers ?? {}
  const isSource = arch === 'source' || arch === 'src'
  const agrees = (written: string | undefined, mine: string | undefined): boolean =>
    written === undefined || mine === undefined || written === mine
  return isSource
    ? one.name === about.source && agrees(one.version, about.source_version)
    : one.name === own.name &&
        agrees(one.version, own.version) &&
        agrees(arch, own.qualifiers?.arch) &&
        agrees(epoch, own.qualifiers?.epoch)
}

/**
 * The components that a product means in the package: all of them (`whole`), those it names, or none where it is
 * another product.
 */
function partOf(product: Product, names: PackageNames, inside: readonly string[]): readonly string[] | 'whole' {
  const digests = names.manifest.files.map(({ blob, signed }) => (signed?.received ?? blob).sha256 as string)
  const isIt =
    product.purls.some(purl => isPackage(purl, names)) || product.sha256s.some(digest => digests.includes(digest))
  if (isIt) return product.components ?? 'whole'
  // a supplier of a library speaks of the library itself
  return product.components === undefined
    ? product.purls.filter(purl => inside.some(component => meansPurl(purl, component)))
    : []
}

/**
 * What a document says of a package and of the components in it.
 * @param inside  package URLs of the components in which something was found
 * @throws Malformed when it speaks of other products alone, naming some
 */
export function statementsAbout(
  document: RawDocument,
  names: PackageNames,
  inside: readonly string[],
): VexDocument['statements'] {
  const about: VexStatement[] = []
  for (const { products, ...statement } of document.statements) {
    const parts = products.map(product => partOf(product, names, inside))
    if (parts.includes('whole')) about.push(statement)
    else {
      const components = [...new Set(parts.flatMap(part => (part === 'whole' ? [] : part)))]
      if (components.length > 0) about.push({ ...statement, components })
    }
    if (about.length > MOST_STATEMENTS) malformed(`it has more than ${MOST_STATEMENTS} statements about the package`)
  }
  if (about.length > 0) return about
  const products = [...new Set(document.statements.flatMap(({ products: all }) => all.flatMap(({ purls }) => purls)))]
  const shown = products
    .slice(0, MOST_SHOWN)
    .map(purl => purl.slice(0, 120))
    .join(', ')
  return malformed(
    document.statements.length === 0
      ? 'it makes no statement about a vulnerability'
      : `it speaks of ${products.length === 0 ? 'products without a package URL or a SHA-256' : `${shown}${products.length > MOST_SHOWN ? ` and ${products.length - MOST_SHOWN} more` : ''}`}, not of this package (${names.purl}) or a component in it`,
  )
}
