import { Value } from '@sinclair/typebox/value'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MachineView } from '../../../server/machine/protocol.ts'
import { testPorts, type Testing } from '../testing.ts'
import { deviceOf, markFilled } from './disks.ts'
import { readNetwork } from './network-read.ts'
import { readMachine } from './read.ts'
import { readServices } from './services.ts'
import { parseSources, parseTracking, readTime } from './time-read.ts'

let ports: Testing
beforeEach(async () => {
  ports = await testPorts()
})
afterEach(() => ports.close())

const ADDRESSES = JSON.stringify([
  {
    ifname: 'lo',
    flags: ['LOOPBACK', 'UP', 'LOWER_UP'],
    link_type: 'loopback',
    addr_info: [{ local: '127.0.0.1', prefixlen: 8, scope: 'host' }],
  },
  {
    ifname: 'enp1s0',
    flags: ['BROADCAST', 'UP', 'LOWER_UP'],
    link_type: 'ether',
    addr_info: [
      { local: '10.20.1.10', prefixlen: 24, scope: 'global', dynamic: true },
      { local: 'fe80::1', prefixlen: 64, scope: 'link' },
    ],
  },
])
const CABLE = {
  'ip -j address': ADDRESSES,
  'ip -j route': '[{"dst":"default","gateway":"10.20.1.1","dev":"enp1s0","protocol":"dhcp","metric":1024}]',
  'ip -j -6 route': '[]',
  'networkctl --no-pager --lines=0 status enp1s0':
    '● 2: enp1s0\n                   Link File: /usr/lib/systemd/network/99-default.link\n                Network File: /etc/systemd/network/80-wired.network\n                       State: routable (configured)\n',
}

describe('the network', () => {
  test('is read from networkd, and each DNS server is asked', async () => {
    ports.said = CABLE
    ports.dns = { '10.20.1.1': 4, '10.20.1.2': 'ESERVFAIL' }
    await ports.put('/etc/systemd/network/80-wired.network', '[Match]\nName=en*\n[Network]\nDHCP=yes\n')
    await ports.put('/etc/hostname', 'gatehouse-54ec\n')
    await ports.put('/sys/class/net/enp1s0/speed', '1000\n')
    await ports.put(
      '/run/systemd/resolve/resolv.conf',
      'nameserver 10.20.1.1\nnameserver 10.20.1.2\nnameserver 10.20.1.3\nsearch example\n',
    )
    expect(await readNetwork(ports)).toEqual({
      interface: 'enp1s0',
      speed: 1000,
      host_name: 'gatehouse-54ec',
      method: 'dhcp',
      addresses: ['10.20.1.10/24'],
      gateway: '10.20.1.1',
      dns: [
        { address: '10.20.1.1', mark: 'good', said: 'answers in 4 ms' },
        { address: '10.20.1.2', mark: 'warning', said: 'answers that it cannot find out (SERVFAIL)' },
        { address: '10.20.1.3', mark: 'bad', said: 'does not answer within two seconds' },
      ],
      goes_back_at: null,
    })
  })

  test('of another kind, or of no cable, is said to be so', async () => {
    ports.said = { ...CABLE, networkctl: { code: null, out: '', err: 'networkctl cannot be started' } }
    expect(await readNetwork(ports)).toMatchObject({ interface: 'enp1s0', method: 'other', speed: null, dns: [] })
    ports.said = {}
    expect(await readNetwork(ports)).toMatchObject({ interface: null, addresses: [], gateway: null })
  })
})

const SOURCES = `^,*,10.20.1.1,2,6,377,33,0.000012345,0.000012345,0.000523
^,?,10.20.1.9,0,6,0,4294967295,0.000000000,0.000000000,0.000000000
^,x,10.20.1.8,2,6,377,12,35.0,35.0,0.1
#,-,PPS0,0,4,377,1,0,0,0
`
const tracking = (offset: string, reference = '0A140101'): string =>
  `${reference},10.20.1.1,3,1764188400.123,${offset},0.0000012,0.0000034,-12.1,0.001,0.02,0.0005,0.0001,64.2,Normal\n`

