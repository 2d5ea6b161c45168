import { expect, test } from 'vitest'
import { ago, complianceOf, hostKey, seenOf, type Machine } from './words.ts'

const NOW = new Date('2026-11-23T15:00:00Z')
const machine = (over: Partial<Machine>): Machine =>
  // only what is looked at
  ({ last_seen: null, last_scan_status: 'never', last_error_code: null, ...over }) as Machine

test('how long ago is as short as a list needs it', () => {
  const before = (ms: number): string => ago(new Date(NOW.getTime() - ms).toISOString(), NOW)
  expect([20_000, 120_000, 89 * 60_000, 3 * 3_600_000, 26 * 86_400_000].map(before)).toEqual([
    'just now',
    '2 min',
    '89 min',
    '3 h',
    '26 days',
  ])
})

test('a machine that shows another key, was never seen, does not answer, or is late has a sign', () => {
  const seen = '2026-11-23T14:58:00Z'
  const words = [
    machine({}),
    machine({ last_scan_status: 'error' }),
    machine({ last_seen: seen, last_scan_status: 'error', last_error_code: 'inventory_host_key_changed' }),
    machine({ last_seen: seen, last_scan_status: 'ok' }),
    machine({ last_seen: seen, last_scan_status: 'error' }),
    machine({ last_seen: '2026-10-28T15:00:00Z', last_scan_status: 'ok' }),
  ].map(one => seenOf(one, 7, NOW))
  expect(words.map(one => (typeof one === 'string' ? one : `${one.tone} ${one.word}`))).toEqual([
    'unavailable never',
    'warned no answer',
    'failed key changed',
    '2 min',
    'warned 2 min',
    'warned 26 days',
  ])
})

test('rules that nobody could tell are not kept', () => {
  const said = (pass: number, fail: number, unknown: number): string => {
    const { tone, word } = complianceOf({ pass, fail, unknown })
    return `${tone} ${word}`
  }
  expect([said(5, 0, 0), said(3, 2, 0), said(4, 0, 1), said(0, 0, 0)]).toEqual([
    'published 5 of 5',
    'warned 3 of 5',
    'unavailable 1 not known',
    'unavailable no rules',
  ])
})

test('a host key is printed in groups of four', () => {
  expect(hostKey('SHA256:8fQ2LkV1nX')).toBe('SHA256: 8fQ2 LkV1 nX')
})
