import { isMalicious, type Finding } from './findings.ts'
import type { Iso, Sha256 } from './identity.ts'
import { parsePurl, type Purl } from './purl.ts'

/** What a supplier says of a vulnerability in a product. Source: OpenVEX 0.2.0, "Status Labels" */
export const VEX_STATUSES = ['not_affected', 'affected', 'fixed', 'under_investigation'] as const
export type VexStatus = (typeof VEX_STATUSES)[number]

/** Why something is not affected, by the label that OpenVEX and CSAF share. Source: CSAF 2.0, 3.2.3.5, "Flags" */
export const NOT_AFFECTED_BECAUSE: Readonly<Record<string, string>> = {
  component_not_present: 'the component is not in it',
  vulnerable_code_not_present: 'the vulnerable code is not in it',
  vulnerable_code_not_in_execute_path: 'the vulnerable code is never run',
  vulnerable_code_cannot_be_controlled_by_adversary: 'an attacker cannot reach the vulnerable code',
  inline_mitigations_already_exist: 'it has protections against it already',
}

/** One statement of a document about a package, or about components in it. */
export interface VexStatement {
  /** The vulnerability's id and its other names. */
  readonly names: readonly string[]
  readonly status: VexStatus
  /** Package URLs of the components that it speaks of; absent: of the package and everything in it. */
  readonly components?: readonly string[]
  /** Why, in the supplier's words. */
  readonly said?: string
  /** When it was made: the latest one about a finding counts. */
  readonly at: Iso
}

/** A supplier's document beside a package: what it says of this package. */
export interface VexDocument {
  /** Of the file as it was sent; this names the document. */
  readonly sha256: Sha256
  readonly format: 'OpenVEX' | 'CycloneDX' | 'CSAF'
  /** The document's own id. */
  readonly id: string
  readonly author: string
  readonly issued: Iso
  readonly statements: readonly VexStatement[]
  readonly sent_by: string
  readonly sent_at: Iso
  /** Who may decide and takes its word; absent: it is shown and closes nothing. */
  readonly accepted?: { readonly by: string; readonly at: Iso }
}

const CLOSING: ReadonlySet<VexStatus> = new Set(['not_affected', 'fixed'])

/** True where a package URL of a document means this one: what it leaves out, it leaves open. */
export function meansPurl(said: string | Purl, meant: string | Purl): boolean {
  const [one, other] = [said, meant].map(purl => (typeof purl === 'string' ? parsePurl(purl) : purl))
  return (
    one !== undefined &&
    other !== undefined &&
    one.type === other.type &&
    one.name === other.name &&
    (one.namespace ?? '') === (other.namespace ?? '') &&
    (one.version === undefined || one.version === other.version)
  )
}

/** Whether a statement is about a finding. */
export const speaksOf = ({ names, components }: VexStatement, { id, aliases = [], at }: Finding): boolean =>
  names.some(name => [id, ...aliases].some(one => one.toUpperCase() === name.toUpperCase())) &&
  (components === undefined || (at !== undefined && components.some(purl => meansPurl(purl, at.purl))))

export interface SupplierWord {
  readonly document: VexDocument
  readonly statement: VexStatement
}

/** Of two statements the later one counts; of two at the same time the one that closes nothing. */
function stronger(a: SupplierWord, b: SupplierWord): SupplierWord {
  if (a.statement.at !== b.statement.at) return a.statement.at > b.statement.at ? a : b
  return CLOSING.has(a.statement.status) ? b : a
}

/** What the documents say of a finding; undefined where they do not speak of it. */
export function supplierWordOn(documents: readonly VexDocument[], finding: Finding): SupplierWord | undefined {
  return documents
    .flatMap(document => document.statements.map(statement => ({ document, statement })))
    .filter(({ statement }) => speaksOf(statement, finding))
    .reduce<SupplierWord | undefined>((sofar, next) => (sofar === undefined ? next : stronger(sofar, next)), undefined)
}

/** `Example Corp says that it is not affected: the code is never run (document VEX-1 of 2026-01-05)`. */
export function printSupplierWord({ document, statement }: SupplierWord): string {
  const { author, id, issued } = document
  const status = {
    not_affected: 'says that it is not affected',
    fixed: 'says that it is fixed in it',
    affected: 'says that it is affected',
    under_investigation: 'is looking into it',
  }[statement.status]
  return `${author} ${status}${statement.said === undefined ? '' : `: ${statement.said}`} (document ${id} of ${issued.slice(0, 10)})`
}

/** A supplier's word that closes a finding, and who here took it. */
export interface ClosingWord {
  readonly status: VexStatus
  readonly said: string
  readonly by: string
  readonly at: Iso
}

/** The accepted word that closes a finding; undefined where none does. None closes a record of malicious code. */
export function closingWordOn(documents: readonly VexDocument[], finding: Finding): ClosingWord | undefined {
  if (isMalicious(finding)) return undefined
  const taken = documents.filter(({ accepted }) => accepted !== undefined)
  const word = supplierWordOn(taken, finding)
  const accepted = word?.document.accepted
  if (word === undefined || accepted === undefined || !CLOSING.has(word.statement.status)) return undefined
  return { status: word.statement.status, said: printSupplierWord(word), by: accepted.by, at: accepted.at }
}
