import { expect, test } from 'vitest'
import { readSeed } from './seed-file.ts'

const KEY = `ssh-ed25519 ${Buffer.concat([Buffer.from([0, 0, 0, 11]), Buffer.from('ssh-ed25519'), Buffer.from([0, 0, 0, 32]), Buffer.alloc(32, 7)]).toString('base64')} ada@desk`
const read = (text: string | Buffer) => readSeed(Buffer.from(text), zone => zone === 'Europe/Vienna')

test('everything that a seed can say', () => {
  expect(
    read(
      `\ufeff# of the new machine\r\nhost_name = packages.example.com\r\naddress = 10.20.1.20/24\r\ngateway = 10.20.1.1\r\ndns = 10.20.1.2, 10.20.1.3\r\n; the time\r\ntime_servers = ntp1.example.com ntp2.example.com\r\nzone = Europe/Vienna\r\nauthorized_key = ${KEY}\r\nssh_from = 10.20.0.0/16, fd00::/8\r\n`,
    ),
  ).toEqual({
    seed: {
      network: {
        host_name: 'packages.example.com',
        method: 'static',
        address: '10.20.1.20/24',
        gateway: '10.20.1.1',
        dns: ['10.20.1.2', '10.20.1.3'],
      },
      time: { zone: 'Europe/Vienna', servers: ['ntp1.example.com', 'ntp2.example.com'] },
      keys: [KEY],
      sshFrom: ['10.20.0.0/16', 'fd00::/8'],
    },
  })
})

test('what is not named stays as it is', () => {
  expect(read('zone = Europe/Vienna')).toEqual({
    seed: { network: undefined, time: { zone: 'Europe/Vienna' }, keys: [], sshFrom: [] },
  })
  expect(read('host_name = packages\naddress = DHCP')).toMatchObject({
    seed: { network: { host_name: 'packages', method: 'dhcp' }, time: undefined },
  })
})

test('every fault is said with its line, and nothing is taken', () => {
  const found = read(
    [
      'hostname = x',
      'host_name = -x',
      'zone = Mars/Olympus',
      'root_password = 123',
      'authorized_key = command="/bin/sh" ssh-ed25519 AAAA',
      'ssh_from = everybody',
      'dns =',
      'nonsense',
    ].join('\n'),
  )
  expect(found).toEqual({
    faults: [
      { line: 1, said: expect.stringMatching(/^hostname is not known\. Known are host_name, address,/) },
      { line: 2, said: 'host_name: “-x” is not a host name in lower case.' },
      { line: 3, said: 'This machine knows no zone Mars/Olympus. Zones are named as Europe/Vienna.' },
      { line: 4, said: expect.stringMatching(/^root_password: a stick never holds a password/) },
      { line: 5, said: 'authorized_key is one public key without options, as a file id_ed25519.pub has it.' },
      { line: 6, said: 'ssh_from: “everybody” is no network. Write it as 10.0.0.0/8.' },
      { line: 7, said: 'dns has no value. Leave the line out.' },
      { line: 8, said: 'This is no line of the form name = value.' },
    ],
  })
})

