import type { Reply } from '../../wire.ts'
import type { SourceDetail } from './words.ts'

export type SourceType = SourceDetail['type']
export type Tested = Reply<'POST /import/sources/test'>

/** What the fields of a source hold: text as it is typed. */
export interface SourceWish {
  name: string
  type: SourceType
  url: string
  mirrors: string
  distributions: string[]
  suite: string
  components: string
  architectures: string
  keys: string[]
  security: boolean
  signed: boolean
  allow_expired: boolean
  newest: string
}

export const BLANK: SourceWish = {
  name: '',
  type: 'apt',
  url: '',
  mirrors: '',
  distributions: [],
  suite: '',
  components: '',
  architectures: '',
  keys: [],
  security: false,
  signed: true,
  allow_expired: false,
  newest: '',
}

export const wishOf = (of: SourceDetail): SourceWish => ({
  name: of.name,
  type: of.type,
  url: of.url,
  mirrors: of.mirrors.join('\n'),
  distributions: [...of.distributions],
  suite: of.suite ?? '',
  components: of.components.join(' '),
  architectures: of.architectures.join(' '),
  keys: of.keys.map(({ name }) => name),
  security: of.security,
  signed: of.signed,
  allow_expired: of.allow_expired,
  newest: of.newest === null ? '' : String(of.newest),
})

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)
/** Undefined for what is no number of versions. */
export const newestOf = (text: string): number | undefined =>
  /^\d{1,4}$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= 1_000 ? Number(text) : undefined

/** The members of a new source, and of a test; empty fields are left out. */
export function fieldsOf(wish: SourceWish) {
  const [suite, newest] = [wish.suite.trim(), newestOf(wish.newest)]
  const [components, architectures] = [wordsOf(wish.components), wordsOf(wish.architectures)]
  const isApt = wish.type === 'apt'
  return {
    mirrors: wordsOf(wish.mirrors),
    ...(wish.distributions.length === 0
      ? {}
      : { distributions: wish.distributions, distribution: wish.distributions[0] }),
    ...(isApt && suite !== '' ? { suite } : {}),
    ...(isApt && components.length > 0 ? { components } : {}),
    ...(architectures.length === 0 ? {} : { architectures }),
    keys: wish.keys,
    security: wish.security,
    signed: wish.signed,
    allow_expired: wish.allow_expired,
    ...(newest === undefined ? {} : { newest }),
  }
}

/** What a change sends: the fields that are no longer as they were. */
export function changesOf(wish: SourceWish, of: SourceDetail) {
  const before = wishOf(of)
  const isNew = (name: keyof SourceWish): boolean => JSON.stringify(wish[name]) !== JSON.stringify(before[name])
  const { distribution: _, ...fields } = { distribution: undefined, ...fieldsOf(wish) }
  const changed = Object.fromEntries(Object.entries(fields).filter(([name]) => isNew(name as keyof SourceWish)))
  return {
    ...changed,
    ...(isNew('name') ? { name: wish.name.trim() } : {}),
    ...(isNew('url') ? { url: wish.url.trim() } : {}),
    ...(isNew('distributions') ? { distributions: wish.distributions } : {}),
    ...(isNew('newest') ? { newest: newestOf(wish.newest) ?? null } : {}),
  }
}
