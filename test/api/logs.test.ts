import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'

interface Entry {
  readonly name: string
  readonly message: string
  readonly service: string
  readonly request_id?: string
}

let daemon: Daemon
let token: string
beforeAll(async () => {
  daemon = await startDaemon({ env: { LOG_LEVEL: 'info' } })
  token = await daemon.setupAdmin()
})
afterAll(() => daemon.close())

async function entries(query: string): Promise<readonly Entry[]> {
  const { status, body } = await daemon.call<{ entries: readonly Entry[] }>('GET', `/logs?${query}`, { token })
  expect(status).toBe(200)
  return body.entries
}

test('one id leads from the request to its log lines, its audit line and its job', async () => {
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  const form = new FormData()
  form.set(
    'file',
    new Blob([new Uint8Array(await buildDeb({ name: 'hello', version: '1.0', arch: 'amd64' }))]),
    'h.deb',
  )
  form.set('distribution', 'jammy')
  const id = { 'X-Request-ID': 'my-upload-7' }
  expect((await daemon.call('POST', '/upload/', { token, form, headers: id })).status).toBe(201)
  await expect
    .poll(async () => (await entries('request_id=my-upload-7')).map(({ name, message }) => [name, message]))
    .toEqual([['http', expect.stringMatching(/^POST \/api\/v1\/upload\/ 201, \d+ ms$/)]])
  const audit = await daemon.call<{ items: readonly Record<string, unknown>[] }>(
    'GET',
    '/artifacts/audit/logs?request_id=my-upload-7',
    { token },
  )
  expect(audit.body.items.map(({ action, package: name, request_id }) => [action, name, request_id])).toEqual([
    ['UPLOAD', 'hello', 'my-upload-7'],
  ])
  expect((await daemon.call('GET', '/artifacts/audit/integrity', { token })).body).toMatchObject({ ok: true })
})

test('requests of trees are in the list of downloads, probes in no file', async () => {
  await daemon.call('GET', '/repos/dists/jammy/InRelease', { headers: { 'X-Request-ID': 'tree-1' } })
  await daemon.call('GET', '/health', { headers: { 'X-Request-ID': 'probe-1' } })
  await expect
    .poll(async () => (await entries('request_id=tree-1')).map(({ service }) => service))
    .toEqual(['apt-repo'])
  expect(await entries('q=probe-1')).toEqual([])
  expect(daemon.log()).toContain('probe-1')
})

test('lines stay after a restart, and after kill -9', async () => {
  await daemon.call('GET', '/auth/roles', { headers: { 'X-Request-ID': 'before-1' } })
  await daemon.stop()
  await daemon.restart()
  await daemon.call('GET', '/auth/roles', { headers: { 'X-Request-ID': 'before-2' } })
  await expect.poll(() => entries('request_id=before-2')).toHaveLength(1)
  await daemon.kill9()
  await daemon.restart()
  for (const id of ['before-1', 'before-2']) expect(await entries(`request_id=${id}`), id).toHaveLength(1)
  expect((await readdir(join(daemon.root, 'logs'))).every(name => /^(gatehouse|trees)-.+\.log$/.test(name))).toBe(true)
})

test('a folder that cannot hold logs refuses the start in one sentence', async () => {
  const refused = startDaemon({ env: { LOG_FOLDER: '/proc/nowhere/logs' } })
  await expect(refused).rejects.toThrow(/LOG_FOLDER=\/proc\/nowhere\/logs: .* Set LOG_FOLDER to a folder/)
})
