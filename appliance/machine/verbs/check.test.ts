import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { chmod, chown } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { lookAtAppArmor, lookAtFirewall, lookAtJournal, lookAtSsh, lookAtUnits } from '../check/guards.ts'
import { lookAtFiles, lookAtPasswords } from '../check/laid.ts'
import { lookAtReleases } from '../check/releases.ts'
import { lookAtSignatures, lookAtUpdates } from '../check/state.ts'
import { readDebian, updateDebian } from '../update/debian.ts'
import { testPorts, type Testing } from '../testing.ts'
import { checkMachine, findingsOf, LOOKS } from './check.ts'

let ports: Testing
beforeEach(async () => {
  ports = await testPorts()
})
afterEach(() => ports.close())
const failing = { code: null, out: '', err: 'cannot be started' }

test('what cannot be looked at is unknown or not well, and never left out', async () => {
  ports.said = { '': failing, ' ': failing, 'nft': failing, 'systemctl': failing, 'systemd-analyze': failing }
  const found = await checkMachine(ports)
  for (const [what] of LOOKS.filter(([what]) => !['Services', 'Hardening', 'Remote log', 'SSH', 'Disk'].includes(what)))
    expect(found.map(one => one.what)).toContain(what)
  expect(found.filter(({ mark, way_out }) => mark === 'good' || way_out === '')).toEqual([])
})

test('is asked at most every ten minutes by the console', async () => {
  await findingsOf(ports)
  const { length } = ports.ran
  await findingsOf(ports)
  expect(ports.ran).toHaveLength(length)
  ports.clock.up += 601
  await findingsOf(ports)
  expect(ports.ran.length).toBeGreaterThan(length)
})

describe('files', () => {
  const isRoot = process.getuid?.() === 0
  test.skipIf(!isRoot)('are compared by digest, mode and owner', async () => {
    const path = '/usr/lib/gatehouse/status'
    await ports.put(path, 'as laid')
    await chmod(join(ports.root, path), 0o755)
    const digest = createHash('sha256').update('as laid').digest('hex')
    await ports.put('/usr/lib/gatehouse/digests', `${digest} 755 ${path}\n`)
    expect(await lookAtFiles(ports)).toEqual([])
    await chown(join(ports.root, path), 1, 0)
    expect(await lookAtFiles(ports)).toMatchObject([{ mark: 'bad', said: expect.stringContaining(path) }])
  })
  test('are unknown without the list', async () => {
    expect(await lookAtFiles(ports)).toMatchObject([{ mark: 'unknown' }])
  })
})

test('an account with a password, or with none at all, is found', async () => {
  await ports.put('/etc/shadow', 'root:!*:1::::::\nann:$y$j9T$x:1::::::\nbob::1::::::\ndaemon:*:1::::::\n')
  expect((await lookAtPasswords(ports)).map(({ said }) => said)).toEqual([
    'ann can sign in with a password.',
    'bob signs in without a password.',
  ])
})

test('a unit that is off, and one that failed, are found', async () => {
  await ports.put('/usr/lib/gatehouse/units', 'a.service\nb.service\n')
  ports.said = {
    'systemctl show': 'Id=a.service\nUnitFileState=enabled\n\nId=b.service\nUnitFileState=disabled\n',
    'systemctl list-units': 'systemd-remount-fs.service loaded failed failed\nc.service loaded failed failed C\n',
  }
  expect((await lookAtUnits(ports)).map(({ said }) => said)).toEqual(['b.service is disabled.', 'c.service failed.'])
})

test.each([
  ['table { counter packets 7 bytes 9 }', 'table { counter packets 0 bytes 0 }', []],
  ['table { }', 'table { drop }', ['bad']],
  [{ code: 1, out: '', err: 'No such file' }, 'table', ['bad']],
  ['table', { code: 1, out: '', err: 'syntax error' }, ['unknown']],
  [failing, 'table', ['unknown']],
] as const)('rules of the firewall: %j loaded, %j wanted', async (loaded, wanted, marks) => {
  ports.said = { nft: loaded, unshare: wanted }
  expect((await lookAtFirewall(ports)).map(({ mark }) => mark)).toEqual(marks)
})

