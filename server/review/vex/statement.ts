import { NOT_AFFECTED_BECAUSE, type VexDocument, type VexStatus } from '../../core/vex.ts'
import { isFields, type Fields } from '../../lib/fields.ts'

/** A product as a document names it, with the components of it that a statement speaks of. */
export interface Product {
  readonly purls: readonly string[]
  /** Of its files, lower case. */
  readonly sha256s: readonly string[]
  /** Absent: of the product as a whole. */
  readonly components?: readonly string[]
}

/** A statement as it stands in a document, before it is known whether it concerns the package. */
export interface RawStatement {
  readonly names: readonly string[]
  readonly status: VexStatus
  readonly products: readonly Product[]
  readonly said?: string
  readonly at: string
}

/** A document in any of the formats. */
export interface RawDocument extends Pick<VexDocument, 'format' | 'id' | 'author' | 'issued'> {
  readonly statements: readonly RawStatement[]
}

/** Why something is not affected, by the label that OpenVEX and CSAF share, and by those of CycloneDX. */
const JUSTIFICATIONS: Readonly<Record<string, string>> = {
  ...NOT_AFFECTED_BECAUSE,
  code_not_present: 'the vulnerable code is not in it',
  code_not_reachable: 'the vulnerable code is never run',
  requires_configuration: 'only another configuration is affected',
  requires_dependency: 'only with a dependency that is not there',
  requires_environment: 'only another environment is affected',
  protected_by_compiler: 'the compiler protects it',
  protected_at_runtime: 'it is protected while it runs',
  protected_at_perimeter: 'it is protected from outside',
  protected_by_mitigating_control: 'another control protects it',
}

const MOST_TEXT = 400

export const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])
export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(item => typeof item === 'string' && item !== '') : []
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined

/** A sentence of a supplier in one line, without characters that would change how it is shown. */
export const plain = (text: string, most = MOST_TEXT): string =>
  text
    .replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, most)

/** The supplier's words: the label as a sentence, then the text beside it. */
export function saidOf(label: unknown, ...texts: readonly unknown[]): { readonly said?: string } {
  const words = [JUSTIFICATIONS[textOf(label) ?? ''], ...texts.map(textOf)].filter(text => text !== undefined)
  return words.length === 0 ? {} : { said: plain(words.join('. ')) }
}

/** A moment as ISO 8601 in UTC; undefined for what is none. */
export function momentOf(value: unknown): string | undefined {
  const at = new Date(typeof value === 'string' ? value : NaN)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}
