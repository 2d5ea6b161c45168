import { expect, test } from 'vitest'
import type { EngineStatus } from './scanner.ts'
import { NO_DATA } from '../vulndb/match/coverage.ts'
import { dataWarning } from './data-warning.ts'

const now = new Date('2026-03-31T10:00:00Z')
const engine = (id: string, ok: boolean, data_at?: string): EngineStatus => ({
  id,
  ok,
  ...(data_at === undefined ? {} : { data_at }),
})

test.each<[string, EngineStatus[], string | undefined]>([
  ['no engine at all', [], 'No vulnerability data are loaded.'],
  ['none that answers', [engine('osv', false), engine('grype', false)], 'No vulnerability engine answers.'],
  [
    'none with data',
    [{ id: 'osv', ok: false, error: NO_DATA }, engine('grype', false)],
    'No vulnerability data are loaded.',
  ],
  [
    'one that is installed and fails, beside one with data',
    [engine('osv', true, '2026-03-30T10:00:00Z'), { ...engine('grype', false), silence: 'no_answer' }],
    'grype does not answer.',
  ],
  [
    'one that fails, and no data',
    [
      { id: 'osv', ok: false, error: NO_DATA },
      { ...engine('grype', false), silence: 'no_answer' },
    ],
    'grype does not answer. No vulnerability data are loaded.',
  ],
  ['one with data of yesterday', [engine('osv', true, '2026-03-30T10:00:00Z'), engine('grype', false)], undefined],
  ['data as old as they may be', [engine('osv', true, '2026-03-17T10:00:00Z')], undefined],
  [
    'older ones',
    [engine('osv', true, '2026-03-16T10:00:00Z')],
    'The vulnerability data are 15 days old, more than the 14 that “Oldest vulnerability data” allows.',
  ],
  [
    'old ones beside fresh ones',
    [engine('osv', true, '2026-01-01T10:00:00Z'), engine('trivy', true, '2026-03-30T10:00:00Z')],
    undefined,
  ],
])('%s: %s', (_, engines, said) => {
  expect(dataWarning(engines, { maxAgeDays: 14, now })).toBe(said)
})
