import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'

let it: Daemon
let admin: string
beforeAll(async () => {
  it = await startDaemon()
  admin = await it.setupAdmin()
})
afterAll(() => it.close())

const call = <Body = Record<string, unknown>>(
  method: string,
  path: string,
  options: { readonly body?: unknown; readonly token?: string } = {},
): Promise<Answer<Body>> => it.call<Body>(method, path, { token: admin, ...options })
const add = async (body: object): Promise<Record<string, unknown>> => {
  const { status, body: made } = await call('POST', '/inventory/clients', { body })
  expect(status, it.log().slice(-3000)).toBe(201)
  return made
}

const UNSEEN = {
  label: '',
  enabled: true,
  ssh_port: 22,
  ssh_auth: 'key',
  pkg_type: 'auto',
  distro_id: null,
  distro_version: null,
  distro_codename: null,
  distro_pretty: null,
  grype_distro: null,
  distribution: null,
  kernel: null,
  arch: null,
  booted_at: null,
  reboot: 'unknown',
  reboot_said: 'It has not told anything yet.',
  packages: null,
  last_seen: null,
  last_scan: null,
  last_scan_status: 'never',
  last_error: null,
  last_error_code: null,
  agent_version: null,
  agent_last_seen: null,
  behind: null,
  findings: null,
  coverage: 'unknown',
  coverage_said: 'It has not told its packages yet.',
  judged_at: null,
  // whether it was seen is the one rule that can be answered
  compliance: { pass: 0, fail: 1, unknown: 4 },
}

test('a machine is registered, listed, shown, changed and removed; its password is in no answer', async () => {
  const made = await add({
    hostname: 'plc-gw-07',
    connection_type: 'ssh',
    ip: '10.20.3.17',
    ssh_user: 'reader',
    ssh_password: 'Eleven-blue-herons',
  })
  const { id, created_at, updated_at, agent_token, install_command, ...rest } = made
  expect(rest).toEqual({
    ...UNSEEN,
    hostname: 'plc-gw-07',
    ip: '10.20.3.17',
    connection_type: 'ssh',
    ssh_user: 'reader',
    ssh_auth: 'password',
  })
  expect([agent_token, install_command]).toEqual([null, null])
  const shown = await call('GET', `/inventory/clients/${String(id)}`)
  expect(shown.body).toEqual({ ...rest, id, created_at, updated_at, known_host: null })
  const list = await call('GET', '/inventory/clients')
  expect(list.body).toEqual({
    items: [{ ...rest, id, created_at, updated_at }],
    total: 1,
    page: 1,
    per_page: 50,
    pages: 1,
  })
  const changed = await call('PATCH', `/inventory/clients/${String(id)}`, {
    body: { label: 'Plant north', ssh_password: '', enabled: false },
  })
  expect(changed.body).toMatchObject({ label: 'Plant north', ssh_auth: 'key', enabled: false })
  const gone = await call('DELETE', `/inventory/clients/${String(id)}`)
  expect([gone.status, gone.body]).toEqual([200, { message: 'plc-gw-07 is removed with all that was known of it.' }])
  const after = await call('GET', `/inventory/clients/${String(id)}`)
  expect([after.status, after.body.code]).toEqual([404, 'inventory_client_not_found'])
  expect(`${JSON.stringify([made, shown.body, list.body, changed.body])}${it.log()}`).not.toContain('herons')
})

test('of one name and port there is one machine that is asked', async () => {
  const { id } = await add({ hostname: 'db-north-01', connection_type: 'ssh' })
  const again = await call('POST', '/inventory/clients', { body: { hostname: 'DB-north-01', connection_type: 'ssh' } })
  expect([again.status, again.body.code]).toEqual([409, 'inventory_client_exists'])
  await call('DELETE', `/inventory/clients/${String(id)}`)
})

test.each([
  ['a host that is an option', { hostname: '-oProxyCommand=x', connection_type: 'ssh' }],
  ['a host with a command', { hostname: 'a;reboot', connection_type: 'ssh' }],
  ['an address that is an option', { hostname: 'a', connection_type: 'ssh', ip: '-x' }],
  ['a user with a blank', { hostname: 'a', connection_type: 'ssh', ssh_user: 'root -x' }],
  ['a port beyond the last', { hostname: 'a', connection_type: 'ssh', ssh_port: 70_000 }],
  ['another connection', { hostname: 'a', connection_type: 'telnet' }],
  ['a label of two lines', { hostname: 'a', connection_type: 'ssh', label: 'a\nb' }],
  ['what it knows by itself', { hostname: 'a', connection_type: 'ssh', kernel: '6.1' }],
])('%s is refused', async (_, body) => {
  const { status } = await call('POST', '/inventory/clients', { body })
  expect(status).toBe(422)
  expect((await call('GET', '/inventory/clients')).body.total).toBe(0)
})
