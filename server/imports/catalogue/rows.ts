import type { UpstreamPackage } from '../../formats/upstream.ts'
import { foundUnder, namesAsked, type Relations } from '../../formats/relations.ts'
import { malformed } from '../../lib/limited.ts'

/*
 * A kernel provides thousands of names for its symbols, which hardly anybody asks for: 4.4 of the 5.2 million entries
 * of a large repository. Names of these kinds are kept only where some package asks for them.
 */
const BULK = /^(?:kernel|kmod|ksym|modalias|firmware)\(/

const isBulk = (name: string): boolean => BULK.test(name)

/** Names of the kinds that are kept only where somebody asks for them, that a package asks for. */
export const bulkAsked = (relations: Relations): readonly string[] => namesAsked(relations, true).filter(isBulk)

/** The relations that are kept, and whether names were left out. */
export function kept(
  relations: Relations,
  asked: ReadonlySet<string>,
): { readonly relations: Relations; readonly leftOut: boolean } {
  const all = relations.provides ?? []
  const provides = all.filter(({ name }) => !isBulk(name) || asked.has(name))
  if (provides.length === all.length) return { relations, leftOut: false }
  const { provides: _, ...rest } = relations
  return { relations: provides.length === 0 ? rest : { ...rest, provides }, leftOut: true }
}

/** The columns of `packageRow`, in its order. */
export const PACKAGE_COLUMNS =
  'id, source_id, component, name, version, arch, section, summary, size, sha256, sha512, control, path, source, source_version, relations, notes, digest'
/** The columns of `capabilityRows`. */
export const CAPABILITY_COLUMNS = 'name, source_id, package_id'
/** The columns of `moduleRow`. */
export const MODULE_COLUMNS = 'name, version, arch, module, hidden'

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A value in the text format of COPY. Source: PostgreSQL, "COPY", text format. @throws Malformed for a NUL */
function printed(value: string | number | undefined): string {
  if (value === undefined) return '\\N'
  if (typeof value === 'number') return String(value)
  // no text of PostgreSQL holds one
  if (value.includes('\0')) malformed('one of its entries holds a NUL')
  return /[\\\n\r\t]/.test(value) ? value.replace(/[\\\n\r\t]/g, char => ESCAPES[char] ?? char) : value
}

/** Joins columns to a row of COPY. */
export const copyRow = (values: readonly (string | number | undefined)[]): string =>
  `${values.map(printed).join('\t')}\n`

const bytes = (hex: string | undefined): string | undefined => (hex === undefined ? undefined : `\\x${hex}`)

/** Escapes of NULs and of halves of characters, which JSON can name and PostgreSQL cannot keep. */
const UNKEPT = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/i

function json(value: unknown): string {
  const text = JSON.stringify(value)
  return UNKEPT.test(text) ? malformed('one of its entries holds a character that cannot be kept') : text
}

/** What a row is of. */
export interface RowOf {
  readonly id: number
  readonly sourceId: number
  readonly component: string | undefined
  readonly digest: string
}

/** A package as a row of COPY. @throws Malformed */
export function packageRow(one: UpstreamPackage, { id, sourceId, component, digest }: RowOf): string {
  const { identity, digests, section, summary, size, path, source } = one
  return copyRow([
    id,
    sourceId,
    component,
    identity.name,
    identity.version,
    identity.arch,
    section,
    summary,
    size,
    bytes(digests.sha256),
    bytes(digests.sha512),
    bytes(one.controlSha1),
    path,
    source,
    one.source_version,
    json(one.relations),
    json(one.notes),
    bytes(digest),
  ])
}

/** A row for each name under which the package is found beside its own. */
export function capabilityRows({ identity, relations }: UpstreamPackage, { id, sourceId }: RowOf): string {
  return foundUnder(relations)
    .filter(name => name !== identity.name)
    .map(name => copyRow([name, sourceId, id]))
    .join('')
}
