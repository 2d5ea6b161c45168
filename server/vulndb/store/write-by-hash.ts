import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { hashOf, pieceFile, pieceOf, type Digits } from './layout.ts'

/** Writes lines that begin with their key. */
export function writeByHash(
  folder: string,
  lines: readonly (readonly [key: string, ...rest: unknown[]])[],
  digits: Digits,
): void {
  const pieces = new Map<string, string[]>()
  for (const line of lines) {
    const piece = pieceOf(hashOf(line[0]), digits)
    const texts = pieces.get(piece) ?? []
    texts.push(`${JSON.stringify(line)}\n`)
    pieces.set(piece, texts)
  }
  mkdirSync(folder, { recursive: true })
  for (const [piece, texts] of pieces)
    writeFileSync(join(folder, pieceFile(piece)), gzipSync(texts.join(''), { level: 1 }))
}
