import { Value } from '@sinclair/typebox/value'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { MachineView, SOCKET } from '../../server/machine/protocol.ts'
import { bootMachine, type Machine } from './support/machine.ts'
import { createImageRoot, type Root } from './support/root.ts'

const { lacking, image, suite } = inject('appliance')
const NODE = '/opt/gatehouse/current/bin/node'

/** Asks as the daemon does, and prints the last line that comes back. */
const ASKING = `
  const socket = require('node:net').connect('${SOCKET}')
  let said = ''
  socket.on('data', chunk => (said += chunk))
  socket.on('error', error => { console.log(JSON.stringify({ error: { code: error.code } })) })
  socket.on('end', () => { console.log(said.trim().split('\\n').at(-1)); socket.end() })
  socket.write(process.argv[1] + '\\n')`

describe.skipIf(lacking !== undefined)(`the program that changes the machine (${lacking ?? suite})`, () => {
  let root: Root
  let machine: Machine

  beforeAll(async () => {
    root = await createImageRoot(image)
    machine = await bootMachine(root, 'gh-machine', { keyboard: true })
    await machine.healthy()
  })
  afterAll(async () => {
    await machine?.close()
    await root?.close()
  })

  interface Said {
    readonly answer?: Record<string, unknown>
    readonly error?: { readonly code: string; readonly message: string }
  }
  async function ask(verb: string, asked: object = {}, user = 'gatehouse'): Promise<Said> {
    const line = JSON.stringify({ ask: verb, with: asked })
    const said = await machine.must(
      'setpriv',
      `--reuid=${user}`,
      `--regid=${user === 'nobody' ? 'nogroup' : user}`,
      '--init-groups',
      NODE,
      '-e',
      ASKING,
      line,
    )
    return JSON.parse(said) as Said
  }

  test('is open to the user of the daemon, and to nobody else', async () => {
    expect((await machine.must('stat', '-c', '%U:%G %a', SOCKET)).trim()).toBe('gatehouse:root 600')
    expect((await ask('machine.read')).answer).toBeDefined()
    for (const user of ['gatehouse-web', 'nobody', 'postgres', 'clamav'])
      expect(await ask('machine.read', {}, user), user).toEqual({
        error: { code: 'EACCES' },
      })
  })

  test('says what there is to see of the machine', async () => {
    const { answer } = await ask('machine.read')
    expect([...Value.Errors(MachineView, answer)]).toEqual([])
    const view = answer as unknown as MachineView
    expect(view.network).toMatchObject({ interface: 'host0', method: 'dhcp', addresses: [`${machine.address}/24`] })
    expect(view.services.find(one => one.unit === 'gatehouse.service')).toMatchObject({
      mark: 'good',
      restarts: 0,
      may_restart: true,
    })
    expect(view.services.find(one => one.unit === 'clamav-daemon.service')).toMatchObject({ mark: 'bad' })
    expect(view.time.mark).not.toBe('good')
    expect(view.certificate).toMatchObject({ kind: 'own', mark: 'good' })
  })

  const secretOf = async (name: string): Promise<string> =>
    new RegExp(`^${name}=(.*)$`, 'm').exec(await root.read('etc/gatehouse/secrets'))?.[1] ?? ''
  const call: Machine['call'] = (method, path, more) => machine.call(method, `/api/v1${path}`, more)
  const signIn = async (password: string): Promise<string | undefined> =>
    (await call('POST', '/auth/token', { json: { username: 'admin', password } })).body.access_token as
      string | undefined
  /** Types a line at the screen and waits for what it shows after that. */
  async function typed(line: string, wanted: RegExp): Promise<RegExpExecArray> {
    const from = machine.terminal().length
    machine.type(`${line}\r`)
    const since = (): string => machine.terminal().slice(from)
    const found = machine.until(`${wanted.source} on the screen`, async () => wanted.exec(since()) ?? undefined)
    return found.catch((error: unknown) => {
      throw new Error(`The screen shows ${since()}`, { cause: error })
    })
  }
  const openMenu = (): Promise<unknown> => typed('', /Gatehouse on [^]*Power off/)
  /** Types the number that a line of the menu has. */
  async function choose(line: string, wanted: RegExp): Promise<RegExpExecArray> {
    const numbers = [...machine.terminal().matchAll(new RegExp(`^ +(\\d+) {2}${line}\\r?$`, 'gm'))]
    return typed(numbers.at(-1)?.[1] ?? '', wanted)
  }
  const FIRST = 'Correct-horse-7'
  let newPassword = ''

  test('the screen leads to the menu and back, and its token is made anew there', async () => {
    const old = await secretOf('SETUP_TOKEN')
    await machine.until('the way to the menu', async () => machine.terminal().includes('Enter opens the menu.'))
    await openMenu()
    await choose('New setup token', /Type yes/)
    const [, token = ''] = await typed('yes', /Setup token {2}([\w-]+)/)
    expect(token).toMatch(/^[0-9A-Z]{5}(-[0-9A-Z]{5}){3}$/)
    expect([token, await secretOf('SETUP_TOKEN')]).toEqual([
      await secretOf('SETUP_TOKEN'),
      expect.not.stringMatching(old),
    ])
    // Esc alone goes back, to the screen that has the new one
    const from = machine.terminal().length
    machine.type('\u001b')
    await machine.until('the screen again', async () => /Fingerprint/.test(machine.terminal().slice(from)))
    await machine.healthy()
    await machine.until('the new token on the screen', async () =>
      (await machine.must('cat', '/run/gatehouse/screen')).includes(`Setup token  ${token}`),
    )
    const json = { admin_username: 'admin', admin_password: FIRST }
    expect((await call('POST', '/setup/', { json, headers: { 'X-Setup-Token': old } })).status).toBe(403)
    expect((await call('POST', '/setup/', { json, headers: { 'X-Setup-Token': token } })).status).toBe(201)
    await openMenu()
    await choose('New setup token', /Type yes/)
    await typed('yes', /There is an admin already/)
    machine.type('\r')
  })

  test('restarts services of the appliance, and no others', async () => {
    const pid = (): Promise<string> =>
      machine.must('systemctl', 'show', '-p', 'MainPID', '--value', 'gatehouse-web.service')
    const before = await pid()
    expect(await ask('service.restart', { unit: 'gatehouse-web.service' })).toEqual({
      answer: { said: 'nginx was restarted.' },
    })
    expect(await pid()).not.toBe(before)
    expect((await ask('service.restart', { unit: 'ssh.service' })).error).toMatchObject({ code: 'not_allowed' })
    expect((await machine.inside('systemctl', 'is-active', 'ssh.service')).out.trim()).toBe('inactive')
  })

  test('a change of the network works, also when its program is killed', async () => {
    const asked = { method: 'static', address: `${machine.address}/24`, gateway: '10.99.0.1', host_name: 'changed' }
    expect((await ask('network.set', { ...asked, gateway: '10.98.0.1' })).error).toMatchObject({ code: 'bad_network' })
    expect((await ask('network.set', asked)).answer).toMatchObject({ goes_back_at: expect.any(String) as string })
    await machine.must('systemctl', 'kill', '--signal=KILL', 'gatehouse-machine.service')
    await machine.until('the new address', async () => {
      const { network } = (await ask('machine.read')).answer as unknown as MachineView
      return network.method === 'static' && network.gateway === '10.99.0.1' && network.goes_back_at !== null
    })
    expect((await machine.must('hostname')).trim()).toBe('changed')
    expect((await call('GET', '/setup/status')).status).toBe(200)
  })

  test('an admin who cannot get in gets a new password at the screen, and sessions end', async () => {
    const token = await signIn(FIRST)
    expect((await call('GET', '/auth/me', { token })).status).toBe(200)
    await openMenu()
    await choose('New password of an admin', /1 {2}admin/)
    await typed('1', /Type yes/)
    ;[, newPassword = ''] = await typed('yes', /New password of admin: {2}([\w-]+)/)
    await typed('', /Gatehouse on/)
    machine.type('\u001b')
    expect((await call('GET', '/auth/me', { token })).status).toBe(401)
    expect(await signIn(FIRST)).toBeUndefined()
    const next = await signIn(newPassword)
    expect(next).toBeDefined()
    const line = await machine.until('the line of the audit log', async () => {
      const { text } = await call('GET', '/artifacts/audit/logs?action=PASSWORD_RESET', { token: next })
      return text.includes('at the machine itself') && text
    })
    expect(line).toContain('admin, by somebody at the machine itself. Every session ended.')
    expect(await machine.must('journalctl', '--no-pager', '--output=cat')).not.toContain(newPassword)
  })

  test('restores a backup of this machine at the screen, and the service runs again', async () => {
    const token = await signIn(newPassword)
    expect((await call('POST', '/backup/', { token })).status).toBe(201)
    expect((await call('PUT', '/access/groups/later', { token, json: { members: [] } })).status).toBe(200)
    await openMenu()
    await choose('Restore a backup', /1 {2}\d{4}-\d\d-\d\d .*this machine: gatehouse_backup/)
    await typed('1', /passphrase/)
    await typed('', /Type yes/)
    await typed('yes', /The service stops\.[^]*Restored\./)
    machine.type('\u001b')
    await machine.healthy()
    expect((await call('GET', '/auth/me', { token })).status).toBe(401)
    const { text } = await call('GET', '/access/groups', { token: await signIn(newPassword) })
    expect(text).not.toContain('later')
  })

  test('a support bundle has what one looks for, and no secret', async () => {
    await openMenu()
    await choose('Support bundle', /1 {2}the folder/)
    const [, file = ''] = await typed('1', /Written: (\S+\.tar\.gz)/)
    machine.type('\u001b')
    const listed = await machine.must('tar', '-tzf', file)
    for (const name of ['journal.txt', 'units.txt', 'machine.json', 'packages.txt'])
      expect(listed).toContain(`/${name}\n`)
    const all = await machine.must('tar', '-xzOf', file)
    expect(all).toContain('gatehouse.service')
    for (const name of ['JWT_SECRET_KEY', 'METRICS_TOKEN', 'SETUP_TOKEN'])
      expect(all.includes(await secretOf(name)), name).toBe(false)
  })

  test('a change of the network that nobody keeps goes back', async () => {
    const network = await machine.until('the network of before', async () => {
      const view = (await ask('machine.read')).answer as unknown as MachineView
      return view.network.goes_back_at === null && view.network
    })
    expect(network).toMatchObject({ method: 'dhcp' })
    expect((await machine.must('hostname')).trim()).toBe(network.host_name)
    expect(network.host_name).not.toBe('changed')
    expect((await machine.inside('test', '-e', '/etc/systemd/network/10-gatehouse.network')).code).toBe(1)
    // and so it does when the machine is restarted before
    const { answer } = await ask('network.set', { method: 'dhcp', host_name: 'again' })
    expect(answer).toBeDefined()
    await machine.reboot()
    await machine.until('the old name', async () => (await machine.must('hostname')).trim() === network.host_name)
    expect((await machine.must('cat', '/etc/hostname')).trim()).toBe(network.host_name)
    await machine.until('the end of it', async () => {
      const view = (await ask('machine.read')).answer as unknown as MachineView
      return view.network.goes_back_at === null
    })
    await machine.plugIn()
    await machine.healthy()
  })

  test('a factory reset leaves nothing, and the machine is as at its first start', async () => {
    const before = [await secretOf('JWT_SECRET_KEY'), await root.read('etc/gatehouse/authority/authority.crt')]
    await machine.must('touch', '/repos/mine', '/etc/gatehouse/environment')
    const name = (await root.read('etc/hostname')).trim()
    await machine.until('the way to the menu', async () => machine.terminal().includes('Enter opens the menu.'))
    await openMenu()
    await choose('Factory reset', /Type the name of this machine/)
    await machine.reboot(() => typed(name, /is reset, and restarts/))
    await machine.healthy()
    expect(await secretOf('JWT_SECRET_KEY')).toMatch(/^[0-9a-f]{64}$/)
    expect(await secretOf('JWT_SECRET_KEY')).not.toBe(before[0])
    expect(await root.read('etc/gatehouse/authority/authority.crt')).not.toBe(before[1])
    for (const path of ['/repos/mine', '/etc/gatehouse/environment', '/var/lib/gatehouse-machine/factory-reset'])
      expect((await machine.inside('test', '-e', path)).code, path).toBe(1)
    expect((await call('GET', '/setup/status')).body).toMatchObject({ needs_setup: true })
    expect(await signIn(newPassword)).toBeUndefined()
    expect((await root.read('etc/hostname')).trim()).toBe(name)
  })
})
