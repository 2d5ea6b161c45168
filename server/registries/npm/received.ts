import { Readable } from 'node:stream'
import { fail } from '../../core/errors.ts'
import type { SpooledFile } from '../../files/spool.ts'
import { fieldsOf, type Fields } from '../../lib/fields.ts'
import { Malformed, malformed, printBytes } from '../../lib/limited.ts'
import { chunksOf } from '../body.ts'
import type { RegistryDeps } from '../deps.ts'
import type { RegistryRequest } from '../protocol.ts'
import { scanDocument, type Wanted } from './scan.ts'

/** What a document may have beside its attachment, in bytes: it is read as it comes, and little of it is kept. */
const MOST_BESIDE = 128 * 2 ** 20
const MOST_VERSIONS = 20_000

/** A file that came in a document. */
export interface Attachment {
  readonly filename: string
  readonly file: SpooledFile
}

/** What a client sent to publish a version, or to change what is said of several. */
export interface Received {
  readonly name: unknown
  readonly distTags: Fields
  /** The versions that it names: the first one whole, of the others what is said of their deprecation. */
  readonly versions: ReadonlyMap<string, Fields>
  readonly tarballs: readonly Attachment[]
  readonly provenance: readonly Attachment[]
  /** How long the sender says that each attachment is. */
  readonly lengths: ReadonlyMap<string, unknown>
  /** Removes the files that came. */
  discard(): Promise<void>
}

const isProvenance = (filename: string): boolean => filename.endsWith('.sigstore')

function wants([first = '', second = '', third]: readonly string[], depth: number): Wanted {
  if (depth === 1) return first === 'name' || first === 'dist-tags' ? 'value' : 'nothing'
  if (first === 'versions') return depth === 2 ? 'value' : 'nothing'
  if (first !== '_attachments' || depth !== 3) return 'nothing'
  if (third === 'length') return 'value'
  if (third !== 'data') return 'nothing'
  return isProvenance(second) ? 'value' : 'bytes'
}

/** Passes a document on, up to the size of its attachment and what may stand beside that. @throws Malformed */
async function* atMost(document: AsyncIterable<Buffer>, mostBytes: number): AsyncGenerator<Buffer> {
  let seen = 0
  for await (const chunk of document) {
    seen += chunk.length
    if (seen > mostBytes) malformed(`the document has more than ${printBytes(MOST_BESIDE)} beside its attachment`)
    yield chunk
  }
}

/** The last part of a name as somebody sent it, for messages. */
const plainName = (filename: string): string =>
  filename.slice(filename.lastIndexOf('/') + 1).slice(0, 200) || 'package.tgz'

/**
 * Reads a document as it comes: attachments go to the disk, decoded, and never through memory as a whole.
 * @throws bad_request with what is wrong, upload_too_large and what else the spool refuses; nothing is kept then
 */
export async function receive(
  { spool, settings }: Pick<RegistryDeps, 'spool' | 'settings'>,
  { body, signal }: Pick<RegistryRequest, 'body' | 'signal'>,
): Promise<Received> {
  const limitBytes = settings.now().validation.max_upload_size_mb * 2 ** 20
  const files: SpooledFile[] = []
  const tarballs: Attachment[] = []
  const provenance: Attachment[] = []
  const versions = new Map<string, Fields>()
  const lengths = new Map<string, unknown>()
  let [name, distTags]: [unknown, Fields] = [undefined, {}]

  const take = async (key: string, bytes: AsyncIterable<Buffer>, to: Attachment[]): Promise<void> => {
    if (to.length > 0)
      fail('bad_request', { said: 'The document has two packages in it; publish one version at a time.' })
    const file = await spool.receive(bytes, { limitBytes, filename: plainName(key), signal })
    files.push(file)
    to.push({ filename: key, file })
  }
  const takeVersion = (version: string, json: unknown): void => {
    const fields = fieldsOf(json)
    const { deprecated } = fields
    const isFirst = versions.size === 0
    versions.set(version, isFirst ? fields : deprecated === undefined ? {} : { deprecated })
    if (versions.size > MOST_VERSIONS)
      fail('bad_request', { said: `The document names more than ${MOST_VERSIONS} versions.` })
  }

  const discard = async (): Promise<void> => {
    await Promise.all(files.map(file => file.discard()))
  }
  try {
    // an attachment of the largest size is a third longer as base64
    const whole = atMost(chunksOf(body), Math.ceil((limitBytes * 4) / 3) + MOST_BESIDE)
    for await (const part of scanDocument(whole, path => wants(path, path.length))) {
      const [first = '', second = '', third] = part.path
      if (part.kind === 'bytes') await take(second, part.bytes, tarballs)
      else if (first === 'name') name = part.json
      else if (first === 'dist-tags') distTags = fieldsOf(part.json)
      else if (first === 'versions') takeVersion(second, part.json)
      else if (third === 'length') lengths.set(second, part.json)
      else if (typeof part.json === 'string') await take(second, Readable.from([Buffer.from(part.json)]), provenance)
    }
    return { name, distTags, versions, tarballs, provenance, lengths, discard }
  } catch (error) {
    await discard()
    if (error instanceof Malformed)
      return fail('bad_request', { said: `The request could not be read: ${error.why}.` }, error)
    throw error
  }
}
