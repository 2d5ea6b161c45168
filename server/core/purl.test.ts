import { describe, expect, test } from 'vitest'
import { parsePurl, printPurl, type Purl } from './purl.ts'

const TABLE: readonly (readonly [string, Purl])[] = [
  [
    'pkg:deb/debian/hello@2.10-3?arch=amd64&distro=debian-12',
    {
      type: 'deb',
      namespace: 'debian',
      name: 'hello',
      version: '2.10-3',
      qualifiers: { arch: 'amd64', distro: 'debian-12' },
    },
  ],
  [
    'pkg:deb/ubuntu/g%2B%2B@4:11.2.0~rc1-1?arch=amd64',
    { type: 'deb', namespace: 'ubuntu', name: 'g++', version: '4:11.2.0~rc1-1', qualifiers: { arch: 'amd64' } },
  ],
  ['pkg:npm/%40scope/name@1.0.0', { type: 'npm', namespace: '@scope', name: 'name', version: '1.0.0' }],
  [
    'pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1',
    { type: 'maven', namespace: 'org.apache.logging.log4j', name: 'log4j-core', version: '2.14.1' },
  ],
  [
    'pkg:golang/github.com/foo/bar@v1.2.3',
    { type: 'golang', namespace: 'github.com/foo', name: 'bar', version: 'v1.2.3' },
  ],
  [
    'pkg:rpm/almalinux/bash@4.4.20-5.el8?arch=x86_64&upstream=bash-4.4.20-5.el8.src.rpm',
    {
      type: 'rpm',
      namespace: 'almalinux',
      name: 'bash',
      version: '4.4.20-5.el8',
      qualifiers: { arch: 'x86_64', upstream: 'bash-4.4.20-5.el8.src.rpm' },
    },
  ],
  ['pkg:pypi/requests', { type: 'pypi', name: 'requests' }],
]

describe('a package URL', () => {
  test.each(TABLE)('%s is printed and read back', (text, purl) => {
    expect(printPurl(purl)).toBe(text)
    expect(parsePurl(text)).toEqual(purl)
  })
  test('qualifiers come sorted, empty ones not at all, PyPI names folded', () => {
    expect(printPurl({ type: 'deb', name: 'a', qualifiers: { z: '1', a: '2', m: '' } })).toBe('pkg:deb/a?a=2&z=1')
    expect(printPurl({ type: 'pypi', name: 'Zope.Interface_x', version: '1' })).toBe('pkg:pypi/zope-interface-x@1')
  })
  test.each([
    [{ type: 'composer', namespace: 'Foo', name: 'Bar' }, 'pkg:composer/foo/bar'],
    [{ type: 'github', namespace: 'Actions', name: 'Checkout', version: 'V4' }, 'pkg:github/actions/checkout@V4'],
    [{ type: 'hex', namespace: 'Acme', name: 'Foo' }, 'pkg:hex/acme/foo'],
    [{ type: 'pub', name: 'Characters' }, 'pkg:pub/characters'],
    [{ type: 'nuget', name: 'Newtonsoft.Json' }, 'pkg:nuget/Newtonsoft.Json'],
    [{ type: 'npm', namespace: '@Scope', name: 'JSONStream' }, 'pkg:npm/%40Scope/JSONStream'],
  ])('%j has the letters of its type: %s', (purl, text) => {
    expect(printPurl(purl)).toBe(text)
  })
  test.each(['', 'pkg:', 'pkg:deb', 'pkg:deb/', 'http://x/y', 'pkg:deb/%zz@1', 'pkg:deb/a@%ff'])('%j is none', text => {
    expect(parsePurl(text)).toBeUndefined()
  })
  test('what others write is read: upper-case type, extra slashes, a subpath', () => {
    expect(parsePurl('pkg://NPM//%40a/b@1.0#src/lib')).toEqual({
      type: 'npm',
      namespace: '@a',
      name: 'b',
      version: '1.0',
    })
  })
})
