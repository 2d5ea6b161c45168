import tar from 'tar-stream'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { malformed, Malformed } from '../../lib/limited.ts'
import { readCsaf, readCsafHead } from './csaf.ts'
import { parseJson, readJson } from './json-feed.ts'
import { readUnpacked } from './recognise.ts'
import { isUbuntuVex, readUbuntuVex } from './ubuntu-vex.ts'
import { note, type HashedFile, type Run } from './run.ts'

/** The largest documents, of kernels, have tens of megabytes. */
const MOST_DOCUMENT = 64 * 2 ** 20
const MOST_DOCUMENTS = 1_000_000

/** One document. A newer one of the same name outweighs it, so it replaces nothing. */
export async function readCsafFile(run: Run, file: HashedFile): Promise<void> {
  const value = await readJson(file.path, file.is)
  const { slug, modified } = readCsafHead(value)
  const name = `csaf/${slug}`
  readCsaf(value, { source: name, orders: run.orders, sink: run.tables })
  note(run, { name, kind: 'csaf', file: { ...file, whole: false }, as_of: modified, records: 1 })
}

async function readEntry(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer)
    if ((size += (chunk as Buffer).length) > MOST_DOCUMENT)
      malformed('the archive holds a document that is larger than any')
  }
  return Buffer.concat(chunks)
}

const UBUNTU = 'vex/ubuntu'

/** One document of an archive. @returns its source and when it was made. @throws Malformed */
function readDocument(run: Run, value: unknown, known: string): { readonly name: string; readonly modified: string } {
  const context = { orders: run.orders, sink: run.tables }
  if (isUbuntuVex(value)) return { name: UBUNTU, modified: readUbuntuVex(value, { ...context, source: UBUNTU }) }
  const { slug, modified } = readCsafHead(value)
  const name = known === '' ? `csaf/${slug}` : known
  readCsaf(value, { ...context, source: name })
  return { name, modified }
}

/**
 * A tar of documents of one publisher, as Red Hat, SUSE and Ubuntu offer them: read as it streams, one document at a
 * time. Damaged documents are left out and counted.
 * @throws Malformed when it is cut off or holds no document
 */
export async function readCsafArchive(run: Run, file: HashedFile): Promise<void> {
  const unpacker = tar.extract()
  const feeding = pipeline(readUnpacked(file.path, file.is.compression), unpacker).then(
    () => undefined,
    (error: unknown) => error,
  )
  let name = ''
  let newest = ''
  let records = 0
  try {
    for await (const entry of unpacker) {
      if (entry.header.type !== 'file' || !entry.header.name.endsWith('.json')) {
        entry.resume()
        continue
      }
      if (++records > MOST_DOCUMENTS) malformed('the archive holds more documents than any')
      // a streamx stream: it iterates like one of Node's, but its type differs
      const bytes = await readEntry(entry as unknown as Readable)
      try {
        const { name: source, modified } = readDocument(run, parseJson(bytes), name)
        if (name === '') name = source
        if (modified > newest && modified <= run.job.now) newest = modified
      } catch (error) {
        if (!(error instanceof SyntaxError) && !(error instanceof Malformed)) throw error
        run.tables.skip('malformed')
      }
    }
  } catch (error) {
    unpacker.destroy()
    await feeding
    throw error instanceof Malformed
      ? error
      : new Malformed('the archive of VEX documents is damaged, or cut off', error)
  }
  const fed = await feeding
  if (fed !== undefined) malformed('the archive of VEX documents is damaged, or cut off', fed)
  if (name === '') malformed('the archive holds no VEX document of Red Hat, SUSE or Ubuntu')
  note(run, { name, kind: name === UBUNTU ? 'ubuntu-vex' : 'csaf', file, as_of: newest, records })
}
