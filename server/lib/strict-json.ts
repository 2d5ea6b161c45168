import { malformed, quote } from './limited.ts'

/** Strings, and the signs between values; in text that is JSON nothing else matters for the names of fields. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g

/** An object or list that is open; of an object the names that it has so far. */
interface Open {
  readonly names: Set<string> | undefined
  expectsName: boolean
}

/** @throws Malformed */
function refuseSameNames(text: string): void {
  const open: Open[] = []
  for (const [token] of text.matchAll(TOKEN)) {
    const top = open.at(-1)
    if (token === '{') open.push({ names: new Set(), expectsName: true })
    else if (token === '[') open.push({ names: undefined, expectsName: false })
    else if (token === '}' || token === ']') open.pop()
    else if (top === undefined) continue
    else if (token === ',') top.expectsName = top.names !== undefined
    else if (token === ':') top.expectsName = false
    else if (top.expectsName && top.names !== undefined) {
      const name = JSON.parse(token) as string
      if (top.names.has(name)) malformed(`it has the field ${quote(name)} twice, which readers take in different ways`)
      top.names.add(name)
    }
  }
}

/** JSON that every reader understands alike: UTF-8, and no object with two fields of one name. @throws Malformed */
export function parseStrictJson(bytes: Uint8Array): unknown {
  let text: string
  let value: unknown
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    value = JSON.parse(text)
  } catch (error) {
    return malformed('it is no JSON', error)
  }
  refuseSameNames(text)
  return value
}

/**
 * A field of an object by its name, upper and lower case alike, as readers in Go take it; undefined where the value is
 * no object or has none.
 * @throws Malformed where it has two
 */
export function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const found = Object.entries(value).filter(([key]) => key.toLowerCase() === name.toLowerCase())
  if (found.length > 1) malformed(`it has the field ${quote(name)} in two spellings`)
  return found[0]?.[1]
}
