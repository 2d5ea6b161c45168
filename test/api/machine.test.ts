import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { someUpdate, startFakeMachine, type FakeMachine } from '../support/fake-machine.ts'

let machine: FakeMachine
let it: Daemon
let plain: Daemon
let admin: string
let plainAdmin: string
beforeAll(async () => {
  machine = await startFakeMachine()
  ;[it, plain] = await Promise.all([startDaemon({ env: machine.env }), startDaemon()])
  ;[admin, plainAdmin] = [await it.setupAdmin(), await plain.setupAdmin()]
})
afterAll(async () => {
  await Promise.all([it.close(), plain.close()])
  await machine.close()
})

interface Line {
  readonly action: string
  readonly result: string
  readonly user: string
  readonly detail: string
}
const post = (path: string, body?: unknown): Promise<Answer> =>
  it.call('POST', `/machine${path}`, { token: admin, body })
/** The newest line of the audit log. */
async function newest(): Promise<Line | undefined> {
  const { body } = await it.call<{ items: Line[] }>('GET', '/artifacts/audit/logs?per_page=1', { token: admin })
  return body.items[0]
}
const upload = (name: string, bytes = 'an update'): Promise<Answer> =>
  it.call('POST', `/machine/updates?filename=${encodeURIComponent(name)}`, {
    token: admin,
    headers: { 'content-type': 'application/octet-stream' },
    form: new Blob([bytes]) as never, // fetch takes any body
  })
const updates = (): string => join(machine.env.STATE_DIRECTORY, 'updates')

test('where this is no appliance, that is said with what the service knows, and changes are refused', async () => {
  const { status, body } = await plain.call('GET', '/machine', { token: plainAdmin })
  expect([status, body]).toEqual([
    200,
    {
      appliance: false,
      why: null,
      machine: null,
      at_work: [],
      here: {
        host_name: expect.any(String),
        cores: expect.any(Number),
        memory: expect.any(Number),
        memory_used: expect.any(Number),
        up_since: expect.any(String),
        disk: { path: plain.root, size: expect.any(Number), used: expect.any(Number) },
      },
    },
  ])
  for (const path of ['restart', 'network/keep', 'updates/back'])
    expect(await plain.call('POST', `/machine/${path}`, { token: plainAdmin })).toMatchObject({
      status: 409,
      body: { code: 'machine_absent', detail: expect.stringContaining('not the appliance') },
    })
  const health = await plain.call('GET', '/health', { token: plainAdmin })
  expect(health.text).not.toContain('machine_')
  const { body: log } = await plain.call<{ items: Line[] }>('GET', '/artifacts/audit/logs', { token: plainAdmin })
  expect(log.items.filter(({ action }) => action.startsWith('MACHINE'))).toEqual([])
})

test('an admin sees the machine; a change is in the audit log with what was before, and is seen at once', async () => {
  expect((await it.call('GET', '/machine', { token: admin })).body).toMatchObject({
    appliance: true,
    why: null,
    machine: { network: { addresses: ['10.20.1.10/24'] }, certificate: { kind: 'own' } },
  })
  const body = { method: 'static', address: '10.20.1.11/24', gateway: '10.20.1.1', dns: ['10.20.0.2'] }
  const { status, body: tried } = await post('/network', body)
  expect([status, tried]).toEqual([200, { said: 'The network is changed.', goes_back_at: expect.any(String) }])
  expect(await newest()).toMatchObject({
    action: 'MACHINE_CHANGE',
    result: 'SUCCESS',
    user: 'admin',
    detail:
      'The network was changed, for 90 seconds unless it is kept: address: 10.20.1.10/24 → 10.20.1.11/24; dns: 10.20.0.3 → 10.20.0.2.',
  })
  expect((await it.call('GET', '/machine', { token: admin })).body).toMatchObject({
    machine: { network: { addresses: ['10.20.1.11/24'], goes_back_at: tried.goes_back_at } },
  })
  expect((await post('/network/keep')).status).toBe(200)
  expect((await newest())?.detail).toBe('The new network is kept.')
  expect(machine.asked).toEqual([
    { verb: 'network.set', with: body },
    { verb: 'network.keep', with: {} },
  ])
})

test('what the machine refuses is told in its words and is in the audit log as a failure', async () => {
  machine.refusal = 'A time server answers, so the clock is not set by hand.'
  expect(await post('/time', { now: '2026-11-26T10:00:00Z' })).toMatchObject({
    status: 409,
    body: { code: 'machine_refused', detail: 'A time server answers, so the clock is not set by hand.' },
  })
  expect(await newest()).toMatchObject({ action: 'MACHINE_CHANGE', result: 'FAILURE' })
  const asked = machine.asked.length
  expect(await post('/network', { method: 'static', address: 'everywhere' })).toMatchObject({ status: 422 })
  expect(await post('/services/a%20b/restart')).toMatchObject({ status: 422 })
  expect(machine.asked.length).toBe(asked)
})