describe('the time', () => {
  test('is that of the servers, and how far the clock is off', async () => {
    expect(parseSources(SOURCES)).toEqual([
      { name: '10.20.1.1', is_used: true, mark: 'good', said: 'is followed' },
      { name: '10.20.1.9', is_used: false, mark: 'bad', said: 'does not answer' },
      { name: '10.20.1.8', is_used: false, mark: 'bad', said: 'answers, and says another time than the others' },
    ])
    expect(parseTracking(tracking('0.000012345'))).toBe(0.012)
    ports.said = { 'chronyc -n -c sources': SOURCES, 'chronyc -n -c tracking': tracking('-25.5') }
    expect(await readTime(ports)).toMatchObject({
      drift_ms: -25_500,
      mark: 'bad',
      said: 'The clock is 25.5 seconds behind; it is being set right.',
    })
  })

  test('is never good while no server answers', async () => {
    const silent = '^,?,10.20.1.9,0,6,0,4294967295,0.0,0.0,0.0\n'
    const none = '00000000,,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised\n'
    ports.said = { 'chronyc -n -c sources': silent, 'chronyc -n -c tracking': none }
    expect(await readTime(ports)).toMatchObject({
      drift_ms: null,
      mark: 'warning',
      said: expect.stringContaining('No time server answers') as string,
    })
    ports.said = { chronyc: { code: 1, out: '', err: '506 Cannot talk to daemon' } }
    expect(await readTime(ports)).toMatchObject({ drift_ms: null, mark: 'unknown', servers: [] })
    expect(parseTracking(tracking('0.0', '7F7F0101'))).toBeNull()
  })
})

describe('services', () => {
  const shown = (id: string, more: string): string => `Id=${id}\nLoadState=loaded\nResult=success\n${more}\n\n`
  test('say since when they run, how much memory they take, and how often they ended', async () => {
    ports.said = {
      'systemctl show': [
        shown(
          'gatehouse.service',
          'ActiveState=active\nSubState=running\nActiveEnterTimestamp=@1764187200\nMemoryCurrent=188743680\nNRestarts=2',
        ),
        shown(
          'gatehouse-web.service',
          'ActiveState=activating\nSubState=auto-restart\nMemoryCurrent=[not set]\nNRestarts=9',
        ),
        shown('clamav-daemon.service', 'ActiveState=inactive\nSubState=dead\nMemoryCurrent=18446744073709551615'),
        shown('gatehouse-firewall.service', 'ActiveState=active\nSubState=exited\nActiveEnterTimestamp=@1764187200'),
        'Id=avahi-daemon.service\nLoadState=not-found\nActiveState=inactive\n',
      ].join(''),
    }
    const views = new Map((await readServices(ports)).map(view => [view.unit, view]))
    expect(views.get('gatehouse.service')).toEqual({
      unit: 'gatehouse.service',
      word: 'Gatehouse',
      does: 'serves the console and the API',
      mark: 'good',
      said: 'runs',
      since: '2025-11-26T20:00:00.000Z',
      memory: 188_743_680,
      restarts: 2,
      may_restart: true,
    })
    expect(views.get('gatehouse-web.service')).toMatchObject({ mark: 'bad', memory: null, restarts: 9, since: null })
    expect(views.get('clamav-daemon.service')).toMatchObject({
      mark: 'bad',
      said: expect.stringContaining('no signatures') as string,
      memory: null,
    })
    expect(views.get('gatehouse-firewall.service')).toMatchObject({ mark: 'good', said: 'is set' })
    expect(views.get('avahi-daemon.service')).toMatchObject({ mark: 'unknown', may_restart: false })
    expect(views.get('chrony.service')).toMatchObject({ mark: 'unknown', said: 'systemd does not answer' })
  })
})

describe('disks', () => {
  test('are those that hold the path', () => {
    const mounts = `22 1 254:2 / / rw,relatime shared:1 - ext4 /dev/vda3 rw
40 22 254:4 / /data rw - ext4 /dev/vda5 rw
41 22 254:4 /repos /repos rw - ext4 /dev/vda5 rw
42 22 0:33 / /repository rw - tmpfs none rw`
    expect(deviceOf(mounts, '/repos')).toBe('/dev/vda5')
    expect(deviceOf(mounts, '/')).toBe('/dev/vda3')
    expect(deviceOf('', '/')).toBe('unknown')
  })

  test.for<readonly [number, string]>([
    [12, 'good'],
    [80, 'warning'],
    [95, 'bad'],
  ])('%i % full is %s', ([percent, mark]) => {
    expect(markFilled(percent).mark).toBe(mark)
  })
})

test('a machine of which nothing can be looked at is unknown, and never good', async () => {
  ports.said = { '': { code: null, out: '', err: 'it is not installed' } }
  const view = await readMachine(ports)
  expect([...Value.Errors(MachineView, view)]).toEqual([])
  const marks = [view.certificate, view.time, ...view.services].map(one => one.mark)
  expect(new Set(marks)).toEqual(new Set(['unknown']))
  expect(view.disks.find(one => one.name === 'packages')).toMatchObject({ mark: 'unknown', size: 0 })
  expect(view.hardware.model).toBe('unknown model')
})
