import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { testPorts, type Testing } from '../testing.ts'
import { configurationOf, readRemoteLog, setRemoteLog } from './remote-log.ts'

let ports: Testing
beforeEach(async () => {
  ports = await testPorts()
})
afterEach(() => ports.close())

const TCP = { host: 'logs.corp.example', port: 6514, protocol: 'tcp' } as const
const read = (name: string): Promise<string> => readFile(join(ports.root, 'etc/gatehouse/remote-log', name), 'utf8')

test('is written for rsyslog, looked at by it, and started', async () => {
  expect(await setRemoteLog(ports, { target: TCP })).toEqual({
    said: 'The log goes to logs.corp.example, port 6514, by tcp, from now on.',
  })
  expect(await read('rsyslog.conf')).toMatch(
    /Target="logs.corp.example" Port="6514" Protocol="tcp"[^]*maxDiskSpace="500m"/,
  )
  expect(ports.ran).toEqual([
    'rsyslogd -N1 -f /etc/gatehouse/remote-log/rsyslog.conf',
    'systemctl restart gatehouse-log.service',
  ])
  ports.said = { 'ss ': 'ESTAB' }
  expect(await readRemoteLog(ports)).toEqual({ ...TCP, mark: 'good', said: 'It is connected.' })
})

test('says what waits on disk while nobody takes it, and by UDP that nobody knows', async () => {
  await setRemoteLog(ports, { target: TCP })
  await ports.put('/var/lib/gatehouse-log/remote.00000001', 'x'.repeat(2_000_000))
  expect(await readRemoteLog(ports)).toMatchObject({
    mark: 'warning',
    said: 'It is not connected: look at the address, the port and the firewall there. 2.0 MB wait on disk, and there is room for 500 MB.',
  })
  await setRemoteLog(ports, { target: { ...TCP, protocol: 'udp' } })
  expect(await readRemoteLog(ports)).toMatchObject({ mark: 'unknown', said: expect.stringContaining('by UDP') })
  ports.said = { 'systemctl is-active': { code: 3, out: 'failed\n', err: '' } }
  expect(await readRemoteLog(ports)).toMatchObject({ mark: 'bad', said: expect.stringContaining('failed') })
})

test('stays on the machine again', async () => {
  await setRemoteLog(ports, { target: TCP })
  await setRemoteLog(ports, { target: null })
  expect(await readRemoteLog(ports)).toBeNull()
  await expect(read('rsyslog.conf')).rejects.toThrow('ENOENT')
})

test.each([
  [{ ...TCP, host: '999.1.1.1' }, 'neither an address nor a name'],
  [{ ...TCP, host: '10.1.1.1', protocol: 'tls' as const }, 'by its name'],
  [{ ...TCP, authority: 'x' }, 'only looked at with TLS'],
  [{ ...TCP, protocol: 'tls' as const, authority: 'x' }, 'has to be PEM'],
])('refuses %j', async (target, why) => {
  await expect(setRemoteLog(ports, { target })).rejects.toThrow(why)
  expect(ports.ran).toEqual([])
})

test('goes on to the target of before when rsyslog does not take the new one', async () => {
  await setRemoteLog(ports, { target: TCP })
  const before = await read('rsyslog.conf')
  ports.said = { rsyslogd: { code: 1, out: '', err: 'error during parsing' } }
  await expect(setRemoteLog(ports, { target: { ...TCP, port: 1 } })).rejects.toThrow('error during parsing')
  expect(await read('rsyslog.conf')).toBe(before)
  expect(ports.ran.at(-1)).toBe('systemctl restart gatehouse-log.service')
})

test('asks for the name of the server with TLS, by the authority that was given or those that Debian knows', () => {
  const tls = configurationOf({ ...TCP, protocol: 'tls' })
  expect(tls).toContain('StreamDriverAuthMode="x509/name" StreamDriverPermittedPeers="logs.corp.example"')
  expect(tls).toContain('DefaultNetstreamDriverCAFile="/etc/ssl/certs/ca-certificates.crt"')
  expect(configurationOf({ ...TCP, protocol: 'tls', authority: 'pem' })).toContain('remote-log/authority.pem')
})