test.each([
  ['address = 10.20.1.20', 'address: “10.20.1.20” is not an address with its prefix length, such as 10.20.1.10/24.'],
  [
    'address = 10.20.1.20/24\ngateway = 10.30.1.1',
    'The gateway 10.30.1.1 is not another machine in the network of 10.20.1.20/24. Look at both again.',
  ],
  [
    'gateway = 10.20.1.1',
    'With DHCP the address and the gateway come from the network: leave both out, or take a fixed address.',
  ],
  ['zone = Europe/Vienna\nzone = Europe/Vienna', 'zone stands there twice.'],
  ['time_servers = "ntp"', 'time_servers: “"ntp"” is not an address or a host name.'],
  ['zone = ../../etc/shadow', 'zone: “../../etc/shadow” is not a zone such as Europe/Berlin.'],
  ['ssh_from = 10.0.0.0/8', 'ssh_from without an authorized_key lets nobody in.'],
  [
    `authorized_key = ${KEY.replace('ssh-ed25519', 'ssh-rsa')}`,
    'authorized_key is one public key without options, as a file id_ed25519.pub has it.',
  ],
  [
    'authorized_key = -----BEGIN OPENSSH PRIVATE KEY-----',
    'A private key never leaves the machine where it was made. authorized_key takes the public one.',
  ],
  ['# nothing', 'There is nothing in the file.'],
  ['\u001b[2J', 'This is no line of the form name = value.'],
  ['[network]', 'This file has no sections. Leave the line out.'],
  ['dns = ,', 'dns has no value. Leave the line out.'],
  ['dns = 1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4 1.1.1.5', 'dns: there are at most 4.'],
  ['host_name = packages ; the new one', 'host_name: “packages ; the new one” is not a host name in lower case.'],
  ['host_name = \u202Emoc', 'host_name: “\\u{202e}moc” is not a host name in lower case.'],
  [`host_name = ${'x'.repeat(60_000)}`, `host_name: “${'x'.repeat(60)}…” is not a host name in lower case.`],
])('%j is refused', (text, said) => {
  expect(read(text)).toEqual({ faults: [expect.objectContaining({ said })] })
})

test('a file that is too long or no text is refused whole', () => {
  expect(read('#'.repeat(64 * 1024 + 1))).toEqual({ faults: [{ said: 'The file is longer than 64 KB.' }] })
  expect(read(Buffer.from([0xff, 0xfe, 0x41]))).toEqual({ faults: [{ said: 'The file is no text in UTF-8.' }] })
})

test.each(['fe80::1%eth0/64', '10.0.0.0/08', '10.0.0.0/33', '::/129', '10.0.0.0', '10.0.0.0/8;', '/8'])(
  'SSH is not opened for %s, which the firewall would not load',
  network => {
    const said = `ssh_from: “${network}” is no network. Write it as 10.0.0.0/8.`
    expect(read(`authorized_key = ${KEY}\nssh_from = ${network}`)).toEqual({ faults: [{ line: 2, said }] })
  },
)

test('lines of every system are read, also with empty ones between, and sections are named', () => {
  const seed = { network: undefined, time: { zone: 'Europe/Vienna' }, keys: [KEY], sshFrom: [] }
  for (const end of ['\n', '\r\n', '\r', '\n\n  \n'])
    expect(read(['zone = Europe/Vienna', `authorized_key = ${KEY}`, ''].join(end))).toEqual({ seed })
  expect(read('[network]\nzone = Europe/Vienna\n[network]\n')).toMatchObject({ faults: [{ line: 1 }, { line: 3 }] })
})

test('a text of Windows in UTF-16, and one with NUL, is none', () => {
  const said = 'The file is no text in UTF-8.'
  expect(read(Buffer.from('\ufeffzone = Europe/Vienna', 'utf16le'))).toEqual({ faults: [{ said }] })
  expect(read('zone = Europe/Vienna\0')).toEqual({ faults: [{ said }] })
})

test('nothing of a secret that went astray is repeated, for the screen and the journal show it', () => {
  const secret = 'b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW'
  const lines = [
    ...['-----BEGIN OPENSSH PRIVATE KEY-----', secret, `${secret.slice(0, 30)}=`, `${secret.slice(0, 20)}==`],
    ...[
      'root hunter2',
      'password = hunter2',
      'PSK = hunter2',
      'wifi = hunter2',
      'authorized_key = hunter2',
      `api_token=${secret}`,
    ],
  ]
  const found = read(lines.join('\n'))
  expect('faults' in found && found.faults.map(({ line }) => line)).toEqual(lines.map((_, n) => n + 1))
  for (const part of ['hunter2', secret.slice(0, 20), 'PSK']) expect(JSON.stringify(found)).not.toContain(part)
})
