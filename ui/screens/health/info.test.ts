import { expect, test, vi } from 'vitest'
import type { HealthReport } from '../../wire.ts'
import { goodToKnow, inWords } from './info.ts'

// runes are compiled for the browser only; where the links lead is not looked at here
vi.mock(import('../../routes.svelte.ts'), () => ({ href: (screen: string) => `#/${screen}` }) as never)

const NOW = new Date('2026-11-23T15:00:00Z')
/** The state of a row when the report says this. */
const stateOf = (id: string, info: object, level = 'fine'): string | undefined => {
  const checks = { critical: {}, non_critical: { disk: { ok: true, level } }, info }
  // only what is looked at
  const report = { checks } as unknown as HealthReport
  return goodToKnow(report, NOW).find(row => row.id === id)?.state
}

test('what the report does not say is unknown, never good', () => {
  expect(['backup', 'proof', 'forecast', 'reserve', 'replicas', 'license'].map(id => stateOf(id, {}))).toEqual(
    Array.from({ length: 6 }, () => 'unknown'),
  )
})

test('a clock is well near the others, asks for something far from one, and is unknown without an answer', () => {
  const clock = (ahead: number | null, isOk: boolean, timestamp = NOW) => {
    const info = { clock: { ok: isOk, database_ahead_ms: ahead } }
    const report = { timestamp: timestamp.toISOString(), checks: { critical: {}, non_critical: {}, info } }
    return goodToKnow(report as unknown as HealthReport, NOW).find(row => row.id === 'clock')
  }
  expect(clock(400, true)).toMatchObject({
    state: 'ok',
    say: '0 s from this computer',
    more: '0.4 s from the database',
  })
  expect(clock(3_600_000, false)).toMatchObject({ state: 'warn', say: '60 minutes from the database.' })
  expect(clock(null, false)).toMatchObject({ state: 'unknown' })
  expect(clock(null, false, new Date('2026-11-23T14:58:00Z'))).toMatchObject({
    state: 'warn',
    say: '2 minutes from this computer.',
  })
})

test('a reserve that comes by itself asks for nothing; one given back, or on a filling disk, does', () => {
  const reserve = (given_back_at: string | null) => ({ reserve: { state: 'missing', given_back_at } })
  expect([
    stateOf('reserve', reserve(null)),
    stateOf('reserve', reserve(null), 'filling'),
    stateOf('reserve', reserve('2026-11-23T14:00:00Z')),
  ]).toEqual(['off', 'warn', 'warn'])
})

test('a backup of more than eight days, or one never proved, asks for something', () => {
  const backups = (last_backup: string, last_proved_restore: string | null) => ({
    backups: { count: 1, last_backup, last_proved_restore },
  })
  expect(stateOf('backup', backups('2026-11-14T15:00:00Z', null))).toBe('warn')
  expect(stateOf('backup', backups('2026-11-16T15:00:00Z', null))).toBe('ok')
  expect(stateOf('proof', backups('2026-11-16T15:00:00Z', null))).toBe('warn')
})

test('each target of backups has a row: what failed, and what speaks against it', () => {
  const target = (more: object) => ({
    backups: {
      ...{ count: 1, last_backup: '2026-11-16T15:00:00Z', last_proved_restore: null },
      targets: [
        {
          place: 's3',
          address: 'https://s3.example/b',
          tried_at: '2026-11-16T15:00:00Z',
          trouble: null,
          warning: null,
          ...more,
        },
      ],
    },
  })
  expect([
    stateOf('target-s3', target({})),
    stateOf('target-s3', target({ trouble: 'It was refused.' })),
    stateOf('target-s3', target({ warning: 'It is on the same disk.' })),
    stateOf('target-s3', target({ tried_at: null })),
  ]).toEqual(['ok', 'bad', 'warn', 'off'])
})

test('days are said in the unit that a person thinks in', () => {
  expect([12, 35, 456, 900].map(inWords)).toEqual(['12 days', '5 weeks', '15 months', '2 years'])
})
