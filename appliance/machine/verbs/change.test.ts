import { lstat, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { AskedWith } from '../../../server/machine/protocol.ts'
import { findText, type Ran } from '../ports.ts'
import { testPorts, type Testing } from '../testing.ts'
import { NETWORK_FILE } from './network-pending.ts'
import { checkNetwork, hostsFile, keepNetwork, networkFile, setNetwork, watchPending } from './network.ts'
import { powerOff } from './power.ts'
import { restartService } from './services.ts'
import { setTime, withPools } from './time.ts'

const FAILED: Ran = { code: 1, out: '', err: 'it is broken' }
const CABLE = {
  'ip -j address':
    '[{"ifname":"enp1s0","flags":["LOWER_UP"],"link_type":"ether","addr_info":[{"local":"10.20.1.10","prefixlen":24,"scope":"global"}]}]',
  'networkctl --no-pager': 'Network File: /etc/systemd/network/80-wired.network\n',
}
const STATIC: AskedWith<'network.set'> = {
  host_name: 'packages.example.com',
  method: 'static',
  address: '10.20.1.20/24',
  gateway: '10.20.1.1',
  dns: ['10.20.1.1'],
}

let ports: Testing
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  ports = await testPorts()
  ports.said = CABLE
  await ports.put('/etc/hostname', 'gatehouse\n')
  await ports.put('/etc/hosts', '127.0.0.1 localhost\n127.0.1.1 gatehouse\n')
})
afterEach(async () => {
  vi.useRealTimers()
  await ports.close()
})

const files = (): Promise<(string | undefined)[]> =>
  Promise.all([NETWORK_FILE, '/etc/hostname', '/etc/hosts'].map(path => findText(ports, path)))
const EARLIER = [undefined, 'gatehouse\n', '127.0.0.1 localhost\n127.0.1.1 gatehouse\n']

describe('a change of the network', () => {
  test('is written, applied, and goes back after 90 seconds', async () => {
    const { goes_back_at } = await setNetwork(ports, STATIC)
    expect(goes_back_at).toBe('2026-11-26T20:01:30.000Z')
    expect(await files()).toEqual([
      expect.stringContaining('Address=10.20.1.20/24\nGateway=10.20.1.1\nDNS=10.20.1.1\n'),
      'packages.example.com\n',
      '127.0.0.1 localhost\n127.0.1.1 packages.example.com packages\n',
    ])
    expect(ports.ran.slice(-5)).toEqual([
      'hostname -F /etc/hostname',
      'networkctl reload',
      'networkctl reconfigure enp1s0',
      'systemctl --no-block try-restart avahi-daemon.service',
      'systemctl --no-block try-restart gatehouse-status.service',
    ])
    ports.clock.up += 90
    await vi.advanceTimersByTimeAsync(90_000)
    vi.useRealTimers()
    await vi.waitUntil(() => ports.lines.length > 0)
    expect(ports.lines).toEqual(['network: nobody kept the change, so what was before is again'])
    expect(await files()).toEqual(EARLIER)
  })

  test('stays when it is kept, and only then', async () => {
    await expect(keepNetwork(ports)).rejects.toMatchObject({ code: 'nothing_to_keep' })
    await setNetwork(ports, STATIC)
    const set = await files()
    expect(await keepNetwork(ports)).toEqual({ said: 'The network stays as it is now.' })
    ports.clock = { ...ports.clock, up: 5, boot: 'second' }
    await watchPending(ports)
    await vi.advanceTimersByTimeAsync(200_000)
    expect(await files()).toEqual(set)
  })

  test('goes back at once when the machine was restarted in between, and in its time when the program was', async () => {
    await setNetwork(ports, STATIC)
    const set = await files()
    // the program starts again, 30 seconds later; somebody sets the clock back
    ports.clock = { ...ports.clock, up: 1030, now: '2020-01-01T00:00:00.000Z' }
    await watchPending(ports)
    expect(await files()).toEqual(set)
    ports.clock.boot = 'second'
    ports.clock.up = 7
    await watchPending(ports)
    expect(await files()).toEqual(EARLIER)
  })

  test('after another that nobody kept goes back to what was before both', async () => {
    await setNetwork(ports, STATIC)
    await setNetwork(ports, { method: 'dhcp', host_name: 'third' })
    expect((await files())[1]).toBe('third\n')
    ports.clock.boot = 'second'
    await watchPending(ports)
    expect(await files()).toEqual(EARLIER)
  })

  test('that networkd does not take is not there', async () => {
    ports.said = { ...CABLE, 'networkctl reconfigure': FAILED }
    await expect(setNetwork(ports, STATIC)).rejects.toMatchObject({ code: 'program_failed' })
    expect((await files()).slice(0, 2)).toEqual(EARLIER.slice(0, 2))
  })

  test('is refused where another program keeps the network', async () => {
    ports.said = { ...CABLE, 'networkctl --no-pager': 'Network File: n/a\n' }
    await expect(setNetwork(ports, STATIC)).rejects.toMatchObject({ code: 'not_ours' })
    expect(await files()).toEqual(EARLIER)
  })
})