test('each change is asked of the machine, and told with what it was', async () => {
  const window = { days: [0, 6], from: '01:00', to: '03:00', debian: true, restart: false }
  const target = { host: 'log.nordwerk.lan', port: 514, protocol: 'tcp' }
  const rows: readonly (readonly [string, unknown, string])[] = [
    [
      '/window',
      { window },
      "Maintenance window: window: Saturday 02:00 to 05:00, with Debian's updates and restarts → Sunday, Saturday 01:00 to 03:00, with Debian's updates.",
    ],
    ['/remote-log', { target }, 'Remote log: target: (none) → tcp log.nordwerk.lan:514.'],
    [
      '/time',
      { zone: 'Europe/Berlin', servers: ['ntp.lan'] },
      'Time: zone: Europe/Stockholm → Europe/Berlin; servers: ntp2.nordwerk.lan → ntp.lan.',
    ],
    [
      '/services/clamav-daemon.service/restart',
      undefined,
      'A service is restarted: clamav-daemon.service: runs → restarted.',
    ],
    [
      '/updates/install',
      { file: '/media/a.update', when: 'window' },
      'An update is installed: release: 1.4.2 → /media/a.update; when: (none) → window.',
    ],
    ['/updates/cancel', undefined, 'The update that waited is not installed.'],
    ['/restart', undefined, 'The machine is restarted.'],
  ]
  for (const [path, body, detail] of rows) {
    expect([path, (await post(path, body)).status]).toEqual([path, 200])
    expect((await newest())?.detail).toBe(detail)
  }
  const certificate = await post('/certificate/acme', { directory: 'https://ca.lan/acme', names: ['gatehouse.lan'] })
  expect(certificate.body).toMatchObject({ kind: 'acme', names: ['gatehouse.lan'] })
  expect((await newest())?.detail).toMatch(
    /^A certificate was fetched: certificate: own for gatehouse-01\.nordwerk\.lan, 10\.20\.1\.10 of Gatehouse appliance until .{10} → acme for gatehouse\.lan of Nordwerk ACME until .{10}\.$/,
  )
})

test('what is under way is seen with its step by everybody who looks, and the live events tell of it', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  machine.gate = promise
  machine.steps = ['Taking a backup']
  const events = await fetch(`${it.url}/api/v1/dashboard/events`, { headers: { Authorization: `Bearer ${admin}` } })
  const going = post('/updates/back')
  await vi.waitFor(async () =>
    expect((await it.call('GET', '/machine', { token: admin })).body.at_work).toEqual([
      { verb: 'update.back', step: 'Taking a backup', since: expect.any(String), by: 'admin' },
    ]),
  )
  resolve()
  machine.gate = undefined
  machine.steps = []
  expect((await going).status).toBe(200)
  expect((await it.call('GET', '/machine', { token: admin })).body.at_work).toEqual([])
  let heard = ''
  for await (const chunk of events.body ?? []) {
    heard += Buffer.from(chunk).toString()
    if (heard.includes('"state":"done"')) break
  }
  expect(heard).toContain('"verb":"update.back","state":"step"')
  expect(heard).not.toContain('Taking a backup')
})

test('an uploaded update file is looked at, replaces the one before, and is gone when it is refused', async () => {
  machine.view = { ...machine.view, updates: { ...machine.view.updates, last: null } }
  const first = await upload('gatehouse-1.4.3.update')
  expect([first.status, first.body]).toEqual([200, someUpdate(join(updates(), 'gatehouse-1.4.3.update'))])
  expect(await readFile(join(updates(), 'gatehouse-1.4.3.update'), 'utf8')).toBe('an update')
  expect(await newest()).toMatchObject({
    action: 'MACHINE_UPDATE',
    detail: expect.stringContaining('gatehouse-1.4.3.update'),
  })
  // it waits for the window from now on
  await post('/updates/install', { file: join(updates(), 'gatehouse-1.4.3.update'), when: 'window' })
  expect((await upload('gatehouse-1.4.4.update', 'x'.repeat(600_000))).status).toBe(200)
  expect((await readdir(updates())).sort()).toEqual(['.incoming', 'gatehouse-1.4.3.update', 'gatehouse-1.4.4.update'])
  await post('/updates/cancel')
  machine.refusal = 'The signature is not that of the vendor.'
  expect(await upload('gatehouse-1.4.5.update')).toMatchObject({
    status: 409,
    body: { detail: 'The signature is not that of the vendor.' },
  })
  expect(await readdir(updates())).toEqual(['.incoming'])
  expect(await upload('.hidden')).toMatchObject({ status: 422, body: { code: 'machine_file_name' } })
  expect(await readdir(join(updates(), '.incoming'))).toEqual([])
})

test('a machine that does not answer is unknown: in the page, in health, and never as good', async () => {
  // after a change it is looked at anew
  await post('/window', { window: null })
  machine.raw = 'no json\n'
  expect((await it.call('GET', '/machine', { token: admin })).body).toMatchObject({
    appliance: true,
    machine: null,
    why: expect.stringContaining('of different releases'),
  })
  expect(existsSync(machine.socket)).toBe(true)
  machine.raw = undefined
})

test('health tells what is the matter with the machine', async () => {
  machine.view = { ...machine.view, updates: { ...machine.view.updates, reboot_required: true, reboot_for: ['linux'] } }
  await it.stop()
  await it.restart()
  await vi.waitFor(
    async () =>
      expect((await it.call('GET', '/health')).body).toMatchObject({
        status: 'degraded',
        checks: {
          non_critical: {
            machine_restart: {
              ok: false,
              error: 'The machine has to be restarted (linux).',
              effect: 'What was repaired there is not in use yet.',
              remedy: expect.stringContaining('page Machine'),
            },
            machine_certificate: { ok: true },
          },
        },
      }),
    10_000,
  )
})
