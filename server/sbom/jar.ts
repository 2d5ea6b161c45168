import type { Readable } from 'node:stream'
import { fromBufferPromise, type Entry, type ZipFile } from 'yauzl'
import { limited, malformed } from '../lib/limited.ts'
import { componentAt, type Component, type Found } from './component.ts'
import { JAVA_ARCHIVE } from './lockfiles.ts'

/** How many bytes may still be inflated; shared by all archives of one package. */
export interface Budget {
  bytes: number
}

const MAX_ENTRIES = 100_000
const MAX_PROPERTIES = 64 * 1024
const MAX_NESTED = 64 * 1024 * 1024
// an application archive, the archive in it, and one more
const MAX_DEPTH = 3

// the limit of file systems; a zip allows 64 KiB, for which the pattern for names would be slow
const LONGEST_NAME = 255

const ARCHIVE = new RegExp(JAVA_ARCHIVE)
const POM = /^META-INF\/maven\/[^/]+\/[^/]+\/pom\.properties$/
const NAMED = /^(.+?)-(\d[\w.+-]*)\.(?:jar|war|ear|hpi)$/

/** What Maven writes into each archive it builds. Source: maven.apache.org, Maven Archiver, "pom.properties content" */
function pomProperties(text: string): Found[] {
  const field = (key: string): string => new RegExp(`^${key}=(\\S+)[ \\t\\r]*$`, 'm').exec(text)?.[1] ?? ''
  const [namespace, name, version] = [field('groupId'), field('artifactId'), field('version')]
  return namespace === '' || name === '' || version === '' ? [] : [{ type: 'maven', namespace, name, version }]
}

/** An archive without metadata is known only by its file name: without a group it has no Maven coordinates. */
function byFileName(path: string): Found[] {
  const fileName = path.slice(path.lastIndexOf('/') + 1)
  const [, name, version] = fileName.length > LONGEST_NAME ? [] : (NAMED.exec(fileName) ?? [])
  return name === undefined || version === undefined ? [] : [{ type: 'generic', name, version }]
}

async function readEntry(zip: ZipFile, entry: Entry, mostBytes: number, budget: Budget): Promise<Buffer> {
  if (entry.uncompressedSize > mostBytes)
    malformed(
      `${entry.fileName.slice(0, 200)} in it has ${entry.uncompressedSize} bytes, at most ${mostBytes} are read`,
    )
  budget.bytes -= entry.uncompressedSize
  if (budget.bytes < 0) malformed('the archives of this package unpack to more than is read')
  const stream: Readable = await zip.openReadStreamPromise(entry)
  const chunks: Buffer[] = []
  for await (const chunk of limited(stream as AsyncIterable<Buffer>, mostBytes, entry.fileName)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/**
 * The components inside a Java archive: those that Maven's own files name, in it and in the archives inside it.
 * @param path  where it stands in the package; inner places are written behind `!/`
 * @throws Malformed, or what yauzl throws for a damaged zip
 */
export async function jarComponents(path: string, bytes: Buffer, budget: Budget, depth = 1): Promise<Component[]> {
  const zip = await fromBufferPromise(bytes, { lazyEntries: true, validateEntrySizes: true })
  if (zip.entryCount > MAX_ENTRIES) malformed(`it has ${zip.entryCount} entries, at most ${MAX_ENTRIES} are read`)
  const own: Component[] = []
  const nested: Component[] = []
  for await (const entry of zip.eachEntry()) {
    const place = `${path}!/${entry.fileName}`
    if (POM.test(entry.fileName)) {
      const text = (await readEntry(zip, entry, MAX_PROPERTIES, budget)).toString('utf8')
      own.push(...pomProperties(text).map(found => componentAt(found, place)))
    } else if (ARCHIVE.test(entry.fileName)) {
      if (depth === MAX_DEPTH) malformed(`${entry.fileName.slice(0, 200)} in it is nested more than ${MAX_DEPTH} deep`)
      nested.push(...(await jarComponents(place, await readEntry(zip, entry, MAX_NESTED, budget), budget, depth + 1)))
    }
  }
  return [...(own.length > 0 ? own : byFileName(path).map(found => componentAt(found, path))), ...nested]
}
