import { isDeepStrictEqual } from 'node:util'
import { isTree, MASK, type Leaf, type Tree } from './tree.ts'

/** One value that was changed, as a person reads it in the audit log. */
export interface SettingChange {
  readonly key: string
  readonly from: string
  readonly to: string
}

const MOST_SHOWN = 200
const NOTHING = '(empty)'
const USER_INFO = /(?<=:\/\/)[^\s/?#]*@/g
const QUERY = /(?<=:\/\/[^\s?]*)\?\S+/g

/** Chat servers put the credential into the address: only its host is shown. */
const IS_CREDENTIAL: ReadonlySet<string> = new Set(['notifications.webhook_url'])

/** An address that is a credential itself, without it. */
export const hostOnly = (url: string): string => (URL.canParse(url) ? `${new URL(url).origin}/${MASK}` : url)

/** Never ends within a name: half of one would pass where the whole one is hidden. */
const cut = (text: string): string =>
  text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN + 1).replace(/[\w.~+-]{1,80}$/, '')}…` : text

/** A value in words: nothing of a secret, addresses without their passwords, a long one without its end. */
function shown({ path, schema }: Leaf, value: unknown): string {
  if (value === undefined || value === '' || isDeepStrictEqual(value, {})) return NOTHING
  if (schema.secret === true) return MASK
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (IS_CREDENTIAL.has(path)) return hostOnly(text)
  return cut(text.replace(USER_INFO, `${MASK}@`).replace(QUERY, `?${MASK}`))
}

/** Of named switches those that differ from the others. */
const differing = (value: Tree, other: unknown): Tree =>
  Object.fromEntries(
    Object.entries(value).filter(([key, one]) => !isTree(other) || !isDeepStrictEqual(one, other[key])),
  )

/** What a setting was and is. */
export function changeOf(leaf: Leaf, before: unknown): SettingChange {
  const { path: key, value } = leaf
  const [from, to] =
    isTree(before) && isTree(value) ? [differing(before, value), differing(value, before)] : [before, value]
  return { key, from: shown(leaf, from), to: shown(leaf, to) }
}
