import type { Alternatives, RelationOp } from '../../core/relation.ts'
import { malformed, quote } from '../../lib/limited.ts'
import { certainNeeds, type Operand, type Rich } from '../relations.ts'
import { parseBound, printEvr } from './version.ts'

/** The most alternatives that are kept. Longer dependencies are left out, not reported as missing. */
const MAX_NEEDS = 64
const MAX_DEPTH = 20

const BOUNDS: readonly string[] = ['<', '<=', '=', '>=', '>']
const isBound = (word: string): word is RelationOp => BOUNDS.includes(word)

// rpm's own: the other blanks of Unicode are part of a name, and one that begins no word and ends every word would be
// gone through for ever
const isBlank = (char: string): boolean => char === ' ' || char === '\t'

/**
 * The words of a rich dependency. A parenthesis belongs to a name when the name began before it: `perl(Foo)`,
 * `libc.so.6()(64bit)`.
 */
function wordsOf(text: string): string[] {
  const words: string[] = []
  for (let at = 0; at < text.length;) {
    const char = text.charAt(at)
    if (isBlank(char)) {
      at++
      continue
    }
    let end = at
    if (char === '(' || char === ')') end++
    else {
      for (let depth = 0; end < text.length && !isBlank(text.charAt(end)); end++) {
        if (text.charAt(end) === '(') depth++
        else if (text.charAt(end) === ')' && depth-- === 0) break
      }
    }
    words.push(text.slice(at, end))
    at = end
  }
  return words
}

const OPERATORS: readonly string[] = ['and', 'or', 'with', 'without', 'if', 'unless'] satisfies Rich['rich'][]
const isOperator = (word: string): word is Rich['rich'] => OPERATORS.includes(word)

/**
 * A rich dependency as rpm reads it. Parentheses around one operand fall away.
 * @throws Malformed for what rpm refuses: other operators, two kinds of them in one pair of parentheses, none to close
 * Source: https://rpm-software-management.github.io/rpm/manual/boolean_dependencies.html
 */
export function readRich(text: string): Operand {
  const words = wordsOf(text)
  let at = 0
  const bad = (why: string): never =>
    malformed(`the header: the dependency ${quote(text)} is not one that rpm reads: ${why}`)
  const next = (): string => words[at++] ?? bad('it ends too early')

  const operand = (depth: number): Operand => {
    const word = next()
    if (word === '(') return group(depth + 1)
    if (word === ')' || isBound(word)) return bad(`${quote(word)} stands where a name belongs`)
    const bound = words[at] ?? ''
    if (!isBound(bound)) return { name: word }
    at++
    const version = next()
    return version === '(' || version === ')'
      ? bad('a version is missing')
      : { name: word, op: bound, version: printEvr(parseBound(version)) }
  }

  const group = (depth: number): Operand => {
    if (depth > MAX_DEPTH) bad(`it is nested more than ${MAX_DEPTH} times`)
    const first = operand(depth)
    const operands = [first]
    let operator: Rich['rich'] | undefined
    for (let word = next(); word !== ')'; word = next()) {
      const isElse = word === 'else' && (operator === 'if' || operator === 'unless') && operands.length === 2
      const isChain = word === operator && ['and', 'or', 'with'].includes(word)
      if (operator !== undefined && !isElse && !isChain) bad(`${quote(word)} does not go with ${quote(operator)}`)
      if (!isElse) operator ??= isOperator(word) ? word : bad(`${quote(word)} is no operator`)
      operands.push(operand(depth))
    }
    return operator === undefined ? first : { rich: operator, of: operands }
  }

  if (next() !== '(') bad('it does not begin with a parenthesis')
  const read = group(1)
  if (at !== words.length) bad('something follows its last parenthesis')
  return read
}

/**
 * What a rich dependency needs in any case, as needs with alternatives. Conditions (`if`, `unless`) may be false, so
 * what hangs on one is left out; `without` keeps its first operand.
 * @throws Malformed as `readRich`
 */
export function parseRich(text: string): Alternatives[] {
  const needs = certainNeeds(readRich(text))
  return needs.length > MAX_NEEDS ? [] : [...needs]
}
