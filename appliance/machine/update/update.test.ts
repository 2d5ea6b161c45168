import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { mkdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createWriteStream, existsSync } from 'node:fs'
import tar from 'tar-stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { signUpdate } from '../../sign-update.ts'
import { testPorts, type Testing } from '../testing.ts'
import { cancelUpdate, goBackByHand, installUpdate, lookAtUpdate, readUpdates } from '../verbs/update.ts'
import { carryOn } from './carry-on.ts'
import { readRestart } from './debian.ts'
import { readWork, writeWork, type Work } from './work.ts'

const SCHEMA = '0001-first'
const [vendor, stranger] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')]
const pemOf = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString()
const BUNDLE = Buffer.from('what a bundle is, unpacked by a recorded tar')

let ports: Testing
const inRoot = (path: string): string => join(ports.root, path)

/** A release that is laid. */
async function lay(name: string, version: string, schema = SCHEMA): Promise<void> {
  await ports.put(`/opt/gatehouse/releases/${name}/release`, `APP_VERSION=${version}\nSCHEMA=${schema}\n`)
  await ports.put(`/opt/gatehouse/releases/${name}/release-key.pub`, pemOf(vendor.publicKey))
}

beforeEach(async () => {
  ports = await testPorts()
  await lay('1.0.0-old', '1.0.0')
  await symlink('releases/1.0.0-old', inRoot('/opt/gatehouse/current'))
  ports.said = {
    'runuser -u postgres -- psql -h /run/gatehouse-postgres -d gatehouse': 'zzzz',
    ...told(SCHEMA),
    'systemctl show': 'Id=gatehouse.service\nActiveState=active\nMainPID=7\nNRestarts=0\n',
    'curl': '{"ready":true}\n200',
    'readlink -f /proc/7/exe': '/opt/gatehouse/releases/1.0.0-old/bin/node\n/opt/gatehouse/releases/1.1.0-new/bin/node',
    'uname -r': '6.1.0-9-amd64',
    'systemctl is-system-running': 'running',
  }
})
afterEach(() => ports.close())

/** What the database says of its schema and size. */
const told = (schema: string): Testing['said'] => ({
  'runuser -u postgres -- psql -h /run/gatehouse-postgres -d gatehouse -qtAX -v ON_ERROR_STOP=1 -c select name': schema,
  'runuser -u postgres -- psql -h /run/gatehouse-postgres -d gatehouse -qtAX -v ON_ERROR_STOP=1 -c select pg_database_size':
    '1000',
})

/** An update in the test's folder. */
async function update(version = '1.1.0', key = vendor.privateKey, updatesFrom = '0.0.0'): Promise<string> {
  const bundle = inRoot(`/in/gatehouse-${version}-linux-${process.arch}.tar.zst`)
  await mkdir(dirname(bundle), { recursive: true })
  await writeFile(bundle, BUNDLE)
  const made = { madeAt: '2026-11-20T00:00:00.000Z', changes: ['fix: one thing'], updatesFrom }
  const file = await signUpdate({ bundle, key, out: inRoot('/in'), ...made })
  return file.slice(ports.root.length)
}

/** A tar of these members, as a forger would write it. */
async function forged(members: readonly (readonly [string, Buffer | string])[]): Promise<string> {
  const pack = tar.pack()
  await mkdir(inRoot('/in'), { recursive: true })
  const written = pipeline(pack, createWriteStream(inRoot('/in/forged')))
  for (const [name, body] of members) pack.entry({ name }, body)
  pack.finalize()
  await written
  return '/in/forged'
}

/** A manifest that the vendor signed, with some of its facts changed before. */
function manifest(change: object = {}): readonly [readonly [string, string], readonly [string, string]] {
  const text = JSON.stringify({
    product: 'gatehouse-appliance',
    version: '1.1.0',
    processor: process.arch,
    made_at: '2026-11-20T00:00:00.000Z',
    updates_from: '0.0.0',
    schema: SCHEMA,
    changes: [],
    bundle: {
      name: 'gatehouse-1.1.0-linux-x64.tar.zst',
      size: BUNDLE.length,
      sha256: createHash('sha256').update(BUNDLE).digest('hex'),
    },
    ...change,
  })
  const signature = sign(null, Buffer.from(text), vendor.privateKey).toString('base64')
  return [
    ['manifest.json', text],
    ['manifest.json.sig', signature],
  ]
}

