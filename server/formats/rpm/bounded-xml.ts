import type { SaxesParser } from 'saxes'
import { malformed } from '../../lib/limited.ts'

const MAX_DEPTH = 64
const MAX_ATTRIBUTES = 64

/**
 * Keeps a parser from foreign text that nests or names without end, which takes seconds and gigabytes. The metadata of
 * rpm-md nest five deep.
 * @param depth  how deep it is now
 */
export function boundElements(parser: SaxesParser, depth: () => number): void {
  let attributes = 0
  parser.on('opentagstart', () => {
    attributes = 0
    if (depth() >= MAX_DEPTH) malformed(`it nests elements more than ${MAX_DEPTH} deep`)
  })
  parser.on('attribute', () => {
    attributes += 1
    if (attributes > MAX_ATTRIBUTES) malformed(`it has an element with more than ${MAX_ATTRIBUTES} attributes`)
  })
}
