import { expect, test } from 'vitest'
import { AppError } from '../../core/errors.ts'
import { troubleOf } from './outcome.ts'

const TRIED = { inRoot: false, tried: { failures: 0, missing_since: null }, now: new Date('2026-11-20T12:00:00Z') }

test.each([
  ['a full disk', { code: 'ENOSPC' }, /^There is no room left on the disk.*An admin has to free space/],
  ['a full disk of the database', { code: '53100' }, /^There is no room left on the disk/],
  ['anything else', {}, /^Something inside failed\./],
])('%s is told with the way out', (_, facts, said) => {
  const error = Object.assign(new Error('write /srv/x'), facts)
  expect(troubleOf(error, TRIED)).toEqual({
    state: 'error',
    said: expect.stringMatching(said) as string,
    missing: false,
  })
  expect(troubleOf(error, TRIED).said).not.toContain('/srv/x')
})

test('a root that its mirror does not have is told without a word about the network', () => {
  const error = new AppError('upstream_refused', {
    of: 'dists/jammy/InRelease',
    fault: 'missing',
    why: 'it is not there',
  })
  const found = troubleOf(error, { ...TRIED, inRoot: true })
  expect(found).toMatchObject({ state: 'unreachable', missing: true })
  expect(found.said).toMatch(/Check address, suite and components of the source/)
  expect(found.said).not.toMatch(/proxy|network/)
})
