import { mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeCatalogue } from './medium.ts'
import { findText } from './ports.ts'
import { FIRST_START, SEED_SHOWN, takeSeed } from './seed.ts'
import { testPorts, type Testing } from './testing.ts'
import { MEDIA } from './verbs/media.ts'
import { NETWORK_FILE } from './verbs/network-pending.ts'
import { AUTHORIZED_KEYS, SSH_RULES } from './verbs/seed.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH ada@desk'

let ports: Testing
beforeEach(async () => {
  ports = await testPorts()
  ports.said = {
    'ip -j address': '[{"ifname":"enp1s0","flags":["LOWER_UP"],"link_type":"ether","addr_info":[]}]',
    'networkctl --no-pager': 'Network File: /etc/systemd/network/80-wired.network\n',
  }
  await ports.put(FIRST_START, '')
  await ports.put('/etc/hostname', 'gatehouse-1\n')
  await ports.put('/etc/hosts', '127.0.0.1 localhost\n127.0.1.1 gatehouse-1\n')
  await ports.put('/etc/chrony/chrony.conf', 'pool 2.debian.pool.ntp.org iburst\n')
  await ports.put('/usr/share/zoneinfo/Europe/Vienna', 'TZif2')
})
afterEach(() => ports.close())

async function plug(id: string, text: string): Promise<void> {
  const path = join(ports.root, MEDIA, id)
  await mkdir(path, { recursive: true })
  await writeFile(join(path, 'gatehouse.ini'), text)
  const state = join(ports.root, `state-${id}`)
  await writeFile(state, `id=${id}\nlabel=GATEHOUSE-CONFIG\nfile_system=ext4\ndevice=/dev/sd${id}\npath=${path}\n`)
  await writeCatalogue(state, join(ports.root, MEDIA, '.catalogue'))
}
const start = (): Promise<void> => takeSeed(ports)
const SEED = `host_name = packages\naddress = 10.20.1.20/24\ngateway = 10.20.1.1\ndns = 10.20.1.2\nzone = Europe/Vienna\ntime_servers = ntp.example.com\nauthorized_key = ${KEY}\nssh_from = 10.20.0.0/16\n`

test('a stick gives a machine its network, time and keys', async () => {
  await plug('a', SEED)
  await start()
  expect(await findText(ports, SEED_SHOWN)).toBe(
    'The stick GATEHOUSE-CONFIG gave: name packages; address 10.20.1.20/24; DNS 10.20.1.2; zone Europe/Vienna; time from ntp.example.com; 1 key for SSH as root; SSH from 10.20.0.0/16.\nIt may be pulled out.\n',
  )
  expect(await findText(ports, NETWORK_FILE)).toContain('Address=10.20.1.20/24\nGateway=10.20.1.1\nDNS=10.20.1.2\n')
  expect(await findText(ports, '/etc/hostname')).toBe('packages\n')
  expect(await findText(ports, '/etc/timezone')).toBe('Europe/Vienna\n')
  expect(await findText(ports, AUTHORIZED_KEYS)).toBe(`${KEY}\n`)
  expect((await stat(join(ports.root, AUTHORIZED_KEYS))).mode & 0o777).toBe(0o600)
  expect(await findText(ports, SSH_RULES)).toBe(
    'add rule inet gatehouse input ip saddr 10.20.0.0/16 tcp dport 22 accept\n',
  )
  expect(ports.ran).toContain('systemctl enable ssh.service')
  expect(await findText(ports, FIRST_START)).toBeUndefined()
  // who gave the stick stands there: nothing goes back
  expect(await findText(ports, '/var/lib/gatehouse-machine/network.json')).toBeUndefined()
})

test('keys that are there stay', async () => {
  await ports.put(AUTHORIZED_KEYS, 'ssh-rsa AAAA of before\n')
  await plug('a', `authorized_key = ${KEY}`)
  await start()
  expect(await findText(ports, AUTHORIZED_KEYS)).toBe(`ssh-rsa AAAA of before\n${KEY}\n`)
  expect(ports.ran).toEqual([])
})

test('with a fault nothing is changed, the screen says which, and it may be plugged in again', async () => {
  await plug('a', SEED.replace('zone = Europe/Vienna', 'zone = Mars/Olympus'))
  await start()
  expect(await findText(ports, SEED_SHOWN)).toBe(
    'gatehouse.ini of the stick GATEHOUSE-CONFIG is not taken, and nothing was changed:\nLine 5: This machine knows no zone Mars/Olympus. Zones are named as Europe/Vienna.\n',
  )
  expect(ports.ran).toEqual([])
  for (const path of [NETWORK_FILE, AUTHORIZED_KEYS, SSH_RULES]) expect(await findText(ports, path)).toBeUndefined()
  expect(await findText(ports, FIRST_START)).toBe('')
  await plug('a', 'zone = Europe/Vienna')
  await start()
  expect(await findText(ports, '/etc/timezone')).toBe('Europe/Vienna\n')
})

test('of two sticks none is taken', async () => {
  await plug('a', SEED)
  await plug('b', SEED)
  await start()
  expect(await findText(ports, SEED_SHOWN)).toBe(
    'Two sticks have a gatehouse.ini: GATEHOUSE-CONFIG in /dev/sda and GATEHOUSE-CONFIG in /dev/sdb. Pull one out.\n',
  )
  expect(ports.ran).toEqual([])
})

test('a file that became a link is not read', async () => {
  await plug('a', SEED)
  const file = join(ports.root, MEDIA, 'a', 'gatehouse.ini')
  const elsewhere = join(ports.root, 'elsewhere')
  await writeFile(elsewhere, await readFile(file))
  await rm(file)
  await symlink(elsewhere, file)
  await start()
  expect(await findText(ports, SEED_SHOWN)).toContain('cannot be read (ELOOP)')
  expect(ports.ran).toEqual([])
})

test('a stick without one changes nothing, and says nothing', async () => {
  await start()
  expect(await findText(ports, FIRST_START)).toBe('')
  expect(await findText(ports, SEED_SHOWN)).toBeUndefined()
})
