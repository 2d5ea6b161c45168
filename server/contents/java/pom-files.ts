import type { Found, Reader } from '../reader.ts'
import { textReader } from '../text-file.ts'
import { FOR_DEVELOPMENT } from '../unasked.ts'
import { readPomProperties, readPomXml } from './pom.ts'

const MAX_POM = 2 * 2 ** 20

/**
 * What a pom.xml wants: in a source tree, or beside a jar in a repository. The ones in jars are read with their jar.
 * Dependencies whose version another file would have to say come without it.
 */
const pomXml: Reader = textReader({
  id: 'pom-xml',
  path: /^(?!(?:.*\/)?META-INF\/maven\/)(?:.*\/)?(?:pom\.xml|[^/]+\.pom)$/,
  most: MAX_POM,
  *read(text): Iterable<Found> {
    for (const { group, artifact, version, scope } of readPomXml(text).dependencies)
      yield {
        type: 'maven',
        namespace: group,
        name: artifact,
        version,
        presence: 'declared',
        rule: 'pom-xml',
        confidence: 'certain',
        ...(scope === 'test' ? { unasked: FOR_DEVELOPMENT } : {}),
      }
  },
})

/**
 * The pom.properties of a jar that was unpacked into a folder. The one at the root of an archive belongs to the archive
 * itself.
 */
const pomProperties: Reader = textReader({
  id: 'pom-properties',
  path: /^(?!.*!\/META-INF\/[^!]*$)(?:.*\/)?META-INF\/maven\/[^/!]+\/[^/!]+\/pom\.properties$/,
  most: 64 * 1024,
  *read(text): Iterable<Found> {
    const release = readPomProperties(text)
    if (release === undefined) return
    yield {
      type: 'maven',
      namespace: release.group,
      name: release.artifact,
      version: release.version,
      presence: 'shipped',
      rule: 'pom-properties',
      confidence: 'certain',
    }
  },
})

/** Readers of Maven's files outside archives. */
export const pomReaders: readonly Reader[] = [pomXml, pomProperties]
