import type { Documents } from '../../wire.ts'

type Card = Documents['documents'][number]
export type Key = Pick<Card, 'component' | 'arch' | 'name'>

/** The key of a document within its kind: `main, amd64`. */
export const keyWords = ({ component, arch, name }: Key): string => [component, arch, name].filter(Boolean).join(', ')

/** The parts of the key that a document of this kind has, as the routes take them. */
export const keyOf = ({ component, arch, name }: Key): Partial<Key> =>
  Object.fromEntries(Object.entries({ component, arch, name }).filter(([, value]) => value !== ''))

/** The document with the same key as this one. */
export const sameKey = (all: readonly Card[], one: Key & Pick<Card, 'kind'>): Card | undefined =>
  all.find(card => card.kind === one.kind && keyWords(card) === keyWords(one))