test.for<readonly [Partial<AskedWith<'network.set'>>, RegExp]>([
  [{ address: '10.20.1.20' }, /10\.20\.1\.10\/24/],
  [{ address: '10.20.1.300/24' }, /is written with/],
  [{ address: '10.20.1.20/33' }, /from 1 to 32/],
  [{ gateway: '10.20.2.1' }, /not another machine in the network/],
  [{ gateway: '10.20.1.20' }, /not another machine/],
  [{ gateway: 'fe80::1' }, /both are IPv4/],
  [{ dns: ['1.1.1'] }, /no address of a DNS server/],
  [{ method: 'dhcp' }, /leave both out/],
])('a network with %o is refused', ([part, message]) => {
  const asked = { ...STATIC, ...part } as AskedWith<'network.set'>
  expect(() => checkNetwork(asked)).toThrow(message)
})

test('the file of a cable by DHCP takes its own DNS servers where there are some', () => {
  expect(networkFile('eth0', { method: 'dhcp' })).not.toContain('UseDNS')
  expect(networkFile('eth0', { method: 'dhcp', dns: ['9.9.9.9'] })).toMatch(
    /DNS=9\.9\.9\.9\n[^]*\[DHCPv4\]\n[^]*UseDNS=no\n/,
  )
  expect(() => checkNetwork({ method: 'static', address: '2001:db8::5/64', gateway: 'fe80::1' })).not.toThrow()
  expect(hostsFile('127.0.0.1 localhost', 'a')).toBe('127.0.0.1 localhost\n127.0.1.1 a\n')
})

describe('the time', () => {
  const CONF = 'pool 2.debian.pool.ntp.org iburst\nsourcedir /etc/chrony/sources.d\nmakestep 1 3\n'
  test('comes from the servers that are named, and from those of Debian again', async () => {
    await ports.put('/etc/chrony/chrony.conf', CONF)
    await setTime(ports, { servers: ['10.20.1.1', 'time.example.com'] })
    expect(await findText(ports, '/etc/chrony/sources.d/gatehouse.sources')).toBe(
      'server 10.20.1.1 iburst\nserver time.example.com iburst\n',
    )
    expect(await findText(ports, '/etc/chrony/chrony.conf')).toBe(`#gatehouse# ${CONF}`)
    expect(withPools(withPools(CONF, false), false)).toBe(withPools(CONF, false))
    await setTime(ports, { servers: [] })
    expect(await findText(ports, '/etc/chrony/sources.d/gatehouse.sources')).toBeUndefined()
    expect(await findText(ports, '/etc/chrony/chrony.conf')).toBe(CONF)
    await expect(setTime(ports, { servers: ['10.20.1'] })).rejects.toMatchObject({ code: 'bad_server' })
  })

  test('has a zone that the machine knows', async () => {
    await ports.put('/usr/share/zoneinfo/Europe/Vienna', 'TZif2')
    await ports.put('/usr/share/zoneinfo/zone.tab', 'AT')
    expect(await setTime(ports, { zone: 'Europe/Vienna' })).toEqual({ said: 'The zone is Europe/Vienna.' })
    expect(await readlink(join(ports.root, 'etc/localtime'))).toBe('/usr/share/zoneinfo/Europe/Vienna')
    expect(await readFile(join(ports.root, 'etc/timezone'), 'utf8')).toBe('Europe/Vienna\n')
    for (const zone of ['Mars/Base', '../../../etc/hostname', 'zone.tab'])
      await expect(setTime(ports, { zone })).rejects.toMatchObject({ code: 'no_such_zone' })
    expect((await lstat(join(ports.root, 'etc/localtime'))).isSymbolicLink()).toBe(true)
  })

  test('is set by hand only while no server answers', async () => {
    ports.said = { 'chronyc -n -c sources': '^,*,10.20.1.1,2,6,377,33,0.0,0.0,0.0\n' }
    await expect(setTime(ports, { now: '2026-11-26T20:00:00Z' })).rejects.toMatchObject({ code: 'servers_answer' })
    expect(ports.ran.filter(line => line.startsWith('date'))).toEqual([])
    ports.said = { chronyc: FAILED }
    await setTime(ports, { now: '2026-11-26T20:00:00Z' })
    expect(ports.ran.slice(-2)).toEqual(['date --utc --set=@1795723200', 'hwclock --systohc --utc'])
  })
})

test('services of the appliance are restarted, and no others', async () => {
  expect(await restartService(ports, { unit: 'gatehouse-web.service' })).toEqual({ said: 'nginx was restarted.' })
  // the daemon hears the answer before it ends
  await restartService(ports, { unit: 'gatehouse.service' })
  expect(ports.ran).toEqual([
    'systemctl restart gatehouse-web.service',
    'systemd-run --quiet --collect --on-active=1s systemctl restart gatehouse.service',
  ])
  for (const unit of ['ssh.service', 'gatehouse.service; reboot', '--help'])
    await expect(restartService(ports, { unit })).rejects.toMatchObject({ code: 'not_allowed' })
  ports.said = { 'systemctl restart': FAILED }
  await expect(restartService(ports, { unit: 'chrony.service' })).rejects.toThrow(/it is broken\. journalctl/)
  expect(await powerOff(ports)).toMatchObject({ said: expect.stringContaining('switches itself off') as string })
})
