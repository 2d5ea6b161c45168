import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dependencyList, isAllowed, listPackages, type Lock, type Manifest } from './dependencies.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8')
const manifest = JSON.parse(read('package.json')) as Manifest
const lock = JSON.parse(read('package-lock.json')) as Lock

test('docs/dependencies.md is what npm run readme writes', () => {
  expect(read('docs/dependencies.md')).toBe(dependencyList(manifest, lock))
})

test('every package has a licence that is allowed', () => {
  expect(listPackages(lock).filter(({ licence }) => !isAllowed(licence))).toEqual([])
})

test('one of several licences is enough', () => {
  expect(['MIT', '(MIT OR GPL-3.0)', 'GPL-3.0 OR ISC'].map(isAllowed)).toEqual([true, true, true])
  expect(['GPL-3.0', '(GPL-2.0 OR GPL-3.0)', 'none named', ''].map(isAllowed)).toEqual([false, false, false, false])
})

test('what is installed is of the version and the licence that the list names', () => {
  const differing = listPackages(lock).flatMap(({ place, version, licence }) => {
    if (!existsSync(join(ROOT, place, 'package.json'))) return []
    const installed = JSON.parse(read(join(place, 'package.json'))) as {
      version: string
      license?: string
      licenses?: readonly { readonly type: string }[]
    }
    const named = installed.license ?? installed.licenses?.[0]?.type
    return installed.version === version && named === licence ? [] : [place]
  })
  expect(differing).toEqual([])
})

test('a dependency without a purpose is refused', () => {
  const more = { ...manifest, dependencies: { ...manifest.dependencies, 'left-pad': '1.3.0' } }
  expect(() => dependencyList(more, lock)).toThrow('left-pad has no purpose')
})