const refusal = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'taken',
    (error: { code?: string; message: string }) => `${error.code ?? ''}: ${error.message}`,
  )

describe('an update that is looked at', () => {
  test('says what it is, and what would happen', async () => {
    const view = await lookAtUpdate(ports, { file: await update() })
    expect(view).toMatchObject({ version: '1.1.0', changes: ['fix: one thing'], is_older: false, migrates: true })
    expect(view.checks.map(({ what, mark }) => [what, mark])).toEqual([
      ['Health', 'good'],
      ['Database', 'good'],
      ['Room', 'good'],
    ])
    expect(await readWork(ports)).toBeUndefined()
  })

  test.each([
    ['of another vendor', async () => update('1.1.0', stranger.privateKey), /^not_signed: /],
    ['that is not there', async () => '/in/nothing', /^not_found: .* stick/],
    [
      'with an altered manifest',
      async () => {
        const [[name, text], signature] = manifest()
        return forged([[name, text.replace('1.1.0', '1.1.1')], signature])
      },
      /^not_signed: /,
    ],
    [
      'with an altered bundle',
      async () => forged([...manifest(), ['gatehouse-1.1.0-linux-x64.tar.zst', Buffer.alloc(BUNDLE.length)]]),
      /^bad_update: .*altered/,
    ],
    [
      'with a longer bundle',
      async () => forged([...manifest(), ['gatehouse-1.1.0-linux-x64.tar.zst', Buffer.concat([BUNDLE, BUNDLE])]]),
      /^bad_update: .*signed/,
    ],
    ['without a bundle', async () => forged([...manifest()]), /^bad_update: .*whole/],
    [
      'with a path that leads out',
      async () => forged([...manifest(), ['../../etc/passwd', BUNDLE]]),
      /^bad_update: .*passwd/,
    ],
    [
      'with more than belongs in it',
      async () => forged([...manifest(), ['gatehouse-1.1.0-linux-x64.tar.zst', BUNDLE], ['more', 'x']]),
      /^bad_update: .*more/,
    ],
    [
      'with the bundle first',
      async () => forged([['gatehouse-1.1.0-linux-x64.tar.zst', BUNDLE], ...manifest()]),
      /^bad_update: /,
    ],
    ['of another product', async () => forged(manifest({ product: 'gatehouse-desktop' })), /^bad_update: .*product/],
    [
      'whose bundle has a name that leads out',
      async () => forged(manifest({ bundle: { name: '../x', size: 1, sha256: 'a'.repeat(64) } })),
      /^bad_update: .*name/,
    ],
    [
      'that is no tar',
      async () => {
        await ports.put('/in/text', 'no tar at all, '.repeat(100))
        return '/in/text'
      },
      /^bad_update: /,
    ],
  ])('%s is refused, and nothing is changed', async (_, made, said) => {
    const file = await made()
    expect(await refusal(lookAtUpdate(ports, { file }))).toMatch(said)
    expect(await refusal(installUpdate(ports, { file, when: 'now' }, () => undefined))).toMatch(said)
    expect(await readWork(ports)).toBeUndefined()
    expect(existsSync(inRoot('/var/lib/gatehouse-update/taken.tar.zst'))).toBe(false)
  })

  test('cut short anywhere is refused', async () => {
    const file = await update()
    const whole = await readFile(inRoot(file))
    for (let size = whole.length - 1025; size > 0; size -= 300) {
      await truncate(inRoot(file), size)
      expect(await refusal(lookAtUpdate(ports, { file }))).toMatch(/^(bad_update|not_signed): /)
    }
  })

  test('is not taken by an appliance without a key', async () => {
    const file = await update()
    await lay('keyless', '1.0.0')
    await writeFile(inRoot('/opt/gatehouse/releases/1.0.0-old/release-key.pub'), '')
    expect(await refusal(lookAtUpdate(ports, { file }))).not.toBe('taken')
  })
})

