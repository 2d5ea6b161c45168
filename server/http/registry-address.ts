import { fail } from '../core/errors.ts'

/** The rest of an address below the root of a protocol. */
export interface BelowRoot {
  readonly segments: readonly string[]
  readonly endsWithSlash: boolean
}

// eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
const BAD = /[\\\u0000-\u001f\u007f-\u009f]/

/** A segment, decoded once. A slash may be in it, as in npm's `@s%2fn`; its parts keep to the same rule. */
function decoded(segment: string, path: string): string {
  const refuse = (): never => fail('registry_address', { path: path.slice(0, 200) })
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch {
    return refuse()
  }
  if (BAD.test(text) || text.split('/').some(part => part === '' || part === '.' || part === '..')) return refuse()
  return text
}

/**
 * The address below `/npm/`, decoded.
 * @param rest  what is behind the root and its slash: `ours/@s%2fn`
 * @throws registry_address
 */
export function belowRoot(rest: string, path: string): BelowRoot {
  if (rest === '') return { segments: [], endsWithSlash: true }
  const endsWithSlash = rest.endsWith('/')
  const parts = (endsWithSlash ? rest.slice(0, -1) : rest).split('/')
  return { segments: parts.map(part => decoded(part, path)), endsWithSlash }
}
