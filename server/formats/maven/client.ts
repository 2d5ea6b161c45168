import { TOKEN_PLACE, TOKEN_USER, type ConfigFile } from '../../core/client-setup.ts'
import type { Distribution } from '../../core/repository.ts'
import type { RegistryClient, RegistryFacts, RegistrySetup } from '../registry-client.ts'

interface Facts extends RegistryFacts {
  readonly id: string
}

// Maven takes no http from other machines since 3.8.1; Gradle and sbt ask for a word of their own
const isPlain = ({ address }: Facts): boolean => address.startsWith('http://')

const repository = ({ id, address }: Facts, indent: string): string =>
  [`<id>${id}</id>`, `<url>${address}</url>`].map(line => `${indent}${line}\n`).join('')

/** A mirror of exactly this repository comes before the one by which Maven blocks all without TLS. */
function mirror(facts: Facts): string {
  if (!isPlain(facts) || ['localhost', '127.0.0.1'].includes(new URL(facts.address).hostname)) return ''
  return `  <mirrors>
    <mirror>
${repository(facts, '      ')}      <mirrorOf>${facts.id}</mirrorOf>
    </mirror>
  </mirrors>
`
}

/** Maven. Source: https://maven.apache.org/settings.html */
function maven(facts: Facts): RegistrySetup {
  const { id } = facts
  const settings: ConfigFile = {
    path: '~/.m2/settings.xml',
    content: `<settings>
  <servers>
    <server>
      <id>${id}</id>
      <username>${TOKEN_USER}</username>
      <password>${TOKEN_PLACE}</password>
    </server>
  </servers>
${mirror(facts)}  <profiles>
    <profile>
      <id>${id}</id>
      <repositories>
        <repository>
${repository(facts, '          ')}          <releases><checksumPolicy>fail</checksumPolicy></releases>
          <snapshots><enabled>true</enabled><updatePolicy>always</updatePolicy></snapshots>
        </repository>
      </repositories>
      <pluginRepositories>
        <pluginRepository>
${repository(facts, '          ')}        </pluginRepository>
      </pluginRepositories>
    </profile>
  </profiles>
  <activeProfiles>
    <activeProfile>${id}</activeProfile>
  </activeProfiles>
</settings>
`,
    secret: true,
  }
  const pom: ConfigFile = {
    path: 'pom.xml',
    content: `<distributionManagement>
  <repository>
${repository(facts, '    ')}  </repository>
  <snapshotRepository>
${repository(facts, '    ')}  </snapshotRepository>
</distributionManagement>
`,
  }
  return {
    client: 'Maven',
    files: facts.publishes ? [settings, pom] : [settings],
    setup: [],
    install: 'mvn dependency:get -Dartifact=PACKAGE',
    publish: 'mvn deploy',
    notes: [
      ...(facts.publishes ? ['The lines of pom.xml belong into <project>; only who publishes needs them.'] : []),
      'A version that is held stops the build, and the reason stands behind the status in the message.',
    ],
  }
}

const gradleCredentials = `        credentials {
            username = "${TOKEN_USER}"
            password = "${TOKEN_PLACE}"
        }
`

/** Gradle. Source: https://docs.gradle.org/current/userguide/publishing_maven.html */
function gradle(facts: Facts): RegistrySetup {
  const insecure = isPlain(facts) ? '        isAllowInsecureProtocol = true\n' : ''
  const block = (credentials: string): string =>
    `    maven {\n        url = uri("${facts.address}")\n${insecure}${credentials}    }\n`
  const publishing = `
publishing {
    publications {
        create<MavenPublication>("library") {
            from(components["java"])
        }
    }
    repositories {
${block(gradleCredentials).replace(/^(?=.)/gm, '    ')}    }
}
`
  const content = `plugins {
    \`java-library\`
${facts.publishes ? '    `maven-publish`\n' : ''}}

repositories {
${block(facts.needsToken ? gradleCredentials : '')}}
${facts.publishes ? publishing : ''}`
  return {
    client: 'Gradle',
    files: [{ path: 'build.gradle.kts', content, secret: true }],
    setup: [],
    install: 'implementation("PACKAGE")',
    publish: 'gradle publish',
    notes: ['Keep the token in ~/.gradle/gradle.properties where the build is shared.'],
  }
}

/** sbt. Source: https://www.scala-sbt.org/1.x/docs/Publishing.html */
function sbt(facts: Facts): RegistrySetup {
  const { address } = facts
  const host = new URL(address).hostname
  const resolver = `"${facts.id}" at "${address}"${isPlain(facts) ? ' withAllowInsecureProtocol true' : ''}`
  return {
    client: 'sbt',
    files: [
      {
        path: 'build.sbt',
        content: `resolvers += (${resolver})\n${facts.publishes ? `publishTo := Some(${resolver})\n` : ''}credentials += Credentials(Path.userHome / ".sbt" / ".credentials")\n`,
      },
      {
        path: '~/.sbt/.credentials',
        content: `realm=Gatehouse\nhost=${host}\nuser=${TOKEN_USER}\npassword=${TOKEN_PLACE}\n`,
        secret: true,
      },
    ],
    setup: [],
    install: 'libraryDependencies += "GROUP" % "ARTIFACT" % "VERSION"',
    publish: 'sbt publish',
    notes: facts.publishes
      ? ['sbt sends no list of versions: what it publishes passes the gate one to two minutes after its last file.']
      : [],
  }
}

/** Clients of Maven registries. */
export const mavenClient: RegistryClient = {
  root: 'maven',
  setups: ({ codename }: Distribution, registryFacts) => {
    const facts = { ...registryFacts, id: codename }
    return [maven(facts), gradle(facts), sbt(facts)]
  },
}
