import type { Held } from '../held.ts'

/** So many versions that are withheld say why in one document: the newest. */
const MOST_REASONS = 20

/** Which fields of versions a document has. */
export type Form = 'full' | 'short'

/** A version as documents show it. */
export interface Piece {
  readonly version: string
  /** The JSON text of an object without `dist`: it is joined as it is. */
  readonly document: string
  readonly dist: Readonly<Record<string, unknown>>
  readonly deprecated: string | undefined
}

/** A version that clients do not get. */
export interface Withheld {
  readonly version: string
  readonly at: Date
  readonly why: () => Held | undefined
}

/** What a document about a name is made of. */
export interface Parts {
  readonly name: string
  readonly revision: string
  /** Oldest first by the order of the format. They may be read while the document is joined. */
  readonly pieces: Iterable<Piece> | AsyncIterable<Piece>
  /** The one that `latest` names, of which a full document tells more. */
  readonly latest: Piece | undefined
  /** When each version was published, where somebody says it. */
  readonly times: readonly (readonly [version: string, at: Date])[]
  readonly tags: ReadonlyMap<string, string>
  readonly created: Date
  readonly modified: Date
  readonly withheld: readonly Withheld[]
}

/** One version with what depends on the address and on people. */
export function printPiece({ document, dist, deprecated }: Piece): string {
  const notes = deprecated === undefined ? '' : `,"deprecated":${JSON.stringify(deprecated)}`
  return `${document.slice(0, -1)},"dist":${JSON.stringify(dist)}${notes}}`
}

/** What npm is told of versions that it must not get: it prints the message when one of them is asked for. */
function restrictionsOf({ name, withheld }: Parts): unknown {
  if (withheld.length === 0) return undefined
  const newest = withheld.toSorted((a, b) => b.at.getTime() - a.at.getTime()).slice(0, MOST_REASONS)
  const reasons = newest.flatMap(({ version, why }) => {
    const held = why()
    return held === undefined ? [] : [`${version}: ${held.sentence}`]
  })
  const more = withheld.length - newest.length
  return {
    message: `${reasons.join('\n')}${more > 0 ? `\nand ${more} more` : ''}`,
    versions: Object.fromEntries(withheld.map(({ version }) => [version, { name, version }])),
  }
}

/** What a packument says of its package, taken from its latest version. */
function describe(latest: Piece | undefined): Record<string, unknown> {
  if (latest === undefined) return {}
  const { description, license, homepage, keywords, repository, bugs, author } = JSON.parse(latest.document) as Record<
    string,
    unknown
  >
  return { description, license, homepage, keywords, repository, bugs, author }
}

/** The whole document as JSON text, piece by piece; those of its versions are joined, not parsed. */
export async function* printDocument(form: Form, parts: Parts): AsyncGenerator<string> {
  const { name, revision, pieces, latest, times, tags, created, modified } = parts
  const time = { created, modified, ...Object.fromEntries(times) }
  const head = form === 'full' ? { _id: name, _rev: revision, name, ...describe(latest) } : { name, modified }
  const tail = { 'dist-tags': Object.fromEntries(tags), time, 'policyRestrictions': restrictionsOf(parts) }
  yield `${JSON.stringify(head).slice(0, -1)},${JSON.stringify(tail).slice(1, -1)},"versions":{`
  let between = ''
  for await (const piece of pieces) {
    yield `${between}${JSON.stringify(piece.version)}:${printPiece(piece)}`
    between = ','
  }
  yield '}}'
}
