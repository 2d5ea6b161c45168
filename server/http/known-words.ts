import type { TSchema } from '@sinclair/typebox'
import { fail } from '../core/errors.ts'
import type { FormatId } from '../core/identity.ts'
import { isRegistry, type Repositories } from '../core/repository.ts'
import type { WordKind } from '../core/schemas.ts'
import type { Viewer } from '../core/viewer.ts'
import { cutInput, unknownWordFault } from './faults.ts'
import { ShapeError, type Fault } from './problem.ts'

/** The words of each kind, as somebody sees them; undefined where nobody can list them. */
export type KnownWords = (kind: WordKind, viewer: Viewer) => readonly string[] | undefined

/**
 * The words that the repositories give. Sources have their own architecture: `source` (Debian) or `src` (RPM).
 * Registries have whatever their packages say, such as the tags of wheels.
 */
export function createKnownWords(repositories: Pick<Repositories, 'seenBy'>, formats: readonly FormatId[]): KnownWords {
  return (kind, viewer) => {
    if (kind === 'format') return formats
    const seen = repositories.seenBy(viewer).all()
    if (kind === 'distribution') return seen.map(({ codename }) => codename)
    if (seen.some(isRegistry)) return undefined
    return [...new Set([...seen.flatMap(({ archs, neutral }) => [...archs, ...neutral]), 'source', 'src'])]
  }
}

/**
 * Checks the filters whose words are data: codenames, formats, architectures. An unknown one would find nothing, which
 * reads like "there is none".
 * @throws unknown_distribution, or ShapeError; both name what there is
 */
export function needKnownWords(
  { properties }: TSchema,
  query: Readonly<Record<string, unknown>>,
  wordsOf: (kind: WordKind) => readonly string[] | undefined,
): void {
  const faults: Fault[] = []
  for (const [name, schema] of Object.entries((properties ?? {}) as Readonly<Record<string, TSchema>>)) {
    const kind = schema.known as WordKind | undefined
    const value = query[name]
    if (kind === undefined || typeof value !== 'string') continue
    const words = wordsOf(kind)
    if (words === undefined || words.includes(value)) continue
    if (kind === 'distribution')
      fail('unknown_distribution', { codename: cutInput(value), known: words.join(', '), field: name })
    faults.push(unknownWordFault(name, { value, words }))
  }
  if (faults.length > 0) throw new ShapeError(faults)
}
