import { expect, test } from 'vitest'
import { countIn, NOTHING_YET, sayCounts } from './report.ts'
import { batchesOf } from './work.ts'
import { AppError } from '../../core/errors.ts'
import type { Manifest } from '../../core/manifest.ts'

test('a batch has 256 files or 256 MiB at most; a larger file has one of its own', () => {
  const files = (sizes: readonly number[]) => sizes.map((size, n) => ({ path: `${n}.deb`, size }))
  const shape = (sizes: readonly number[]): number[] => batchesOf('/nowhere', files(sizes)).map(({ length }) => length)
  expect(shape([])).toEqual([])
  expect(shape(Array.from({ length: 600 }, () => 1))).toEqual([256, 256, 88])
  expect(shape([2 ** 20, 300 * 2 ** 20, 2 ** 20, 200 * 2 ** 20, 60 * 2 ** 20])).toEqual([1, 1, 2, 1])
})

test('fates are counted, those that are not served with the reason, and only the first are kept', () => {
  const published = { state: 'published', reports: [] } as unknown as Manifest
  const held = {
    state: 'pending_review',
    reports: [
      { step: 'antivirus', outcome: 'warned', said: 'No engine.' },
      { step: 'scripts', outcome: 'warned', holds: true, said: 'It is setuid.' },
    ],
  } as unknown as Manifest
  const { tally, say } = countIn(NOTHING_YET, [
    { path: 'a', fate: { value: { outcome: 'created', manifest: published } } },
    { path: 'b', fate: { value: { outcome: 'already', manifest: published } } },
    { path: 'c', fate: { value: { outcome: 'created', manifest: held } } },
    { path: 'd', fate: { left: 'it is not there' } },
    { path: 'e', fate: { error: new AppError('bad_package', { filename: 'e', why: 'it is none' }) } },
    { path: 'f', fate: { error: new Error('secrets of the machine') } },
  ])
  expect(tally).toMatchObject({ added: 1, skipped: 1, held: 1, blocked: 0, failed: 3 })
  expect(tally.troubles.map(({ path, why }) => `${path}: ${why}`)).toEqual([
    'c: It is setuid.',
    'd: it is not there',
    'e: e is refused: it is none.',
    'f: It failed for a reason that the log of the service names.',
  ])
  expect(say.map(({ level }) => level)).toEqual(['warning', 'error', 'error', 'error'])
  expect(sayCounts(tally)).toBe('1 added, 1 held, 1 here already, 3 failed')
  const many = countIn(
    tally,
    Array.from({ length: 500 }, (_, n) => ({ path: `${n}`, fate: { left: 'gone' } })),
  )
  expect(many.tally.failed).toBe(503)
  expect(many.tally.troubles).toHaveLength(200)
})