describe('an update that is installed', () => {
  const install = async (file: string, more: object = {}) =>
    installUpdate(ports, { file, when: 'now', ...more }, () => undefined)

  test('is taken in and begun', async () => {
    const { last } = await install(await update())
    expect(last).toMatchObject({ version: '1.1.0', state: 'running', step: 'laying' })
    expect(await readFile(inRoot('/var/lib/gatehouse-update/taken.tar.zst'))).toEqual(BUNDLE)
    const signed = await readFile(inRoot('/var/lib/gatehouse-update/taken.tar.zst.signed.json'), 'utf8')
    expect(JSON.parse(signed)).toEqual({
      manifest: expect.any(String),
      signature: expect.stringMatching(/^\S{88}\n?$/),
    })
    expect(existsSync(inRoot('/var/lib/gatehouse-update/begun'))).toBe(true)
    expect(ports.ran.at(-2)).toContain('systemctl --no-block start gatehouse-update.service')
    expect(await refusal(install(await update()))).toMatch(/^busy: /)
  })

  test('that is older is only taken when that is said', async () => {
    const file = await update('0.9.0')
    expect(await refusal(install(file))).toMatch(/^older: /)
    expect((await install(file, { older: true })).last?.version).toBe('0.9.0')
  })

  test.each([
    ['the release that runs is not well', { curl: { code: 22, out: '', err: '' } }, /Health/],
    [
      'the database does not answer',
      Object.fromEntries(Object.keys(told('')).map(key => [key, { code: 2, out: '', err: 'no' }])),
      /^not_ready: The database does not answer/,
    ],
    ['the database is of a later release', told('9999-later'), /The database is of a later/],
  ])('is refused where %s', async (_, said, why) => {
    ports.said = { ...ports.said, ...said }
    expect(await refusal(install(await update()))).toMatch(why)
  })

  test('that updates later releases only is refused', async () => {
    expect(await refusal(install(await update('2.0.0', vendor.privateKey, '1.5.0')))).toMatch(
      /^not_ready: The update is for 1\.5\.0/,
    )
  })

  test('can wait for the window, and be cancelled', async () => {
    const { last } = await install(await update(), { when: 'window' })
    expect(last).toMatchObject({ state: 'waiting' })
    expect(existsSync(inRoot('/var/lib/gatehouse-update/begun'))).toBe(false)
    expect((await cancelUpdate(ports)).last).toMatchObject({
      state: 'failed',
      said: 'It was cancelled before it began.',
    })
    expect(await refusal(cancelUpdate(ports))).toMatch(/^nothing_waits: /)
  })
})

