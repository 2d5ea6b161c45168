import { expect, test } from 'vitest'
import { ruledKeys } from './known-filters.ts'
import { filteredScreens, filterIn, isSameFilter, keysOf } from './saved-filters.ts'
import { NO_FILTER } from './screens/audit/lines.ts'
import { FILTERS } from './screens/inventory/query.ts'

test('a filter keeps what narrows and orders the list, without the page and what is open', () => {
  expect(filterIn('packages', { pick: 'curl', page: '3', sort: '-size', dist: 'jammy', q: '' })).toEqual({
    dist: 'jammy',
    sort: '-size',
  })
})

test('of the import it also keeps which part of it is narrowed', () => {
  expect(filterIn('import', { tab: 'mirror', q: 'debian', pick: 'debian-12', which: 'all', more: '1' })).toEqual({
    tab: 'mirror',
    q: 'debian',
    which: 'all',
  })
})

test('two addresses are one filter whatever the order of their keys and what is open in them', () => {
  expect(isSameFilter('review', { kev: '1', dist: 'jammy' }, { dist: 'jammy', kev: '1', pick: 'curl' })).toBe(true)
  expect(isSameFilter('review', { kev: '1' }, { kev: '1', dist: 'jammy' })).toBe(false)
})

test('whatever narrows a list is kept with it', () => {
  // of how many days a chart tells is no filter of the list below it
  const lacks = filteredScreens.flatMap(screen =>
    ruledKeys(screen)
      .filter(key => key !== 'over' && !keysOf(screen).includes(key))
      .map(key => `${screen} ${key}`),
  )
  expect(lacks).toEqual([])
  expect(keysOf('audit')).toEqual(expect.arrayContaining(Object.keys(NO_FILTER).filter(key => key !== 'page')))
  expect(keysOf('inventory')).toEqual(expect.arrayContaining([...FILTERS]))
})
