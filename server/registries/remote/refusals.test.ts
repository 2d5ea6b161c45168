import { expect, test } from 'vitest'
import { createFakeClock } from '../../../test/support/clock.ts'
import { AppError } from '../../core/errors.ts'
import { createRefusals } from './refusals.ts'

const bad = new AppError('bad_package', { filename: 'n.tgz', why: 'it is no gzip' })

test('what is no package is refused without another look for an hour', () => {
  const clock = createFakeClock()
  const refusals = createRefusals(clock)
  refusals.keep('a', bad)
  expect(() => refusals.check('a')).toThrow(bad)
  expect(() => refusals.check('b')).not.toThrow()
  clock.advance(3_599_000)
  expect(() => refusals.check('a')).toThrow(bad)
  clock.advance(1_000)
  expect(() => refusals.check('a')).not.toThrow()
})

test('what passes is not kept', () => {
  const refusals = createRefusals(createFakeClock())
  refusals.keep('a', new AppError('outbound_failed', { host: 'far.example', why: 'it answered 503' }))
  refusals.keep('a', new Error('disk'))
  expect(() => refusals.check('a')).not.toThrow()
})

test('so many are kept, the oldest goes', () => {
  const refusals = createRefusals(createFakeClock())
  for (let n = 0; n <= 10_000; n++) refusals.keep(String(n), bad)
  expect(() => refusals.check('0')).not.toThrow()
  expect(() => refusals.check('10000')).toThrow(bad)
})
