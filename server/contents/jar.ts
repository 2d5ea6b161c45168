import { readZipDirectory } from './archives/zip-directory.ts'
import type { Found, Reader } from './reader.ts'

const MAX_PROPERTIES = 64 * 1024
const MAX_ENTRIES = 100_000
// the limit of file systems; a zip allows 64 KiB, for which the pattern for names would be slow
const LONGEST_NAME = 255

const POM = /(?:^|!\/)META-INF\/maven\/[^/]+\/[^/]+\/pom\.properties$/
const NAMED = /^(.+?)-(\d[\w.+-]*)\.(?:jar|war|ear|hpi)$/

/** What Maven writes into each archive it builds. Source: maven.apache.org, Maven Archiver, "pom.properties content" */
const pomProperties: Reader = {
  id: 'pom-properties',
  wants: ({ path }) => POM.test(path),
  async read(file) {
    const text = (await file.whole(MAX_PROPERTIES)).toString('utf8')
    const field = (key: string): string => new RegExp(`^${key}=(\\S+)[ \\t\\r]*$`, 'm').exec(text)?.[1] ?? ''
    const [namespace, name, version] = [field('groupId'), field('artifactId'), field('version')]
    if (namespace === '' || name === '' || version === '') return { found: [] }
    return {
      found: [
        { type: 'maven', namespace, name, version, presence: 'shipped', rule: 'pom-properties', confidence: 'certain' },
      ],
    }
  },
}

/** An archive without metadata is known only by its file name: without a group it has no Maven coordinates. */
function byFileName(path: string): Found[] {
  const fileName = path.slice(path.lastIndexOf('/') + 1)
  const [, name, version] = fileName.length > LONGEST_NAME ? [] : (NAMED.exec(fileName) ?? [])
  return name === undefined || version === undefined
    ? []
    : [{ type: 'generic', name, version, presence: 'shipped', rule: 'file-name', confidence: 'probable' }]
}

const jarName: Reader = {
  id: 'jar-name',
  wants: ({ path }) => NAMED.test(path.slice(-LONGEST_NAME)),
  async read(file) {
    const directory = await readZipDirectory(file, MAX_ENTRIES)
    const hasPom = directory?.members.some(({ name }) => POM.test(name)) ?? true
    return { found: hasPom ? [] : byFileName(file.path) }
  },
}

/** Readers of Java archives. */
export const javaReaders: readonly Reader[] = [pomProperties, jarName]
