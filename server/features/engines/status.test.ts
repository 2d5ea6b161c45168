import { expect, test } from 'vitest'
import type { EngineStatus } from '../../scanners/scanner.ts'
import { feedsStatus, grypeStatus } from './status.ts'

const clock = { now: () => new Date('2026-03-10T12:00:00Z') }
const settings = { now: () => ({ validation: { vuln_data_max_age_days: 5 } }) } as never
const grype = (said: Partial<EngineStatus>) =>
  grypeStatus({
    clock,
    settings,
    scanners: {
      antivirus: [],
      vulnerability: [
        { id: 'grype', isPresent: async () => true, status: async () => ({ id: 'grype', ...said }) } as never,
      ],
    },
  })

test('grype with a database shows its age, and one older than the setting is stale', async () => {
  const fine = { ok: true, version: '0.90.0', data_version: 'v6.0.3', data_at: '2026-03-10T02:30:00Z' }
  const card = {
    available: true,
    version: '0.90.0',
    built_at: fine.data_at,
    schema: 'v6.0.3',
    status: 'valid',
    age_hours: 9,
    stale: false,
    stale_threshold_hours: 120,
    error: null,
  }
  expect(await grype(fine)).toEqual(card)
  expect(await grype({ ...fine, data_at: '2026-03-01T12:00:00Z' })).toEqual({
    ...card,
    built_at: '2026-03-01T12:00:00Z',
    status: 'stale',
    age_hours: 216,
    stale: true,
  })
  expect(await grype({ ok: false, error: 'It has no usable database.' })).toEqual({
    ...card,
    available: false,
    version: null,
    built_at: null,
    schema: null,
    status: 'unavailable',
    age_hours: null,
    error: 'It has no usable database.',
  })
})

test('the feeds show what is loaded, and how old it is', async () => {
  const intel = {
    kev: { version: '2026.03.09', date: '2026-03-09', entries: 1200, imported_at: '2026-03-10T04:00:00Z' },
    epss: { date: '2026-03-01', entries: 300_000, digits: 2, imported_at: '2026-03-10T04:00:00Z' },
  }
  const database = { open: async () => ({ meta: { intel } }) } as never
  expect(await feedsStatus({ clock, settings, database })).toEqual({
    ttl_hours: 120,
    kev: {
      available: true,
      fetched_at: '2026-03-10T04:00:00Z',
      total: 1200,
      catalog_version: '2026.03.09',
      age_hours: 8,
      fresh: true,
    },
    epss: { available: true, updated_at: '2026-03-01', count: 300_000, age_hours: 228, fresh: false },
  })
})
