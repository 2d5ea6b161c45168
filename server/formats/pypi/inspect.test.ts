import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MALFORMED_PYTHON } from '../../../test/support/malformed-pypi.ts'
import { spoolBytes } from '../../../test/support/packages.ts'
import { buildSdist, buildWheel, sdistName, wheelName, type PythonSpec } from '../../../test/support/packages-pypi.ts'
import { isRefusal } from '../../core/errors.ts'
import type { Inspection } from '../format.ts'
import type { PypiFacts } from './facts.ts'
import { inspect } from './inspect.ts'

const { signal } = new AbortController()
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-pypi-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const look = async (filename: string, bytes: Buffer): Promise<Inspection<PypiFacts>> =>
  inspect(await spoolBytes(folder, filename, bytes), signal)

describe('a bad file is refused, and the reason names thing and rule', () => {
  test.each(MALFORMED_PYTHON.map(one => [one.name, one] as const))('%s', async (_, { filename, bytes, why }) => {
    // the folder keeps no name with a slash
    const file = { ...(await spoolBytes(folder, 'x', bytes)), filename }
    const error: unknown = await inspect(file, signal).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (!isRefusal(error, 'bad_package')) throw error ?? new Error('it was accepted')
    expect(String(error.facts['why'])).toMatch(why)
  })

  test('there are more than 80 different ones', () => {
    expect(new Set(MALFORMED_PYTHON.map(({ name, filename }) => `${filename} ${name}`)).size).toBe(
      MALFORMED_PYTHON.length,
    )
    expect(MALFORMED_PYTHON.length).toBeGreaterThan(80)
  })
})

const SPEC: PythonSpec = {
  name: 'Zope.Interface',
  version: '1.0-RC1',
  fields: {
    'Summary': 'Interfaces',
    'License-Expression': 'MIT',
    'Author-email': 'A <a@example.test>',
    'Project-URL': ['Documentation, https://example.test/docs', 'Homepage, https://example.test/'],
    'Requires-Python': '>=3.8,<4',
    'Requires-Dist': ['a>=1', 'b; extra == "x"'],
    'Provides-Extra': 'x',
  },
  description: 'What it is.\n',
  files: { 'zope/interface/__init__.py': '', 'zope_interface-1.0rc1.data/scripts/run': '#!python\n' },
}

test('a wheel gives its identity in the one spelling, its requirements and its facts', async () => {
  const spec = { ...SPEC, version: '1.0rc1' }
  const found = await look(wheelName(spec), buildWheel(spec))
  expect(found.identity).toEqual({ format: 'pypi', name: 'zope-interface', version: '1.0rc1', arch: 'py3-none-any' })
  expect(found.about).toMatchObject({
    summary: 'Interfaces',
    description: 'What it is.',
    license: 'MIT',
    maintainer: 'A <a@example.test>',
    homepage: 'https://example.test/',
    depends: [[{ name: 'a', op: '>=', version: '1' }]],
    provides: [{ name: 'zope-interface', version: '1.0rc1' }],
  })
  expect(found.facts).toMatchObject({
    filetype: 'bdist_wheel',
    name: 'Zope.Interface',
    version: '1.0rc1',
    requires_python: '>=3.8,<4',
    requires_dist: ['a>=1', 'b; extra == "x"'],
    provides_extra: ['x'],
    metadata: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
  })
  expect(found.paths).toEqual([
    'zope/interface/__init__.py',
    'bin/run',
    ...['METADATA', 'WHEEL', 'RECORD'].map(name => `Zope_Interface-1.0rc1.dist-info/${name}`),
  ])
})

test('a source release gives the same, with its version normalised and paths below its folder', async () => {
  const spec = { name: 'Zope.Interface', version: '1.0rc1', fields: { Version: '1.0-RC1', Dynamic: 'Requires-Dist' } }
  const found = await look(sdistName(spec), buildSdist(spec))
  expect(found.identity).toEqual({ format: 'pypi', name: 'zope-interface', version: '1.0rc1', arch: 'sdist' })
  expect(found.facts).toMatchObject({ filetype: 'sdist', version: '1.0-RC1', dynamic: ['requires-dist'] })
  expect(found.paths).toEqual(['PKG-INFO', 'setup.py', 'zope_interface.py'])
})
