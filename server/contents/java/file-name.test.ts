import { expect, test } from 'vitest'
import { readJarName } from './file-name.ts'

const printed = (path: string): string =>
  readJarName(path)
    .parts.map(({ name, version }) => `${name}@${version ?? ''}`)
    .join(' ')

test.each([
  ['opt/a/log4j-core-2.14.1.jar', 'log4j-core@2.14.1 log4j-core-2.14.1@'],
  ['log4j-1.2-api-2.14.1.jar', 'log4j@1.2-api-2.14.1 log4j-1.2-api@2.14.1 log4j-1.2-api-2.14.1@'],
  ['guava-29.0-jre.jar', 'guava@29.0-jre guava-29.0-jre@'],
  ['akka-http-core_2.12-10.1.5.jar', 'akka-http-core_2.12@10.1.5 akka-http-core_2.12-10.1.5@'],
  ['org.eclipse.osgi_3.7.0.v20110613.jar', 'org.eclipse.osgi@3.7.0.v20110613 org.eclipse.osgi_3.7.0.v20110613@'],
  ['netty-handler-4.1.42.Final-linux-x86_64.jar', 'netty-handler@4.1.42.Final netty-handler-4.1.42.Final@'],
  ['app-1.0-jar-with-dependencies.war', 'app@1.0 app-1.0@'],
  ['a.zip!/BOOT-INF/lib/h2-1.4.200.jar', 'h2@1.4.200 h2-1.4.200@'],
  ['groovy-2.4.21-indy.jar', 'groovy@2.4.21 groovy-2.4.21@'],
  ['log4j-1.2-1.2.17.jar', 'log4j@1.2.17 log4j-1.2@1.2.17 log4j-1.2-1.2.17@'],
  ['a-1.2-1.20.jar', 'a@1.2-1.20 a-1.2@1.20 a-1.2-1.20@'],
  ['plain.jar', 'plain@'],
  ['-1.jar', '-1@'],
])('%s is %s', (path, parts) => expect(printed(path)).toBe(parts))

test.each([
  ['a-1-sources.jar', 'sources'],
  ['a-1-javadoc.jar', 'documentation'],
  ['a-1-tests.jar', 'tests'],
  ['a-1.jar', undefined],
])('%s has no code but %s', (path, without) => expect(readJarName(path).without).toBe(without))

test('a name of 64 KiB is read at once', () => {
  expect(readJarName(`a${'-1'.repeat(32_000)}.jar`).parts.length).toBeLessThan(200)
})
