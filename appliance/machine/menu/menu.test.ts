import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Verb } from '../../../server/machine/protocol.ts'
import type { Ask } from '../ask.ts'
import { findText, Refused, type Ran } from '../ports.ts'
import { testPorts, type Testing } from '../testing.ts'
import { RESET_MARK } from '../verbs/factory.ts'
import { readMachine } from '../verbs/read.ts'
import { runMenu } from './choices.ts'
import { Back, createTerminal, Gone } from './terminal.ts'

let ports: Testing
let asked: [Verb, unknown][]
let answers: Partial<Record<Verb, { said: string } | Refused>>

beforeEach(async () => {
  ports = await testPorts()
  asked = []
  answers = {}
  await ports.put('/etc/hostname', 'gatehouse-54ec\n')
})
afterEach(() => ports.close())

const ask = (async (verb: Verb, given: unknown) => {
  if (verb === 'machine.read') return readMachine(ports)
  asked.push([verb, given])
  const answer = answers[verb]
  if (answer instanceof Refused) throw answer
  return answer ?? { said: `${verb} is done` }
}) as unknown as Ask

/** Types lines into the menu until it ends. @returns what the screen showed */
async function type(...lines: readonly string[]): Promise<string> {
  const input = new PassThrough()
  const output = new PassThrough()
  let shown = ''
  output.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const terminal = createTerminal(input as unknown as NodeJS.ReadStream, output as unknown as NodeJS.WriteStream)
  input.end(lines.map(line => `${line}\n`).join(''))
  const ended: unknown = await runMenu({ terminal, ports, ask }).catch((error: unknown) => error)
  terminal.close()
  if (!(ended instanceof Back || ended instanceof Gone)) throw ended
  return shown
}

test('shows what there is to choose, and Enter leaves it', async () => {
  const shown = await type('')
  expect(shown).toContain('Gatehouse on gatehouse-54ec')
  expect([...shown.matchAll(/^ +(\d+) {2}/gm)].map(([, n]) => n)).toEqual([...Array(11).keys()].map(n => `${n + 1}`))
  expect(asked).toEqual([])
})

test('says what may be typed, and goes on after a refusal', async () => {
  answers['power.restart'] = new Refused('busy', 'An update is at work.')
  const shown = await type('12', 'reboot', '10', 'yes', '')
  expect(shown.match(/Type a number from 1 to 11/g)).toHaveLength(2)
  expect(shown).toContain('An update is at work.')
  expect(asked).toEqual([['power.restart', {}]])
})

test('does nothing that is not confirmed', async () => {
  expect(await type('10', 'y', '11', '', '')).toContain('Nothing was done.')
  await type('9', 'gatehouse', '9', '')
  expect(asked).toEqual([])
  expect(await findText(ports, RESET_MARK)).toBeUndefined()
})

test('sets a fixed address, shows what came of it, and keeps it', async () => {
  await type('1', '2', '10.20.1.20/24', '10.20.1.1', '10.20.1.1, 9.9.9.9', 'yes', '')
  const wish = { method: 'static', address: '10.20.1.20/24', gateway: '10.20.1.1', dns: ['10.20.1.1', '9.9.9.9'] }
  expect(asked).toEqual([
    ['network.set', wish],
    ['network.keep', {}],
  ])
})

test('a change of the network that nobody keeps goes back', async () => {
  expect(await type('1', '3', 'Packages', '', '')).toContain('It goes back by itself.')
  expect(asked).toEqual([['network.set', { method: 'dhcp', host_name: 'packages' }]])
})

test('sets zone, servers and clock', async () => {
  await type(
    '2',
    '1',
    'Europe/Vienna',
    '2',
    '2',
    '10.20.1.1 time.example.com',
    '2',
    '3',
    'yesterday',
    '2',
    '3',
    '2026-11-26 20:15',
    '',
  )
  expect(asked).toEqual([
    ['time.set', { zone: 'Europe/Vienna' }],
    ['time.set', { servers: ['10.20.1.1', 'time.example.com'] }],
    ['time.set', { now: '2026-11-26T20:15:00.000Z' }],
  ])
})

test('makes a setup token before the first admin, and none after', async () => {
  await ports.put('/etc/gatehouse/secrets', 'JWT_SECRET_KEY=a\nSETUP_TOKEN=old\nMETRICS_TOKEN=b\n')
  ports.said = { curl: '{"needs_setup":true}' }
  const shown = await type('4', 'yes', '')
  const [, token = ''] = /Setup token {2}(\S+)/.exec(shown) ?? []
  expect(token).toMatch(/^[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){3}$/)
  expect(await findText(ports, '/etc/gatehouse/secrets')).toBe(
    `JWT_SECRET_KEY=a\nMETRICS_TOKEN=b\nSETUP_TOKEN=${token}\n`,
  )
  expect(ports.ran.at(-1)).toBe('systemctl restart gatehouse.service')
  for (const said of ['{"needs_setup":false}', '']) {
    ports.said = { curl: said }
    expect(await type('4', 'yes', '')).toMatch(/There is an admin already|does not answer/)
  }
  expect(await findText(ports, '/etc/gatehouse/secrets')).toContain(token)
})

