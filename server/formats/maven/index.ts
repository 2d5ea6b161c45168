import { relPath } from '../../core/identity.ts'
import { printPurl } from '../../core/purl.ts'
import type { Format } from '../format.ts'
import { mavenClient } from './client.ts'
import { complain, folderOf, partsOf } from './coordinates.ts'
import type { MavenFacts } from './facts.ts'
import { mavenFetches } from './fetches.ts'
import { licenceHeir } from './heir.ts'
import { inner } from './inner.ts'
import { inspect } from './inspect.ts'
import { satisfies } from './relation.ts'
import { compareVersions, versionKey } from './version.ts'

/** Artifacts of Maven repositories: what Maven, Gradle and sbt publish. */
export const maven: Format<MavenFacts> = {
  id: 'maven',
  label: 'Maven artifact',
  word: 'maven',
  endings: ['.jar', '.pom', '.war', '.ear', '.aar', '.zip'],
  // any file may be an artifact
  recognises: head => head.length > 0,
  inspect,
  inner,
  compareVersions,
  versionKey,
  satisfies,
  poolName: ({ name, version }) => {
    const parts = partsOf(name)
    return relPath(`${folderOf({ ...parts, version })}/${parts.artifact}-${version}.jar`)
  },
  archs: { usual: [], neutral: ['any'], known: ['any'] },
  declaresLicence: () => true,
  licenceHeir,
  hasComponents: false,
  // Source: purl-spec, types/maven-definition.json
  purl: ({ name, version }) => {
    const { group, artifact } = partsOf(name)
    return printPurl({ type: 'maven', namespace: group, name: artifact, version })
  },
  installCommand: ({ name, version }) => `mvn dependency:get -Dartifact=${name}:${version}`,
  complain,
  registryClient: mavenClient,
  fetches: mavenFetches,
}
