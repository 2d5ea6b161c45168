import { describe, expect, test, vi } from 'vitest'
import type { ApiToken, ReviewItem } from '../../wire.ts'
import type { Job } from '../../screens/jobs/words.ts'
import { ofJobs, ofMachines, ofQueue, ofTokens } from './messages.ts'

// runes are compiled for the browser only; where the links lead is not looked at here
vi.mock(import('../../routes.svelte.ts'), () => ({ href: (screen: string) => `#/${screen}` }) as never)

const NOW = new Date('2026-11-20T12:00:00Z')
const hours = (n: number): string => new Date(NOW.getTime() + n * 3_600_000).toISOString()
const held = (due: string | null, who: string | null = null): ReviewItem =>
  ({
    name: 'git',
    version: '1',
    distribution: 'jammy',
    arch: 'amd64',
    sla: { due_at: due },
    assigned_to: who,
  }) as ReviewItem
const job = (of: Partial<Job>): Job =>
  ({
    job_id: 'a',
    kind: 'backup',
    label: 'Backup',
    target: '',
    status: 'done',
    asked_by: 'mae',
    finished_at: hours(-1),
    error: null,
    ...of,
  }) as Job

describe('messages for one person', () => {
  test.each([
    ['without a deadline', held(null), []],
    ['due in a month', held(hours(700)), []],
    ['due in an hour', held(hours(1)), ['review']],
    ['overdue', held(hours(-1)), ['alarm']],
    ['overdue, and somebody else has it', held(hours(-1), 'max'), []],
    ['given to this person, with time left', held(hours(700), 'mae'), ['review']],
  ] as const)('a held package %s', (_, item, icons) => {
    expect(ofQueue([item], 'mae', NOW).map(({ icon }) => icon)).toEqual(icons)
  })

  test.each([
    ['of this person, done', {}, ['Done: Backup']],
    ['of this person, eight days ago', { finished_at: hours(-8 * 24) }, []],
    ['of somebody else, done', { asked_by: 'max' }, []],
    ['of somebody else, failed', { asked_by: 'max', status: 'error' }, ['Failed: Backup']],
    [
      'of this person, that somebody else cancelled',
      { status: 'cancelled', cancelled_by: 'max' },
      ['Cancelled: Backup'],
    ],
    ['of this person, that they cancelled', { status: 'cancelled', cancelled_by: 'mae' }, []],
    ['that still runs', { status: 'running', finished_at: null }, []],
  ] as const)('a job %s', (_, of, titles) => {
    expect(ofJobs([job(of)], 'mae', NOW).map(({ title }) => title)).toEqual(titles)
  })

  test('a token is told a week before its end, and not after', () => {
    const tokens = [-1, 24, 24 * 8].map((n, id) => ({ id, name: `t${n}`, expires_at: hours(n) }) as unknown as ApiToken)
    expect(ofTokens(tokens, NOW).map(({ title }) => title)).toEqual(['The token t24 ends'])
  })

  test('a changed host key is told once for each number of machines', () => {
    expect([ofMachines(0).length, ofMachines(2)[0]?.id, ofMachines(3)[0]?.id]).toEqual([
      0,
      'host keys 2',
      'host keys 3',
    ])
  })
})
