import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { jarIndexFile } from '../store/layout.ts'
import { openJarIndex, packJarIndex } from './jar-index.ts'

/**
 * Checks an index of jars and puts it into the folder of a generation; a second one in the same import is added to the
 * first. Blocks. @throws Malformed
 */
export async function writeJarIndex(
  generation: string,
  chunks: AsyncIterable<Buffer>,
): Promise<{ readonly created: string; readonly rows: number }> {
  const parts: Buffer[] = []
  for await (const chunk of chunks) parts.push(chunk)
  const bytes = Buffer.concat(parts)
  const index = openJarIndex(bytes)
  const path = jarIndexFile(generation)
  mkdirSync(dirname(path), { recursive: true })
  if (!existsSync(path)) {
    writeFileSync(path, bytes)
    return index
  }
  const first = openJarIndex(readFileSync(path))
  const created = first.created > index.created ? first.created : index.created
  const both = packJarIndex([...first.all(), ...index.all()], created)
  writeFileSync(path, both)
  return openJarIndex(both)
}
