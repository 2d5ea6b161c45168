import { expect, test } from 'vitest'
import { endOf, progressOf, restOf, shareOf, spanOf, tookOf, type Job } from './words.ts'

const job = (more: Partial<Job>): Job => ({
  job_id: '0badcafe',
  kind: 'migrate',
  label: 'Copy packages',
  target: 'noble',
  status: 'running',
  asked_by: 'ada',
  request_id: null,
  asked_at: '2026-11-01T10:00:00.000Z',
  started_at: '2026-11-01T10:00:00.000Z',
  finished_at: null,
  done_count: 0,
  total: null,
  bytes: 0,
  total_bytes: null,
  items_per_second: null,
  bytes_per_second: null,
  remaining_seconds: null,
  cancelling: false,
  cancelled_by: null,
  may_cancel: true,
  log_count: 1,
  result: null,
  error: null,
  ...more,
})

test('progress is told in bytes where they are known, in items otherwise, and never beyond the whole', () => {
  expect(progressOf(job({ status: 'queued' }))).toBe('waits for its turn')
  expect(progressOf(job({}))).toBe('has begun')
  expect(progressOf(job({ done_count: 3 }))).toBe('3 done')
  expect(progressOf(job({ done_count: 1_212, total: 20_000 }))).toBe('1,212 of 20,000')
  expect(progressOf(job({ bytes: 5e6, total_bytes: 2e7, bytes_per_second: 1e6 }))).toMatch(/ of .*, .*\/s$/)
  expect([shareOf(job({})), shareOf(job({ total: 0 })), shareOf(job({ done_count: 5, total: 4 }))]).toEqual([
    undefined,
    undefined,
    1,
  ])
  expect(shareOf(job({ bytes: 1, total_bytes: 4, done_count: 3, total: 4 }))).toBe(0.25)
})

test('times are told in one unit', () => {
  expect([5, 89, 90, 5_399, 5_400].map(spanOf)).toEqual(['5 s', '89 s', '2 min', '90 min', '2 h'])
  expect([restOf(job({})), restOf(job({ remaining_seconds: 61 }))]).toEqual(['', '61 s left'])
  expect(tookOf(job({ finished_at: '2026-11-01T10:01:00.000Z' }))).toBe('60 s')
  expect(tookOf(job({ started_at: null }))).toBe('')
})

test('an end is told by its reason first', () => {
  const error = { code: 'storage_full', message: 'The disk is full.' }
  expect(endOf(job({ status: 'error', error, done_count: 3 }))).toBe('The disk is full.')
  expect(endOf(job({ status: 'cancelled', cancelled_by: 'grace', done_count: 3 }))).toBe('by grace')
  expect(endOf(job({ status: 'done', done_count: 1 }))).toBe('1 item')
  expect(endOf(job({ status: 'done' }))).toBe('')
})
