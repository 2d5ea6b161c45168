import { expect, test } from 'vitest'
import { findings } from '../../../test/support/contents.ts'
import { javaRelease } from './java-release.ts'

const read = (text: string) => findings([javaRelease], 'opt/jdk/release', text)

test('the release file of a Java runtime names its version, where the runtime is there', async () => {
  const text =
    'IMPLEMENTOR="Eclipse Adoptium"\nJAVA_RUNTIME_VERSION="17.0.9+9"\nJAVA_VERSION="17.0.9"\nMODULES="java.base"\n'
  expect(await read(text)).toEqual([
    {
      type: 'generic',
      name: 'openjdk',
      version: '17.0.9',
      presence: 'shipped',
      rule: 'java-release',
      confidence: 'certain',
      needs: ['opt/jdk/lib/modules', 'opt/jdk/lib/rt.jar', 'opt/jdk/jre/lib/rt.jar'],
    },
  ])
})

test('other files of this name name nothing', async () => {
  for (const text of ['', '1.2.3\n', 'JAVA_VERSION=17\n', 'JAVA_VERSION="none"\n']) expect(await read(text)).toEqual([])
})
