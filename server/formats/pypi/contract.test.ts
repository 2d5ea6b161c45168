import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { spoolBytes } from '../../../test/support/packages.ts'
import { buildSdist, buildWheel } from '../../../test/support/packages-pypi.ts'
import type { PackageIdentity } from '../../core/identity.ts'
import type { Distribution } from '../../core/repository.ts'
import { testFormatContract } from '../contract-suite.ts'
import { pypi } from './index.ts'
import { fileNameOf } from './names.ts'

const id = (name: string, version: string, arch = 'py3-none-any'): PackageIdentity => ({
  format: 'pypi',
  name,
  version,
  arch,
})

const registry = { kind: 'registry', codename: 'ours', format: 'pypi', label: 'Ours' } as unknown as Distribution
const names = new Map<string, string>()
const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const FIRST = id('hello', '2.10')

testFormatContract({
  format: pypi,
  distribution: registry,
  async build({ name, version, arch }, path, content) {
    const files = { [path]: content }
    const bytes =
      arch === 'sdist' ? buildSdist({ name, version, files }) : buildWheel({ name, version, tag: arch, files })
    names.set(digest(bytes), fileNameOf({ name, version, arch }))
    return bytes
  },
  // the name of the file says what it is; the suite has names of its own
  spool: (folder, _, bytes) => spoolBytes(folder, names.get(digest(bytes)) ?? fileNameOf(FIRST), bytes),
  identities: [
    FIRST,
    id('hello', '2.10', 'sdist'),
    id('hello', '2.10', '1-py3-none-any'),
    id('hello', '2.11'),
    id('zope-interface', '6.0rc1', 'cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64'),
    id('a', '1!2.0.post1.dev3+local.7'),
    id('x1-y2', '0', 'py2.py3-none-any'),
  ],
  refused: [
    id('-hello', '1'),
    id('.hello', '1'),
    id('', '1'),
    id('../x', '1'),
    id('a b', '1'),
    id('Hello', '1'),
    id('a_b', '1'),
    id('hello', ''),
    id('hello', 'one'),
    id('hello', '1.0-1'),
    id('hello', 'v1.0'),
    id('hello', '1', ''),
    id('hello', '1', 'any'),
    id('hello', '1', 'py3-none-any/../x'),
    id('x'.repeat(129), '1'),
    id('x', `1${'.1'.repeat(63)}`),
  ],
  ascending: [
    '0',
    '0.0.1',
    '0.1.dev1',
    '0.1a1.dev1',
    '0.1a1',
    '0.1a2',
    '0.1b1',
    '0.1rc1',
    '0.1',
    '0.1+abc',
    '0.1+1',
    '0.1.post1',
    '0.2',
    '0.10',
    '1',
    '2024.1',
    '1!0.1',
  ],
})

test.each([
  [FIRST, 'pkg:pypi/hello@2.10?file_name=hello-2.10-py3-none-any.whl'],
  [id('zope-interface', '6.0', 'sdist'), 'pkg:pypi/zope-interface@6.0?file_name=zope_interface-6.0.tar.gz'],
])('a purl names the file: %j', (identity, purl) => {
  expect(pypi.purl(identity, registry)).toBe(purl)
})
