/** A marker with what is known at the gate: nothing of the machine, and that no extra was asked for. */
type Token = { readonly kind: 'word' | 'text' | 'sign'; readonly text: string }

const TOKEN = /\s*(?:(\(|\)|===|==|~=|!=|<=|>=|<|>)|("[^"]*"|'[^']*')|([A-Za-z_][A-Za-z0-9_.]*))/y
const OPS = new Set(['===', '==', '~=', '!=', '<=', '>=', '<', '>'])
const VARIABLES = new Set([
  ...['os_name', 'sys_platform', 'platform_machine', 'platform_python_implementation', 'platform_release'],
  ...['platform_system', 'platform_version', 'python_version', 'python_full_version', 'implementation_name'],
  ...['implementation_version', 'extra', 'extras', 'dependency_groups', 'os.name', 'sys.platform', 'platform.machine'],
  ...['platform.version', 'platform.python_implementation', 'python_implementation'],
])

function tokensOf(text: string): readonly Token[] | undefined {
  const tokens: Token[] = []
  const trimmed = text.trimEnd()
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < trimmed.length) {
    const [, sign, quoted, word] = TOKEN.exec(trimmed) ?? []
    if (sign !== undefined) tokens.push({ kind: 'sign', text: sign })
    else if (quoted !== undefined) tokens.push({ kind: 'text', text: quoted.slice(1, -1) })
    else if (word !== undefined) tokens.push({ kind: 'word', text: word })
    else return undefined
  }
  return tokens
}

class NoMarker extends Error {}

/** How deep parentheses may go. */
const DEEPEST = 50

/**
 * Whether a requirement with this marker can apply to anybody who asks for no extra. Comparisons with the machine can
 * all hold; `extra == "test"` does not. Undefined for what is no marker. Source: PEP 508, "Environment Markers"
 */
export function canApply(marker: string): boolean | undefined {
  const tokens = tokensOf(marker)
  if (tokens === undefined) return undefined
  let at = 0
  const next = (): Token =>
    tokens[at++] ??
    ((): never => {
      throw new NoMarker()
    })()
  const isNext = (text: string): boolean => tokens[at]?.kind !== 'text' && tokens[at]?.text === text

  const operand = (): { readonly variable?: string } => {
    const token = next()
    if (token.kind === 'text') return {}
    if (token.kind === 'sign' || !VARIABLES.has(token.text)) throw new NoMarker()
    return { variable: token.text }
  }
  const operator = (): string => {
    const { kind, text } = next()
    if (kind === 'sign' && OPS.has(text)) return text
    if (kind === 'word' && text === 'in') return text
    if (kind === 'word' && text === 'not' && isNext('in')) return `not ${next().text}`
    throw new NoMarker()
  }
  const comparison = (depth: number): boolean => {
    if (isNext('(')) {
      next()
      if (depth > DEEPEST) throw new NoMarker()
      const inner = either(depth + 1)
      if (!isNext(')')) throw new NoMarker()
      next()
      return inner
    }
    const [left, op, right] = [operand(), operator(), operand()]
    const isExtra = [left, right].some(({ variable }) => variable === 'extra' || variable === 'extras')
    return !isExtra || op === '!=' || op === 'not in'
  }
  const both = (depth: number): boolean => {
    let holds = comparison(depth)
    while (isNext('and')) {
      next()
      const other = comparison(depth)
      holds &&= other
    }
    return holds
  }
  const either = (depth: number): boolean => {
    let holds = both(depth)
    while (isNext('or')) {
      next()
      const other = both(depth)
      holds ||= other
    }
    return holds
  }

  try {
    const holds = either(0)
    return at === tokens.length ? holds : undefined
  } catch (error) {
    if (error instanceof NoMarker) return undefined
    throw error
  }
}