test('an nft that takes too long is not said to be missing', async () => {
  ports.said = { nft: { code: null, out: '', err: 'nft took longer than 120 seconds' }, unshare: 'table' }
  expect((await lookAtFirewall(ports)).map(({ said }) => said)).toEqual([
    'What is loaded cannot be told: nft took longer than 120 seconds.',
  ])
})

test('SSH is looked at where it runs', async () => {
  ports.said = { 'systemctl is-active': 'inactive\ninactive\n', 'sshd': 'passwordauthentication yes\n' }
  expect(await lookAtSsh(ports)).toEqual([])
  ports.said = { ...ports.said, 'systemctl is-active': 'active\ninactive\n' }
  expect(await lookAtSsh(ports)).toMatchObject([{ mark: 'bad', said: 'It takes passwords. It asks for passwords.' }])
})

test('the last value for journald counts', async () => {
  const ours = '[Journal]\nStorage=persistent\nSystemMaxUse=500M\nSystemKeepFree=1G\n'
  ports.said = { 'systemd-analyze': ours }
  expect(await lookAtJournal(ports)).toEqual([])
  ports.said = { 'systemd-analyze': `${ours}[Journal]\nSystemMaxUse=50G\n` }
  expect(await lookAtJournal(ports)).toMatchObject([{ said: 'journald has SystemMaxUse=50G in place of 500M.' }])
})

test('AppArmor enforces each profile', async () => {
  await ports.put('/sys/module/apparmor/parameters/enabled', 'Y\n')
  const profiles =
    'gatehouse (enforce)\ngatehouse-clamd (complain)\ngatehouse-freshclam (enforce)\n/usr/sbin/chronyd (enforce)\n'
  await ports.put('/sys/kernel/security/apparmor/profiles', profiles)
  expect((await lookAtAppArmor(ports)).map(({ said }) => said)).toEqual([
    'gatehouse-clamd only complains.',
    'gatehouse-log is not loaded.',
  ])
})

test('signatures that are missing or old are said', async () => {
  expect(await lookAtSignatures(ports)).toMatchObject([{ mark: 'bad' }])
  await ports.put('/var/lib/clamav/test.ndb', 'x')
  ports.said = {
    'systemctl show': 'Id=clamav-daemon.service\nActiveState=active\nSubState=running\nLoadState=loaded\n',
  }
  ports.clock.now = new Date(Date.now() + 1000).toISOString()
  expect(await lookAtSignatures(ports)).toEqual([])
  ports.clock.now = new Date(Date.now() + 20 * 86_400_000).toISOString()
  expect(await lookAtSignatures(ports)).toMatchObject([
    { mark: 'warning', said: expect.stringMatching(/(19|20) days old/) },
  ])
})

