import { existsSync, globSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openFile } from '../../../test/support/open-file.ts'
import { jarReader } from './jar.ts'

/** The jars in the local repository of Maven: `GROUP/FOLDERS/ARTIFACT/VERSION/ARTIFACT-VERSION.jar`. */
const folder = join(homedir(), '.m2/repository')
const jars = existsSync(folder)
  ? globSync('**/*.jar', { cwd: folder })
      .filter(path => basename(path) === `${path.split('/').slice(-3, -1).join('-')}.jar`)
      .sort()
  : []

const LOG4J = 'org/apache/logging/log4j/log4j-core/'

describe.skipIf(jars.length === 0)('real jars, by what they say themselves', () => {
  test('those that are named are what their place in the repository says', async () => {
    const wrong: string[] = []
    let named = 0
    for (const path of jars) {
      const [version = '', artifact = '', ...group] = path.split('/').slice(0, -1).reverse()
      const name = `${group.reverse().join('.')}:${artifact}`
      const { found } = await jarReader.read(openFile(`lib/${basename(path)}`, readFileSync(join(folder, path))))
      const own = found.filter(one => one.type === 'maven' && one.name === artifact)
      if (own.length === 0) continue
      named++
      // another group may have published it before; it is asked about, too
      if (!own.some(one => `${one.namespace}:${one.name}` === name && one.version === version)) wrong.push(path)
    }
    expect(named / jars.length).toBeGreaterThan(0.5)
    // some were published again under another group, with the first one's pom in them
    expect(wrong.slice(named / 50)).toEqual([])
  })

  test.skipIf(!jars.some(path => path.startsWith(LOG4J)))('log4j-core without its pom', async () => {
    for (const path of jars.filter(path => path.startsWith(LOG4J))) {
      const bytes = readFileSync(join(folder, path))
      // poms and manifest lie elsewhere now, in both headers
      const hidden = Buffer.from(bytes.toString('latin1').replaceAll('META-INF/', 'META-ANY/'), 'latin1')
      const { found } = await jarReader.read(openFile('lib/x.jar', hidden))
      expect(found.filter(({ type }) => type === 'maven')).toMatchObject([{ name: 'log4j-core', rule: 'classes' }])
    }
  })
})