const ADMINS = JSON.stringify([
  { username: 'ada', origin: 'local', active: true, is_locked: true, mfa_enabled: true },
  { username: 'cem', origin: 'ldap', active: true, is_locked: false, mfa_enabled: false },
])
/** What the program of the bundle says, by what it is asked. */
const AS_DAEMON = (words: string): string =>
  `systemd-run --quiet --wait --pipe --collect --uid=gatehouse --property=UMask=0027 --property=NoNewPrivileges=yes --property=ProtectSystem=full --working-directory=/var/lib/gatehouse --setenv=ENV=production --setenv=DATABASE_URL=postgres:///gatehouse?host=/run&user=gatehouse --property=EnvironmentFile=/opt/gatehouse/current/release --property=EnvironmentFile=/etc/gatehouse/secrets --property=EnvironmentFile=-/etc/gatehouse/environment /opt/gatehouse/current/bin/node /opt/gatehouse/current/server/${words}`
const ENVIRONMENT = {
  'systemctl show --property=Environment':
    'ENV=production "DATABASE_URL=postgres:///gatehouse?host=/run&user=gatehouse"\n',
}

test('helps an admin to a new password, which stands in no journal', async () => {
  ports.said = {
    ...ENVIRONMENT,
    [AS_DAEMON('admin.mjs list --json')]: ADMINS,
    [AS_DAEMON('admin.mjs password ada')]: 'AAAAA-BBBBB-CCCCC-DDDDD\n',
    [AS_DAEMON('admin.mjs mfa ada')]: 'ada signs in with the password alone now.\n',
  }
  const shown = await type('5', '1', 'yes', '', '6', '1', 'yes', '')
  expect(shown).toContain('1  ada (locked, second factor)')
  expect(shown).not.toContain('cem')
  expect(shown).toContain('New password of ada:  AAAAA-BBBBB-CCCCC-DDDDD')
  expect(shown).toContain('ada signs in with the password alone now.')
  expect(ports.lines).toEqual(['screen: the password of ada was reset', 'screen: the second factor of ada was removed'])
})

test('restores a backup while the service stands still, which runs afterwards in any case', async () => {
  await ports.put('/repos/backups/gatehouse_backup_20261125.tar.gz.age', 'x')
  const program = AS_DAEMON(
    'restore.mjs /repos/backups/gatehouse_backup_20261125.tar.gz.age --passphrase-file /run/gatehouse-machine/passphrase',
  )
  const failed: Ran = { code: 1, out: '', err: 'The passphrase is wrong.\n' }
  ports.said = { ...ENVIRONMENT, [program]: failed }
  const shown = await type('7', '1', 'a secret', 'yes', '')
  expect(shown).toContain('The passphrase is wrong.')
  expect(ports.ran.filter(line => !line.startsWith('systemctl show'))).toEqual([
    'systemctl start gatehouse-postgres.service',
    'systemctl stop gatehouse.service',
    'install -o gatehouse -m 400 /dev/stdin /run/gatehouse-machine/passphrase',
    program,
    'rm -f /run/gatehouse-machine/passphrase',
    'systemctl --no-block start gatehouse.service',
  ])
  expect(ports.ran.join('\n')).not.toContain('a secret')
})

test('writes a support bundle without secrets', async () => {
  await ports.put('/etc/gatehouse/secrets', 'JWT_SECRET_KEY=0123456789abcdef\n')
  ports.said = { journalctl: 'a line with 0123456789abcdef in it\n', tar: { code: 1, out: '', err: 'no space' } }
  const shown = await type('8', '1', '')
  expect(shown).toContain('no space')
  // what was packed is gone, also after an error
  expect(await findText(ports, '/run/gatehouse-machine/support')).toBeUndefined()
})

test('a reset is marked, and done at the next start', async () => {
  await type('9', 'gatehouse-54ec', '')
  expect(await findText(ports, RESET_MARK)).toBe('2026-11-26T20:00:00.000Z\n')
  expect(ports.ran.at(-1)).toBe('systemctl reboot')
})

test('settings of a stick are shown, and taken once that is said', async () => {
  expect(await type('3', '')).toContain(
    'No stick whose label begins with GATEHOUSE is in that has a file gatehouse.ini.',
  )
  const path = join(ports.root, '/run/gatehouse-media/A')
  await ports.put('/run/gatehouse-media/A/gatehouse.ini', 'zone = Europe/Vienna\n')
  await ports.put('/usr/share/zoneinfo/Europe/Vienna', 'TZif2')
  const files = [{ path: 'gatehouse.ini', kind: 'seed', size: 1, modified_at: '' }]
  const stick = {
    id: 'A',
    label: 'GATEHOUSE-C',
    device: '/dev/sda',
    file_system: 'vfat',
    size: 1,
    path,
    files,
    said: '',
  }
  await ports.put('/run/gatehouse-media/.catalogue/A.json', JSON.stringify(stick))
  expect(await type('3', 'no', '')).toContain('The stick GATEHOUSE-C gives:\n  zone Europe/Vienna')
  expect(await findText(ports, '/etc/timezone')).toBeUndefined()
  expect(await type('3', 'yes', '')).toContain('Done. The stick may be pulled out.')
  expect(await findText(ports, '/etc/timezone')).toBe('Europe/Vienna\n')
})
