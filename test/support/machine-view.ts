import type { MachineView } from '../../server/machine/protocol.ts'

const GB = 1024 ** 3
const day = (n: number): string => new Date(Date.now() + n * 86_400_000).toISOString()
const service = (
  unit: string,
  word: string,
  does: string,
  more: Partial<MachineView['services'][number]> = {},
): MachineView['services'][number] => ({
  unit,
  word,
  does,
  mark: 'good',
  said: 'runs',
  since: day(-41),
  memory: 388 * 1024 ** 2,
  restarts: 0,
  may_restart: true,
  ...more,
})

/** A machine that is well. */
export const goodMachine = (): MachineView => ({
  looked_at: new Date().toISOString(),
  hardware: { model: 'GH-200', cores: 8, memory: 32 * GB, memory_used: 9.1 * GB, up_since: day(-41) },
  network: {
    interface: 'eth0',
    speed: 1000,
    host_name: 'gatehouse-01.nordwerk.lan',
    method: 'static',
    addresses: ['10.20.1.10/24'],
    gateway: '10.20.1.1',
    dns: [{ address: '10.20.0.3', mark: 'good', said: 'answers in 2 ms' }],
    goes_back_at: null,
  },
  certificate: {
    kind: 'own',
    names: ['gatehouse-01.nordwerk.lan', '10.20.1.10'],
    issuer: 'Gatehouse appliance',
    ends_at: day(312),
    fingerprint: '8F'.repeat(32),
    mark: 'good',
    said: 'renews itself 30 days before',
  },
  time: {
    zone: 'Europe/Stockholm',
    drift_ms: 400,
    servers: [{ name: 'ntp2.nordwerk.lan', is_used: true, mark: 'good', said: 'used, 2 ms away' }],
    mark: 'good',
    said: 'is being corrected',
  },
  services: [
    service('gatehouse.service', 'Gatehouse', 'serves clients and the console', { memory: 612 * 1024 ** 2 }),
    service('gatehouse-postgres.service', 'PostgreSQL', 'the database'),
    service('clamav-daemon.service', 'clamd', 'looks for malware in packages', { memory: 1.4 * GB, since: day(-6) }),
    service('gatehouse-firewall.service', 'Firewall', 'lets in what is served', { memory: null, may_restart: false }),
  ],
  disks: [
    {
      name: 'packages',
      path: '/repos',
      device: 'vda3',
      size: 960 * GB,
      used: 412 * GB,
      mark: 'good',
      said: 'has room',
    },
    { name: 'system', path: '/', device: 'vda1', size: 64 * GB, used: 31 * GB, mark: 'good', said: 'has room' },
  ],
  media: [],
  updates: {
    releases: [
      { name: '1.4.2-1', version: '1.4.2', installed_at: day(-30), is_current: true },
      { name: '1.4.1-1', version: '1.4.1', installed_at: day(-90), is_current: false },
    ],
    last: null,
    debian: { waiting: 0, looked_at: day(0), said: 'Nothing waits.' },
    reboot_required: false,
    reboot_for: [],
  },
  window: { days: [6], from: '02:00', to: '05:00', debian: true, restart: true },
  remote_log: null,
  findings: [],
})
