import { expect, test } from 'vitest'
import { goodMachine } from '../../../test/support/machine-view.ts'
import type { MachineView } from '../../machine/protocol.ts'
import { machineProbes } from './machine-probes.ts'

const now = new Date()
const inDays = (days: number): string => new Date(now.getTime() + days * 86_400_000 + 60_000).toISOString()
const probesOf = (change: (view: MachineView) => Partial<MachineView>) => {
  const view = goodMachine()
  return machineProbes({ view: { ...view, ...change(view) } }, now)
}

test('of what is no appliance there are no checks, and of one that gives no answer only that', () => {
  expect(machineProbes(undefined, now)).toEqual({})
  expect(machineProbes({ why: 'secret' }, now)).toEqual({
    machine: {
      ok: false,
      error: "The machine's own program gave no answer.",
      effect: expect.stringContaining('unknown'),
      remedy: expect.stringContaining('gatehouse-machine'),
    },
  })
})

test('a machine that is well passes every check', () => {
  expect(Object.values(probesOf(() => ({}))).every(({ ok }) => ok)).toBe(true)
})

test.each<[string, (view: MachineView) => Partial<MachineView>, string]>([
  [
    'machine_restart',
    ({ updates }) => ({ updates: { ...updates, reboot_required: true, reboot_for: ['linux-image-amd64'] } }),
    'The machine has to be restarted (linux-image-amd64).',
  ],
  ['machine_clock', ({ time }) => ({ time: { ...time, drift_ms: -2400 } }), 'The clock is 2.4 seconds off.'],
  [
    'machine_clock',
    ({ time }) => ({ time: { ...time, drift_ms: null } }),
    'No time server answers, so how far the clock is off is unknown.',
  ],
  ['machine_clock', ({ time }) => ({ time: { ...time, drift_ms: null, servers: [] } }), 'No time server is set.'],
  [
    'machine_certificate',
    ({ certificate }) => ({ certificate: { ...certificate, ends_at: inDays(29) } }),
    `The certificate ends on ${inDays(29).slice(0, 10)}.`,
  ],
  [
    'machine_certificate',
    ({ certificate }) => ({ certificate: { ...certificate, ends_at: inDays(-2) } }),
    `The certificate ended on ${inDays(-2).slice(0, 10)}.`,
  ],
  [
    'machine_certificate',
    ({ certificate }) => ({ certificate: { ...certificate, ends_at: '' } }),
    'When the certificate ends is unknown.',
  ],
  [
    'machine_services',
    ({ services }) => ({ services: services.map(one => (one.word === 'clamd' ? { ...one, mark: 'bad' } : one)) }),
    'Down or failing: clamd.',
  ],
  [
    'machine_services',
    ({ services }) => ({ services: services.map(one => (one.word === 'clamd' ? { ...one, restarts: 3 } : one)) }),
    'Restarted by themselves again and again: clamd.',
  ],
  [
    'machine_services',
    ({ services }) => ({ services: services.map(one => ({ ...one, mark: 'unknown' })) }),
    'The services could not be looked at.',
  ],
  [
    'machine_disks',
    ({ disks }) => ({ disks: disks.map(one => ({ ...one, mark: one.name === 'system' ? 'warning' : 'unknown' })) }),
    'Little room is left: / (48 %).',
  ],
  [
    'machine_disks',
    ({ disks }) => ({ disks: disks.map(one => ({ ...one, mark: 'unknown' })) }),
    'How full they are could not be looked at: /repos, /.',
  ],
  [
    'machine_update',
    ({ updates }) => ({
      updates: {
        ...updates,
        last: { version: '1.4.3', file: 'f', state: 'went_back', step: 'Health', said: 'not healthy', at: inDays(0) },
      },
    }),
    'The update to 1.4.3 went back.',
  ],
  [
    'machine_guard',
    () => ({ findings: [{ what: 'SSH', mark: 'unknown', said: '?', way_out: 'Look.' }] }),
    'Not as it should be: SSH.',
  ],
])('%s says what is the matter, what it means and what to do', (name, change, error) => {
  const probes = probesOf(change)
  expect(probes[name]).toEqual({ ok: false, error, effect: expect.any(String), remedy: expect.any(String) })
  expect(Object.entries(probes).flatMap(([id, { ok }]) => (ok ? [] : [id]))).toEqual([name])
})
