import { malformed } from '../../lib/limited.ts'
import { readUnpacked, type Recognised } from './recognise.ts'

const MOST_JSON = 64 * 2 ** 20

/** Accepts the byte order mark that some editors write. @throws SyntaxError */
export const parseJson = (bytes: Buffer): unknown => JSON.parse(bytes.toString('utf8').replace(/^\ufeff/, ''))

/** A feed that is one JSON document. @throws Malformed */
export async function readJson(path: string, { compression }: Recognised): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of readUnpacked(path, compression)) {
    chunks.push(chunk)
    if ((size += chunk.length) > MOST_JSON) malformed('the JSON file is larger than any such feed')
  }
  try {
    return parseJson(Buffer.concat(chunks))
  } catch (error) {
    return malformed('the JSON file is damaged', error)
  }
}
