import { createHash } from 'node:crypto'
import type { IndexedManifest } from '../catalog/queries/search.ts'
import { acceptanceOf } from '../core/review.ts'
import type { Finding } from '../core/findings.ts'
import type { Iso } from '../core/identity.ts'
import type { Decision } from '../core/manifest.ts'
import { isMatchedBy } from '../contents/asked.ts'
import type { Contents } from '../contents/component.ts'

/** One package of a bill, with the libraries inside it. */
export interface Entry {
  readonly manifest: IndexedManifest
  readonly purl: string
  readonly contents: Contents
}

/** The subject of a bill. Everything in it comes from the data, so the same data give the same bytes. */
export interface Heading {
  /** `hello`, or `gatehouse-jammy` for a whole distribution. */
  readonly name: string
  /** The package; absent for a whole distribution. */
  readonly version?: string
  /** The time of the newest thing in it. */
  readonly at: Iso
  /** Made from the digests of everything in it. */
  readonly uuid: string
  /** The version of this program. */
  readonly tool: string
  /** How many packages there are, also where fewer are shown. */
  readonly total: number
  /** The moment for which acceptances count: one that has ended does not stand. */
  readonly now: Iso
}

/** A bill to print: `entries` may be read several times and gives the same packages each time. */
export interface Bill {
  readonly heading: Heading
  entries(): AsyncIterable<Entry>
}

/** One format of a bill. */
export interface Print {
  /** `cdx.json`: the end of a file name. */
  readonly ending: string
  /** Yields JSON in pieces of about one package each, so that memory does not grow with the repository. */
  print(bill: Bill): AsyncGenerator<string>
}

/** A UUID of version 8 (RFC 9562, 5.8): the same texts always give the same one. */
export function uuidOf(texts: Iterable<string>): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${Buffer.byteLength(text)}:${text}`)
  const bytes = hash.digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** The library inside the package that a finding is about, or undefined when it is about the package itself. */
export function carriedBy({ contents }: Entry, finding: Finding): number | undefined {
  const { at, matched } = finding
  const n = contents.components.findIndex(component =>
    at !== undefined
      ? component.purl === at.purl && component.path === at.path
      : component.purl === finding.package || (matched !== undefined && isMatchedBy(component, matched)),
  )
  return n === -1 ? undefined : n
}

/** What people decided about a finding; every VEX dialect is made from it. */
export interface Stand {
  readonly status: 'accepted' | 'refused' | 'open'
  readonly decision?: Decision
}

/**
 * The decision that stands for a finding: an acceptance, else the last rejection of the package or of this
 * vulnerability.
 */
export function standOf(manifest: IndexedManifest, finding: Finding, now: Iso): Stand {
  const accepted = acceptanceOf(manifest, finding, now)
  if (accepted !== undefined) return { status: 'accepted', decision: accepted }
  const said = [...(manifest.review?.history ?? (manifest.decision === undefined ? [] : [manifest.decision]))]
  const refused = said.findLast(
    ({ action, cve }) =>
      action === 'reject' && (cve === undefined || cve === finding.id || finding.aliases?.includes(cve) === true),
  )
  return refused === undefined ? { status: 'open' } : { status: 'refused', decision: refused }
}

/** Somebody here says that the finding is wrong: a statement of the site. */
export const isFalsePositive = ({ decision }: Decision): boolean => decision === 'false_positive'

/** A supplier says that it is not affected, or that it is fixed, and somebody here took that word. */
export const isSupplied = ({ decision }: Decision): boolean => decision === 'not_affected' || decision === 'fixed'

/** A decision in one sentence, with who, when and until when. */
export function printDecision({ decision, justification, by, at, expires_at }: Decision): string {
  return `${justification.trim()} (${decision} by ${by}, ${at.slice(0, 10)}${expires_at === undefined ? '' : `, until ${expires_at.slice(0, 10)}`})`
}

/** A page about a vulnerability. */
export function vulnerabilitySource(id: string): { readonly name: string; readonly url: string } {
  const segment = encodeURIComponent(id)
  if (/^CVE-/i.test(id)) return { name: 'NVD', url: `https://nvd.nist.gov/vuln/detail/${segment}` }
  if (/^GHSA-/i.test(id)) return { name: 'GitHub', url: `https://github.com/advisories/${segment}` }
  return { name: 'OSV', url: `https://osv.dev/vulnerability/${segment}` }
}

/** An address from the package's metadata, where it is one: anything else would make the document invalid. */
export function webAddress(text: string | undefined): string | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined
  const url = new URL(text)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : undefined
}

/** The ecosystem's name of a component, `group/name`, as its users write it. */
export function fullName({ group, name }: { readonly group?: string; readonly name: string }): string {
  return group === undefined ? name : `${group}/${name}`
}