describe('the work', () => {
  const work = async (change: Partial<Work> = {}): Promise<void> => {
    await ports.put('/var/lib/gatehouse-update/taken.tar.zst', BUNDLE.toString())
    await lay('1.1.0-new', '1.1.0')
    await ports.put('/var/lib/gatehouse-update/begun', '')
    await writeWork(ports, {
      ...{ version: '1.1.0', release: '1.1.0-new', previous: '1.0.0-old', file: '/in/update', schema: SCHEMA },
      bundle: {
        path: '/var/lib/gatehouse-update/taken.tar.zst',
        sha256: createHash('sha256').update(BUNDLE).digest('hex'),
      },
      ...{ step: 'laying', tries: 0, said: '', when: 'now', ...change },
    })
  }
  const provision = (release: string): string =>
    `/opt/gatehouse/releases/${release}/appliance/provision.sh --release ${release}`
  const did = (text: string): number => ports.ran.filter(line => line.includes(text)).length

  test('unpacks, copies the database while nobody writes, switches and proves', async () => {
    await work()
    expect(await carryOn(ports)).toMatchObject({ step: 'done' })
    const order = ['tar --no-same-owner', 'systemctl stop gatehouse.service', 'pg_dump', provision('1.1.0-new')]
    const places = order.map(text => ports.ran.findIndex(line => line.includes(text)))
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(places[0]).toBeGreaterThanOrEqual(0)
    expect(existsSync(inRoot('/var/lib/gatehouse-update/begun'))).toBe(false)
    expect((await readUpdates(ports)).last).toMatchObject({ state: 'done' })
  })

  test.each(['laying', 'keeping', 'switching', 'proving'] as const)(
    'goes on after a power cut while %s',
    async step => {
      await work({ step, tries: 1 })
      expect(await carryOn(ports)).toMatchObject({ step: 'done' })
      expect(did(provision('1.1.0-new'))).toBe(step === 'proving' ? 0 : 1)
    },
  )

  test('goes back when the daemon ends again and again, and leaves the database as it is where nothing changed it', async () => {
    await work()
    let ends = 0
    const { run } = ports
    ports.run = async (program, args) => {
      if (args[0] === 'show' && did(provision('1.0.0-old')) === 0) ends += did(provision('1.1.0-new'))
      if (args[0] === 'show')
        return { code: 0, out: `Id=gatehouse.service\nActiveState=active\nMainPID=7\nNRestarts=${ends}\n`, err: '' }
      if (program === 'curl' && did(provision('1.0.0-old')) === 0) return { code: 7, out: '', err: '' }
      return run(program, args)
    }
    const end = await carryOn(ports)
    expect(end?.step).toBe('went_back')
    expect(end?.said).toContain('ended 3 times')
    expect(end?.said).toContain('The database was not changed.')
    expect(did('pg_restore')).toBe(0)
    expect(did(provision('1.0.0-old'))).toBe(1)
  })

  test('puts the database back where it was changed', async () => {
    await work({ step: 'going_back', said: '1.1.0 is no good.' })
    ports.said = { ...ports.said, ...told('0002-second') }
    expect(await carryOn(ports)).toMatchObject({ step: 'went_back', said: expect.stringContaining('as it was before') })
    const [restored, laid] = ['pg_restore', provision('1.0.0-old')].map(text =>
      ports.ran.findIndex(line => line.includes(text)),
    )
    expect(restored).toBeGreaterThan(0)
    expect(laid).toBeGreaterThan(restored ?? 0)
  })

  test('that cannot be unpacked changes nothing, and what ran goes on', async () => {
    await work()
    ports.said = { ...ports.said, tar: { code: 2, out: '', err: 'No space left on device' } }
    const end = await carryOn(ports)
    expect(end).toMatchObject({ step: 'failed', said: expect.stringContaining('No space left on device') })
    expect(did('systemctl --no-block start gatehouse.service')).toBe(1)
    expect(did('provision.sh')).toBe(0)
  })

  test('goes on after a restart that came in the middle, where every program fails', async () => {
    await work({ step: 'keeping' })
    const { said } = ports
    const gone = { code: 1, out: 'stopping\n', err: 'Failed to connect to bus' }
    ports.said = { ...said, 'systemctl stop': gone, 'systemctl is-system-running': gone }
    expect(await refusal(carryOn(ports))).toContain('program_failed')
    expect(await readWork(ports)).toMatchObject({ step: 'keeping', tries: 1 })
    ports.said = said
    expect(await carryOn(ports)).toMatchObject({ step: 'done' })
  })

  test('cut short three times in one step ends: before the switch as failed, after it by going back', async () => {
    await work({ step: 'keeping', tries: 3 })
    expect(await carryOn(ports)).toMatchObject({ step: 'failed' })
    await work({ step: 'switching', tries: 3 })
    expect(await carryOn(ports)).toMatchObject({ step: 'went_back' })
  })

  test('keeps two releases', async () => {
    await lay('0.9.0-older', '0.9.0')
    await work()
    await carryOn(ports)
    expect(did('rm -rf /opt/gatehouse/releases/0.9.0-older')).toBe(1)
    expect(did('rm -rf /opt/gatehouse/releases/1.0.0-old')).toBe(0)
  })

  test('goes back by hand where the database is the same, and not where it is another', async () => {
    await lay('0.9.0-older', '0.9.0')
    expect((await goBackByHand(ports)).last).toMatchObject({ version: '0.9.0', state: 'running' })
    await writeWork(ports, { ...((await readWork(ports)) as Work), step: 'done' })
    ports.said = { ...ports.said, ...told('0002-second') }
    expect(await refusal(goBackByHand(ports))).toMatch(/^other_database: .*backup/)
  })
})

describe('a restart', () => {
  test.each([
    ['no newer kernel', ['vmlinuz-6.1.0-9-amd64'], false],
    ['a newer kernel', ['vmlinuz-6.1.0-9-amd64', 'vmlinuz-6.1.0-10-amd64'], true],
    ['a container without kernels', [], false],
  ])('is needed with %s: %#', async (_, names, needed) => {
    for (const name of names) await ports.put(`/boot/${name}`, '')
    expect((await readRestart(ports)).reboot_required).toBe(needed)
  })

  test('is needed when Debian says so', async () => {
    await ports.put('/run/reboot-required', '*** System restart required ***\n')
    await ports.put('/run/reboot-required.pkgs', 'libc6\nlibc6\n')
    expect(await readRestart(ports)).toEqual({ reboot_required: true, reboot_for: ['libc6'] })
  })
})