describe('security updates of Debian', () => {
  const NEXT =
    'Inst openssl [1] (2 Debian-Security:13/stable-security [amd64])\nInst linux-image-7 (7 Debian-Security:13/stable-security [amd64])\nInst linux-image-amd64 [6] (7 Debian-Security:13/stable-security [amd64])\nInst tzdata [1] (2 Debian:13 [all])\n'
  const looked = async (): Promise<void> => {
    await ports.put('/var/lib/apt/periodic/update-stamp', '')
    ports.clock.now = new Date(Date.now() + 1000).toISOString()
  }
  const asked = (): number => ports.ran.filter(line => line.startsWith('apt-get --simulate')).length

  test('are counted once for the same lists and packages, and the console shows what the check says', async () => {
    expect(await lookAtUpdates(ports)).toMatchObject([{ mark: 'unknown', said: 'Nobody has looked for them yet.' }])
    await looked()
    ports.said = { 'apt-get': NEXT }
    expect(await lookAtUpdates(ports)).toMatchObject([{ mark: 'warning', said: '2 security updates wait.' }])
    expect(await readDebian(ports)).toMatchObject({ waiting: 2, said: '2 security updates wait.' })
    expect(asked()).toBe(1)
    ports.said = {}
    await ports.put('/var/lib/dpkg/status', 'newer')
    expect(await lookAtUpdates(ports)).toEqual([])
    expect(asked()).toBe(2)
  })

  test('are unknown where apt does not say, and old ones are a warning', async () => {
    await looked()
    ports.said = { 'apt-get': failing }
    expect(await lookAtUpdates(ports)).toMatchObject([{ mark: 'unknown', said: 'apt does not say what waits.' }])
    ports.said = {}
    ports.clock.now = new Date(Date.now() + 5 * 86_400_000).toISOString()
    expect(await lookAtUpdates(ports)).toMatchObject([
      { mark: 'warning', said: expect.stringMatching(/looked for [45] days ago/) },
    ])
  })

  test('an archive that the window did not reach is said until somebody reaches it', async () => {
    await looked()
    ports.said = { 'apt-get -q update': failing }
    await updateDebian(ports, true)
    expect(await lookAtUpdates(ports)).toMatchObject([
      { mark: 'unknown', said: expect.stringContaining('not reached') },
    ])
    ports.clock.now = new Date(Date.now() - 60_000).toISOString()
    await updateDebian(ports, true)
    await looked()
    expect(await lookAtUpdates(ports)).toEqual([])
  })

  test('that could not be installed are counted, with what was said', async () => {
    ports.said = { 'apt-get --simulate': NEXT, 'unattended-upgrade': { code: 1, out: '', err: 'dpkg was interrupted' } }
    await updateDebian(ports, true)
    expect(await readDebian(ports)).toMatchObject({
      waiting: 2,
      said: '2 security updates wait. They were not installed: dpkg was interrupted',
    })
    ports.said = {}
    await updateDebian(ports, true)
    expect(await readDebian(ports)).toMatchObject({ waiting: 0, said: 'No security update waits.' })
  })
})

describe('a release', () => {
  const vendor = generateKeyPairSync('ed25519')
  const key = vendor.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const sha256 = 'ab'.repeat(32)
  const manifest = JSON.stringify({
    ...{ product: 'gatehouse-appliance', version: '1.1.0', processor: 'x64', made_at: '', updates_from: '0.0.0' },
    ...{ schema: '0001-first', changes: [], bundle: { name: 'gatehouse-1.1.0-linux-x64.tar.zst', size: 1, sha256 } },
  })
  const signature = sign(null, Buffer.from(manifest), vendor.privateKey).toString('base64')
  const put = (name: string, file: string, text: string) => ports.put(`/opt/gatehouse/releases/${name}/${file}`, text)
  const said = async (): Promise<string[]> => (await lookAtReleases(ports)).map(one => `${one.mark} ${one.said}`)
  const NAME = '1.1.0-abababababab'

  test('that came with the image, and one whose signature is right, are well', async () => {
    await put('1.0.0-old', 'release-key.pub', key)
    await ports.put('/usr/share/gatehouse/image', '1.0.0-old\n')
    await put(NAME, '.signed.json', JSON.stringify({ manifest, signature }))
    expect(await said()).toEqual([])
  })

  test('that provision.sh laid, one that was altered, and one without a key are named', async () => {
    expect(await said()).toEqual(['unknown There is no release in /opt/gatehouse/releases.'])
    await put(NAME, 'release', 'APP_VERSION=1.1.0\n')
    expect(await said()).toEqual([`warning Nobody verified a signature of 1.1.0 (${NAME}): provision.sh laid it.`])
    await put(NAME, '.signed.json', JSON.stringify({ manifest, signature }))
    expect(await said()).toEqual([expect.stringMatching(/^unknown .* cannot be verified again/)])
    await put(NAME, 'release-key.pub', key)
    expect(await said()).toEqual([])
    const wrong = `bad The signature that was kept with 1.1.0 (${NAME}) is not right.`
    for (const text of [
      '{',
      '{}',
      JSON.stringify({ manifest: manifest.replace('0001', '0002'), signature }),
      JSON.stringify({ manifest, signature: '' }),
    ]) {
      await put(NAME, '.signed.json', text)
      expect(await said()).toEqual([wrong])
    }
    // the signed manifest of another release
    await put('1.1.0-cdcdcdcdcdcd', '.signed.json', JSON.stringify({ manifest, signature }))
    await put(NAME, '.signed.json', JSON.stringify({ manifest, signature }))
    expect(await said()).toEqual([expect.stringMatching(/^bad .*1\.1\.0-cdcdcdcdcdcd/)])
  })
})
