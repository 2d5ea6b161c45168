import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DOORS, GROUPS, isPlace, placeAt, ROWS } from './screens.ts'

const sprite = readFileSync(join(import.meta.dirname, 'sprite.svg'), 'utf8')

test('every row has its component and its symbol', () => {
  for (const { name, file, icon } of ROWS) {
    expect(file).toMatch(new RegExp(`^${name}/`))
    expect(existsSync(join(import.meta.dirname, 'screens', file)), file).toBe(true)
    expect(sprite).toContain(`id="i-${icon}"`)
  }
})

test('no two screens share a title or a key, and none has the name of a door', () => {
  const twice = (words: readonly string[]): string[] => words.filter((word, n) => words.indexOf(word) !== n)
  expect(twice(ROWS.map(({ title }) => title))).toEqual([])
  expect(twice(ROWS.flatMap(({ key }) => key ?? []))).toEqual([])
  expect(twice([...ROWS.map(({ name }) => name), ...DOORS])).toEqual([])
})

test('every group of the sidebar has entries', () => {
  expect(GROUPS.filter(group => !ROWS.some(row => row.group === group))).toEqual([])
})

test('a path names its screen or its door; what is neither is the dashboard', () => {
  for (const place of [...ROWS.map(({ name }) => name), ...DOORS]) expect(placeAt(place)).toBe(place)
  for (const path of ['', 'no-such-screen', 'toString', 'Packages']) expect(placeAt(path)).toBe('dashboard')
  expect(['packages', 'setup', 'toString', '__proto__', ''].filter(isPlace)).toEqual(['packages', 'setup'])
})
