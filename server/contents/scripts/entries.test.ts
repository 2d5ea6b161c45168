import { expect, test } from 'vitest'
import { posixTar } from '../../../test/support/packages-apk.ts'
import { LIMITS } from '../limits.ts'
import { memoryFile } from '../open-file.ts'
import { sourceOfFile } from '../source.ts'
import { tarFiles } from '../archives/tar.ts'
import { entryFacts } from './entries.ts'

test('capabilities in the pax header of a tar, whose bytes are no text', async () => {
  // revision 2, effective; permitted: setgid (6), setuid (7), net_raw (13)
  const value = Buffer.alloc(20)
  value.writeUInt32LE(0x02000001, 0)
  value.writeUInt32LE(0b10_0000_1100_0000, 4)
  const record = Buffer.concat([Buffer.from(' SCHILY.xattr.security.capability='), value, Buffer.from('\n')])
  const length = record.length + 2
  const body = Buffer.concat([Buffer.from(String(length)), record])
  const bytes = posixTar([
    { name: 'PaxHeaders/newuidmap', type: 'x', body },
    { name: 'usr/bin/newuidmap', body: 'x', mode: 0o755 },
    { name: 'dev/null', type: '3', mode: 0o666 },
    { name: 'tmp/', type: '5', mode: 0o1777 },
    { name: 'srv/open/', type: '5', mode: 0o777 },
  ])
  const facts: string[] = []
  const source = sourceOfFile(memoryFile('data.tar', bytes))
  for await (const member of tarFiles(source, { place: '', entries: LIMITS.entries })) {
    if ('why' in member || member.entry === undefined) continue
    const path = 'other' in member ? member.other : member.path
    for (const { kind, text } of entryFacts(path, member.entry)) facts.push(`${path} ${kind} ${text}`)
  }
  expect(facts).toEqual([
    'usr/bin/newuidmap capability_file cap_setgid,cap_setuid,cap_net_raw',
    'dev/null device_file character device',
    'srv/open world_writable_file folder, mode 0777',
  ])
})

test('keys let somebody log in where sshd and dropbear look for them', () => {
  const entry = { type: 'file', mode: 0o644 } as const
  const kinds = (path: string) => entryFacts(path, entry).map(({ kind }) => kind)
  const read = [
    'root/.ssh/authorized_keys',
    'home/bob/.ssh/rc',
    'var/lib/postgresql/.ssh/authorized_keys2',
    'etc/ssh/authorized_keys/bob',
    'etc/dropbear/authorized_keys',
  ]
  expect(read.flatMap(kinds)).toEqual(read.map(() => 'ssh_key_file'))
  expect(kinds('usr/share/doc/r-cran-openssl/tests/keys/authorized_keys')).toEqual([])
})
