import { expect, test } from 'vitest'
import { componentAt } from './component.ts'
import { embeddedOf, isMatchedBy } from './embedded.ts'

test.each([
  [
    { type: 'npm', namespace: '@babel', name: 'core', version: '7.0.0' },
    { ecosystem: 'npm', name: '@babel/core', version: '7.0.0' },
  ],
  [
    { type: 'maven', namespace: 'org.apache.logging.log4j', name: 'log4j-core', version: '2.14.1' },
    { ecosystem: 'maven', name: 'org.apache.logging.log4j:log4j-core', version: '2.14.1' },
  ],
  [
    { type: 'golang', namespace: 'golang.org/x', name: 'net', version: 'v0.1.0+incompatible' },
    { ecosystem: 'go', name: 'golang.org/x/net', version: '0.1.0' },
  ],
  [
    { type: 'pypi', name: 'Zope.Interface', version: '5' },
    { ecosystem: 'pypi', name: 'zope-interface', version: '5' },
  ],
  [
    { type: 'cargo', name: 'time', version: '0.1.43' },
    { ecosystem: 'crates', name: 'time', version: '0.1.43' },
  ],
])('%j is asked about as %j', (found, query) => {
  const component = componentAt(found, 'opt/app/lock')
  expect(embeddedOf([component])).toEqual([query])
  expect([isMatchedBy(component, query), isMatchedBy(component, { ...query, version: '9' })]).toEqual([true, false])
})

test('what the distribution packaged itself, and what has no coordinates, is not asked about', () => {
  expect(
    embeddedOf([
      componentAt(
        { type: 'pypi', name: 'requests', version: '2' },
        'usr/lib/python3/dist-packages/requests-2.dist-info/METADATA',
      ),
      componentAt({ type: 'generic', name: 'x', version: '1' }, 'opt/x-1.jar'),
    ]),
  ).toEqual([])
})
