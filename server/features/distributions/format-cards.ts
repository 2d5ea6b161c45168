import type { FormatId } from '../../core/identity.ts'
import type { Format } from '../../formats/format.ts'

/** A format as a client of the API chooses and sends its packages. */
export interface FormatCard {
  readonly id: string
  readonly label: string
  /** The value of REPO_FORMAT that switches on this format alone. */
  readonly word: string
  /** The endings of its files: lower case, with the dot. */
  readonly endings: readonly string[]
  /** REPO_FORMAT lets its packages in. */
  readonly active: boolean
  /** Its clients read a Release file. */
  readonly release_words: boolean
  /** Its repositories are registries: clients ask for each name, and an admin makes them by `/registries/`. */
  readonly registry: boolean
  /** Its trees take documents. */
  readonly documents: boolean
}

/** Every format of this build. */
export function formatCards(formats: readonly Format[], active: ReadonlySet<FormatId>): readonly FormatCard[] {
  return formats.map(({ id, label, word, endings, tree, registryClient }) => ({
    id,
    label,
    word,
    endings,
    active: active.has(id),
    release_words: tree?.hasWords === true,
    registry: registryClient !== undefined,
    documents: (tree?.documents ?? []).length > 0,
  }))
}
