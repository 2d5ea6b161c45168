import { generateKeyPairSync } from 'node:crypto'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { signUpdate } from '../../appliance/sign-update.ts'
import type { Answered, AskedWith, UpdateState, Verb } from '../../server/machine/protocol.ts'
import { mustRun } from '../support/tools.ts'
import { bootMachine, type Machine } from './support/machine.ts'
import { createRoot, type Root } from './support/root.ts'

const { lacking, debian, bundle, suite } = inject('appliance')
const STEPS = ['laying', 'keeping', 'switching', 'proving']
/** Sends its argument to the machine's program and prints what comes back. */
const ASK = `
const { connect } = require('node:net')
const socket = connect('/run/gatehouse-machine/socket')
socket.write(process.argv[1] + '\\n')
socket.pipe(process.stdout)
`

describe.skipIf(lacking !== undefined)(`updates of an appliance (${lacking ?? suite})`, () => {
  const vendor = generateKeyPairSync('ed25519')
  let root: Root
  let machine: Machine
  let work: string

  /** The bundle of these sources as another version; `alter` changes its folder first. */
  async function release(version: string, alter?: (folder: string) => Promise<void>): Promise<string> {
    const folder = join(work, version)
    const file = join(work, `gatehouse-${version}-linux-${process.arch}.tar.zst`)
    await cp(join(work, 'bundle'), folder, { recursive: true })
    const schema = await mustRun('sed', ['-n', 's/^SCHEMA=//p', join(folder, 'release')])
    await writeFile(join(folder, 'release'), `APP_VERSION=${version}\nSCHEMA=${schema.trim()}\n`)
    const key = vendor.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    await writeFile(join(folder, 'release-key.pub'), key)
    await alter?.(folder)
    await mustRun('tar', ['--use-compress-program=zstd -q -1', '-C', folder, '-cf', file, '.'])
    await rm(folder, { recursive: true })
    return file
  }
  /** Where the signed update lies in the machine. */
  async function updateTo(version: string, alter?: (folder: string) => Promise<void>): Promise<string> {
    const made = { madeAt: '2026-11-20T00:00:00.000Z', changes: ['new: a number'], updatesFrom: '0.0.0' }
    const file = await signUpdate({ bundle: await release(version, alter), key: vendor.privateKey, out: work, ...made })
    await mkdir(join(root.folder, 'srv/updates'), { recursive: true })
    await cp(file, join(root.folder, 'srv/updates', basename(file)))
    return `/srv/updates/${basename(file)}`
  }

  /** Asks the machine's program as the daemon does. */
  async function ask<V extends Verb>(verb: V, asked: AskedWith<V>): Promise<Answered<V>> {
    const node = '/opt/gatehouse/current/bin/node'
    const line = JSON.stringify({ ask: verb, with: asked })
    const out = await machine.must('runuser', '-u', 'gatehouse', '--', node, '-e', ASK, line)
    const last = JSON.parse(out.trim().split('\n').at(-1) ?? '') as { answer: Answered<V>; error?: { message: string } }
    if (last.error !== undefined) throw new Error(last.error.message)
    return last.answer
  }
  const state = async (): Promise<UpdateState> => (await ask('machine.read', {})).updates
  const runs = async (): Promise<string> =>
    (await machine.must('sed', '-n', 's/^APP_VERSION=//p', '/opt/gatehouse/current/release')).trim()
  const stepNow = async (): Promise<string> =>
    /"step":"(\w+)"/.exec(await machine.must('cat', '/var/lib/gatehouse-update/work.json'))?.[1] ?? ''
  const journal = (): Promise<string> =>
    machine.must(
      'journalctl',
      '-u',
      'gatehouse-update',
      '-u',
      'gatehouse',
      '-n',
      '60',
      '--no-pager',
      '-o',
      'short-monotonic',
    )
  /** The end of the update, which has to be this one. */
  async function ended(wanted: 'done' | 'went_back'): Promise<UpdateState> {
    const found = await machine
      .until('the end of the update', async () => {
        const now = await state()
        return ['done', 'went_back', 'failed'].includes(now.last?.state ?? '') && now
      })
      .catch(async (error: Error) => Promise.reject(new Error(`${error.message}\n${await journal()}`)))
    if (found.last?.state !== wanted) throw new Error(`${JSON.stringify(found.last)}\n${await journal()}`)
    return found
  }

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'gatehouse-update-'))
    await mkdir(join(work, 'bundle'))
    await mustRun('tar', ['--zstd', '-C', join(work, 'bundle'), '-xf', bundle])
    const provisioned = await createRoot(debian, await release('1.0.0'))
    root = provisioned
    expect((await provisioned.provision('--image')).code).toBe(0)
    await rm(join(root.folder, 'provision'), { recursive: true })
    machine = await bootMachine(root, 'gatehouse-up')
    await machine.healthy()
  })
  afterAll(async () => {
    await machine?.close()
    await root?.close()
    await rm(work, { recursive: true, force: true })
  })

  const call: Machine['call'] = (method, path, more) => machine.call(method, `/api/v1${path}`, more)
  async function setUp(): Promise<string> {
    const secrets = await root.read('etc/gatehouse/secrets')
    const headers = { 'X-Setup-Token': /^SETUP_TOKEN=(.*)$/m.exec(secrets)?.[1] ?? '' }
    const json = { admin_username: 'admin', admin_password: 'Correct-horse-7' }
    expect((await call('POST', '/setup/', { json, headers })).status).toBe(201)
    const { body } = await call('POST', '/auth/token', { json: { username: 'admin', password: 'Correct-horse-7' } })
    return String(body.access_token)
  }

  test('an altered update is refused, and nothing is changed', async () => {
    const file = await updateTo('1.0.5')
    const path = join(root.folder, file)
    await mustRun('dd', ['if=/dev/zero', `of=${path}`, 'bs=1', 'count=1', 'seek=200000', 'conv=notrunc'])
    await expect(ask('update.install', { file, when: 'now' })).rejects.toThrow('not what was signed')
    expect(await runs()).toBe('1.0.0')
    expect((await state()).last).toBeNull()
    await rm(path)
  })

  test('a newer one that an admin sends runs afterwards, with its files, and the one before stays', async () => {
    const token = await setUp()
    const made = await updateTo('1.1.0', folder =>
      writeFile(join(folder, 'appliance/root/usr/share/gatehouse/of-the-new-one'), '1.1.0\n'),
    )
    const sent = await call('POST', '/machine/updates', { token, form: { file: `@${join(root.folder, made)}` } })
    expect(sent, sent.text).toMatchObject({
      status: 200,
      body: { version: '1.1.0', migrates: false, is_older: false, changes: ['new: a number'] },
    })
    const json = { file: sent.body.file, when: 'now' }
    const asked = await call('POST', '/machine/updates/install', { token, json })
    expect(asked.status, asked.text).toBe(200)
    const { last, releases } = await ended('done')
    expect(last).toMatchObject({ version: '1.1.0' })
    await machine.healthy()
    expect((await call('GET', '/machine', { token })).body).toMatchObject({ machine: { updates: { last } } })
    const audited = await call('GET', '/artifacts/audit/logs?action=MACHINE_UPDATE', { token })
    expect(audited.text).toContain('gatehouse-1.1.0')
    expect([await runs(), releases.length]).toEqual(['1.1.0', 2])
    expect(await machine.must('cat', '/usr/share/gatehouse/of-the-new-one')).toBe('1.1.0\n')
    await machine.healthy()
  })

  test('one whose daemon ends goes back by itself', async () => {
    const file = await updateTo('1.2.0', async folder => {
      await writeFile(join(folder, 'server/main.mjs'), 'process.exit(1)\n')
      await writeFile(join(folder, 'appliance/root/usr/share/gatehouse/of-the-bad-one'), '1.2.0\n')
    })
    await ask('update.install', { file, when: 'now' })
    const { last } = await ended('went_back')
    expect(last).toMatchObject({ said: expect.stringContaining('its daemon ended') })
    expect(await runs()).toBe('1.1.0')
    expect((await machine.inside('cat', '/usr/share/gatehouse/of-the-bad-one')).code).toBe(1)
    await machine.healthy()
  })

  test.each(STEPS)(
    'a power cut while %s leaves a machine that starts and finishes',
    { timeout: 300_000 },
    async step => {
      const version = `1.3.${STEPS.indexOf(step)}`
      const file = await updateTo(version)
      await ask('update.install', { file, when: 'now' })
      await machine.until(step, async () => STEPS.indexOf(await stepNow()) >= STEPS.indexOf(step))
      await machine.cutPower()
      await machine.healthy()
      const { last } = await ended('done')
      expect(last).toMatchObject({ version })
      expect(await runs()).toBe(version)
      await machine.healthy()
    },
  )

  test('a window is the only time for updates of Debian', async () => {
    const window = { days: [6], from: '02:00', to: '05:00', debian: true, restart: true }
    const debiansOwn = async (): Promise<string> =>
      (await machine.inside('systemctl', 'is-enabled', 'apt-daily-upgrade.timer')).out.trim()
    expect(await debiansOwn()).toBe('enabled')
    await ask('window.set', { window })
    expect([await debiansOwn(), (await ask('machine.read', {})).window]).toEqual(['disabled', window])
    await ask('window.set', { window: null })
    expect([await debiansOwn(), (await ask('machine.read', {})).window]).toEqual(['enabled', null])
  })

  test('goes back by hand to the release before', async () => {
    await ask('update.back', {})
    expect((await ended('done')).last).toMatchObject({ version: '1.3.2' })
    expect(await runs()).toBe('1.3.2')
    await machine.healthy()
  })
})
