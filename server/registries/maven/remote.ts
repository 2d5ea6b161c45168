import { complainOf, folderOf, isSnapshot, partsOf } from '../../formats/maven/coordinates.ts'
import { decodeXml, readLeaves } from '../../formats/maven/pom.ts'
import { malformed } from '../../lib/limited.ts'
import type { IndexAnswer, RemoteEntry, RemoteIndex, RemoteReader } from '../remote/reader.ts'

/** What `maven-metadata.xml` says beside its versions. */
export interface RemoteMavenAbout {
  /** ISO 8601: no version that it lists is younger. */
  readonly updated_at?: string
  /** Where the folder is that of a group, its plugins. */
  readonly plugins?: readonly { readonly name: string; readonly prefix: string; readonly artifact: string }[]
}

/** `20261122094857`, UTC */
function dateOf(stamp: string): string | undefined {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)\.?(\d\d)(\d\d)(\d\d)$/.exec(stamp) ?? []
  const [year, month, day, hour, minute, second] = parts
  const at = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** The folder that a name is listed in: `org/example/lib`. */
const folderOfName = (name: string): string => {
  const { group, artifact } = partsOf(name)
  return `${group.replaceAll('.', '/')}/${artifact}`
}

/** Source: https://maven.apache.org/ref/3.9.11/maven-repository-metadata/repository-metadata.html */
function read({ name, bytes }: IndexAnswer): RemoteIndex {
  const versions: string[] = []
  const plugins: { name: string; prefix: string; artifact: string }[] = []
  let plugin: Record<string, string> = {}
  let updated: string | undefined
  let root = ''
  const parts = partsOf(name)
  readLeaves(decodeXml(bytes), {
    each(path, text) {
      root = path.split('/')[0] ?? ''
      if (path === 'metadata/versioning/versions/version') versions.push(text)
      if (path === 'metadata/versioning/lastUpdated') updated = dateOf(text)
      const [, key] = /^metadata\/plugins\/plugin\/(\w+)$/.exec(path) ?? []
      if (key !== undefined) plugin[key] = text.slice(0, 200)
    },
    end(path) {
      root = path.split('/')[0] ?? ''
      if (path !== 'metadata/plugins/plugin') return
      const { name: label = '', prefix, artifactId: artifact } = plugin
      if (prefix !== undefined && artifact !== undefined) plugins.push({ name: label, prefix, artifact })
      plugin = {}
    },
  })
  if (root !== 'metadata') malformed('it is no maven-metadata.xml')
  const isTaken = (version: string): boolean => !isSnapshot(version) && complainOf({ ...parts, version }) === undefined
  const about: RemoteMavenAbout = {
    ...(updated === undefined ? {} : { updated_at: updated }),
    ...(plugins.length === 0 ? {} : { plugins }),
  }
  return {
    about: () => ({ ...about }),
    entries: versions.filter(isTaken).map((version): RemoteEntry => ({ version, arch: 'any', facts: {} })),
  }
}

/** Reads the lists of versions of an upstream, whose address is that of the repository. */
export const mavenReader: RemoteReader = {
  format: 'maven',
  ask: name => ({ path: `/${folderOfName(name)}/maven-metadata.xml`, accept: 'text/xml, application/xml, */*;q=0.1' }),
  read,
}

/** The path of a file below the upstream: `/org/example/lib/1.0/lib-1.0.pom`. */
export const remotePath = (name: string, version: string, filename: string): string =>
  `/${folderOf({ ...partsOf(name), version })}/${encodeURIComponent(filename)}`
