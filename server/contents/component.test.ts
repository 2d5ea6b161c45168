import { describe, expect, test } from 'vitest'
import { componentAt } from './component.ts'

describe('a component', () => {
  const packaged = (path: string): boolean =>
    componentAt({ type: 'x', name: 'a', version: '1', presence: 'shipped', rule: 'r', confidence: 'certain' }, path)
      .packaged === true
  test.each([
    ['usr/lib/python3/dist-packages/requests-2.28.1.dist-info/METADATA', true],
    ['usr/lib/python3.12/site-packages/a-1.dist-info/METADATA', true],
    ['usr/lib/python3/dist-packages/setuptools/_vendor/a-1.dist-info/METADATA', false],
    ['opt/app/venv/lib/python3.11/site-packages/a-1.dist-info/METADATA', false],
    ['usr/share/java/log4j.jar!/META-INF/maven/g/a/pom.properties', true],
    ['usr/share/java/fat.jar!/lib/in.jar!/META-INF/maven/g/a/pom.properties', false],
    ['opt/x/log4j.jar!/META-INF/maven/g/a/pom.properties', false],
    ['usr/share/nodejs/lodash/package.json', true],
    ['usr/lib/node_modules/npm/node_modules/a/package.json', false],
  ])('%s is packaged by the distribution: %s', (path, expected) => expect(packaged(path)).toBe(expected))
})
