import type { Page } from 'playwright-core'
import { startFakeMachine, type FakeMachine } from '../../support/fake-machine.ts'
import { goodMachine } from '../../support/machine-view.ts'
import type { Shot } from './shots.ts'

const DAY_MS = 86_400_000
const UPDATE = '/media/gatehouse/A1/gatehouse-1.4.3.update'

let machine: FakeMachine
/** The machine that the pictures are of: in the middle of its life, with a stick in it. */
export async function startPicturedMachine(): Promise<FakeMachine> {
  machine = await startFakeMachine()
  const modified_at = new Date(Date.now() - DAY_MS).toISOString()
  machine.view = {
    ...goodMachine(),
    remote_log: { host: 'log.nordwerk.lan', port: 6514, protocol: 'tls', mark: 'good', said: 'is sent' },
    media: [
      {
        ...{ id: 'A1', label: 'GATEHOUSE', device: 'sda1', file_system: 'exfat', size: 32e9 },
        ...{ path: '/media/gatehouse/A1', said: '' },
        files: [
          { path: 'gatehouse-1.4.3.update', kind: 'update', size: 188e6, modified_at },
          { path: 'backup_20261124T143000.tar.gz', kind: 'backup', size: 3.1e9, modified_at },
        ],
      },
    ],
  }
  return machine
}

async function goWrong(): Promise<void> {
  const { services, certificate, disks, time } = machine.view
  machine.view = {
    ...machine.view,
    certificate: {
      ...certificate,
      ends_at: new Date(Date.now() + 9.5 * DAY_MS).toISOString(),
      mark: 'warning',
      said: 'ends soon',
    },
    services: services.map(one =>
      one.word === 'clamd' ? { ...one, mark: 'bad', said: 'does not run', memory: null } : one,
    ),
    disks: disks.map((one, n) =>
      n === 0 ? { ...one, used: one.size * 0.94, mark: 'warning', said: 'is filling' } : one,
    ),
    time: { ...time, drift_ms: null, mark: 'unknown', said: 'No time server answers' },
  }
  // a look is shared for some seconds
  await new Promise(resolve => {
    setTimeout(resolve, 4_200)
  })
}
const change =
  (card: string) =>
  (page: Page): Promise<void> =>
    page.getByRole('region', { name: card, exact: true }).getByRole('button', { name: 'Change' }).click()

export const machineShots: readonly Shot[] = [
  { name: 'machine', at: '#/machine' },
  { name: 'machine-reader', at: '#/machine', who: 'm.okafor' },
  { name: 'machine-network', at: '#/machine', act: change('Network') },
  { name: 'machine-certificate', at: '#/machine', act: change('Certificate') },
  { name: 'machine-time', at: '#/machine', act: change('Time') },
  {
    name: 'machine-power',
    at: '#/machine',
    act: async page => {
      await page.getByRole('button', { name: 'Power' }).first().click()
      await page.getByRole('menuitem', { name: 'Restart' }).click()
    },
  },
  { name: 'machine-update', at: `#/machine?update=${encodeURIComponent(UPDATE)}` },
  { name: 'machine-bad', at: '#/machine', before: goWrong },
]
