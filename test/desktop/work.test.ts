import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAuthority, type Authority } from '../support/authority.ts'
import { ADMIN, startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { startTlsFront, type TlsFront } from '../support/tls-front.ts'
import type { UploadsView } from '../../electron/core/bridge.ts'
import { WORDS } from '../../electron/core/words.ts'
import { readEvents } from '../../ui/sse.ts'
import { startProgram, type Program } from './around.ts'

let daemon: Daemon
let authority: Authority
let impostor: Authority
let front: TlsFront
let program: Program
let id: string
let token: string
let folder: string

beforeAll(async () => {
  // without an antivirus that answers, packages are held when the settings say so
  daemon = await startDaemon({ env: { CLAMD_SOCKET: '/nonexistent/clamd.sock' } })
  token = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token })
  ;[authority, impostor] = await Promise.all([createAuthority(), createAuthority()])
  folder = await mkdtemp(join(tmpdir(), 'gh-files-'))
})
afterAll(async () => {
  await Promise.all([daemon.close(), authority.close(), impostor.close(), rm(folder, { recursive: true, force: true })])
})
beforeEach(async () => {
  front = await startTlsFront(daemon.url, await authority.issue())
  program = await startProgram()
  const { look } = await program.home('connections.look', { address: front.origin })
  const facts = { name: 'gatehouse-01', colour: 'ochre', environment: '', by: 'fingerprint' } as const
  id = (await program.home('connections.trust', { look, ...facts })).id
  token = (await daemon.call<{ access_token: string }>('POST', '/auth/token', { body: ADMIN })).body.access_token
})
afterEach(async () => {
  await program.close()
  await front.close()
})

const signIn = (): Promise<unknown> => program.page(id, 'session.keep', { token })
async function file(name: string, bytes: Buffer): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, bytes)
  return path
}
const add = (paths: readonly string[], distribution = 'jammy'): Promise<unknown> =>
  program.desktop.message(
    'uploads.add',
    { files: paths.map(path => ({ path, format: 'deb', form: { distribution, component: '' } })) },
    `app://${id}/`,
  )
const uploads = (): Promise<UploadsView> => program.page(id, 'uploads.list', {})
const phases = async (): Promise<string[]> => (await uploads()).items.map(({ phase }) => phase)

describe('files from disk', () => {
  test('go by their path, with progress and every step of the gate', async () => {
    await signIn()
    const bytes = await buildDeb({
      name: 'by-path',
      version: '1.0',
      files: { 'usr/share/x': randomBytes(700_000).toString('hex') },
    })
    expect(await add([await file('by-path_1.0_amd64.deb', bytes)])).toEqual({ ok: true, value: {} })
    await expect.poll(phases, { timeout: 60_000 }).toEqual(['done'])
    const [item] = (await uploads()).items
    expect(item).toMatchObject({ name: 'by-path_1.0_amd64.deb', size: bytes.length, sent: bytes.length, problem: null })
    expect(item?.result).toMatchObject({ name: 'by-path', version: '1.0', status: 'published' })
    expect(item?.told.map(({ step }) => step)).toEqual(expect.arrayContaining(['format', 'antivirus', 'publish']))
    program.loaded.push(`app://${id}/`)
    expect(await daemon.call('GET', '/artifacts/by-path', { token })).toMatchObject({ status: 200 })
  })

  test('wait for a sign-in and a distribution, and pause', async () => {
    expect(await add(['/nowhere'])).toMatchObject({ ok: false, code: 'not_signed_in' })
    await signIn()
    await program.page(id, 'uploads.pause', { is_paused: true })
    const path = await file('paused_1.0_amd64.deb', await buildDeb({ name: 'paused', version: '1.0' }))
    await add([path, path], '')
    const ids = (await uploads()).items.map(({ id: one }) => one)
    expect(await phases()).toEqual(['waiting', 'waiting'])
    await program.page(id, 'uploads.remove', { ids: ids.slice(1) })
    await program.page(id, 'uploads.aim', { ids, format: 'deb', form: { distribution: 'jammy', component: '' } })
    expect(await uploads()).toMatchObject({ is_paused: true, items: [{ phase: 'waiting' }] })
    await program.page(id, 'uploads.pause', { is_paused: false })
    await expect.poll(phases, { timeout: 60_000 }).toEqual(['done'])
  })

  test('that are gone or refused are told with the way out, and only they are tried again', async () => {
    await signIn()
    const path = await file('bad_1.0_amd64.deb', Buffer.from('no package at all'))
    await add([join(folder, 'gone.deb'), path])
    await expect.poll(phases, { timeout: 60_000 }).toEqual(['failed', 'failed'])
    const { items } = await uploads()
    expect(items.map(({ problem }) => problem?.code)).toEqual([
      'file_gone',
      expect.stringMatching(/unknown_format|bad_package/),
    ])
    expect(items[0]?.problem?.message).toMatch(/^gone\.deb is not at its place/)
    await file('gone.deb', await buildDeb({ name: 'gone', version: '1.0' }))
    await program.page(id, 'uploads.retry', { ids: [items[0]?.id ?? 0] })
    await expect.poll(phases, { timeout: 60_000 }).toEqual(['done', 'failed'])
  })

  test('survive a reload of the page and a restart of the program', async () => {
    await signIn()
    await program.page(id, 'uploads.pause', { is_paused: true })
    await add([await file('later_1.0_amd64.deb', await buildDeb({ name: 'later', version: '1.0' }))])
    await program.restart()
    expect(await phases()).toEqual(['waiting'])
    await signIn()
    await expect.poll(phases, { timeout: 60_000 }).toEqual(['done'])
  })

  test('do not go to another identity, and wait on this computer', async () => {
    await signIn()
    front.show(await impostor.issue())
    await program.desktop.respond(new Request(`app://${id}/health`))
    front.asked.length = 0
    await add([await file('waits_1.0_amd64.deb', await buildDeb({ name: 'waits', version: '1.0' }))])
    expect(await phases()).toEqual(['waiting'])
    expect(front.asked).toEqual([])
    front.show(await authority.issue())
    program.desktop.woke()
    await expect.poll(phases, { timeout: 60_000 }).toEqual(['done'])
  })

  test('of one person are not sent in the name of another', async () => {
    await signIn()
    await program.page(id, 'uploads.pause', { is_paused: true })
    await add([await file('mine_1.0_amd64.deb', await buildDeb({ name: 'mine', version: '1.0' }))])
    await daemon.call('POST', '/auth/users', {
      token,
      body: {
        username: 'other',
        role: 'uploader',
        password: 'Correct-horse-9',
        email: 'o@example.org',
        full_name: 'O',
      },
    })
    const other = await daemon.call<{ access_token: string }>('POST', '/auth/token', {
      body: { username: 'other', password: 'Correct-horse-9' },
    })
    await program.page(id, 'session.keep', { token: other.body.access_token })
    await program.page(id, 'uploads.pause', { is_paused: false })
    expect(await phases()).toEqual(['waiting'])
    await add([await file('theirs_1.0_amd64.deb', await buildDeb({ name: 'theirs', version: '1.0' }))])
    await expect
      .poll(async () => (await uploads()).items.map(({ name, phase }) => [name, phase]), { timeout: 60_000 })
      .toEqual([['theirs_1.0_amd64.deb', 'done']])
  })
})

describe('what an appliance tells', () => {
  const view = async () => (await program.home('connections.list', {}))[0]

  test('is its health, its version, its clock, and what waits', async () => {
    await signIn()
    await expect
      .poll(view)
      .toMatchObject({ is_signed_in: true, clock_ahead_s: 0, waiting: 0, version: expect.any(String) as string })
    await expect
      .poll(() => program.tray.lines)
      .toEqual([expect.stringMatching(/^gatehouse-01: (Healthy|Degraded), 0 to review$/)])
  })

  test('is shown outside of the pages in the words that a page told, also at the next start', async () => {
    const words = { ...WORDS, unreachable: 'Nicht erreichbar', all_appliances: 'Alle Appliances' }
    await program.page(id, 'host.words', words)
    front.lead('http://127.0.0.1:1')
    program.desktop.woke()
    await expect.poll(() => program.tray.lines).toEqual(['gatehouse-01: Nicht erreichbar'])
    expect(program.desktop.commands()[0]?.label).toBe('Alle Appliances')
    for (const wrong of [{ ...words, cut: '' }, { ...words, cut: 'a\nb' }, { ...words, more: 'x' }, { cut: 'Cut' }])
      expect(await program.desktop.message('host.words', wrong, `app://${id}/`)).toMatchObject({ code: 'bad_message' })
    await program.restart()
    expect(program.desktop.words()).toEqual(words)
  })

  test('streams to the page as it comes, and the page may come back to where it was', async () => {
    const abort = new AbortController()
    const answer = await program.desktop.respond(
      new Request(`app://${id}/api/v1/dashboard/events`, {
        headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
        signal: abort.signal,
      }),
    )
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(answer.headers.get('content-security-policy')).toMatch(/sandbox/)
    const events = readEvents(answer.body as ReadableStream<Uint8Array>)
    expect((await events.next()).value).toMatchObject({ event: 'hello' })
    await daemon.upload(await buildDeb({ name: 'streamed', version: '1.0' }), { token })
    let seen
    do seen = (await events.next()).value
    while (seen !== undefined && seen.event !== 'package.state')
    expect(JSON.parse(seen?.data ?? '{}')).toMatchObject({ data: { name: 'streamed' } })
    abort.abort()
  })

  test('a held package is told by the system, and a press on it leads to the queue', async () => {
    await signIn()
    await expect.poll(() => front.asked.filter(one => one.includes('/dashboard/events')).length).toBeGreaterThan(0)
    await daemon.call('PATCH', '/settings/', { token, body: { validation: { on_scanner_unavailable: 'hold' } } })
    for (const name of ['held-one', 'held-two'])
      expect((await daemon.upload(await buildDeb({ name, version: '1.0' }), { token })).body.status).toBe(
        'pending_review',
      )
    // several within seconds are one message
    await expect.poll(() => program.messages).toHaveLength(1)
    expect(program.messages[0]).toMatchObject({
      title: '2 packages wait for review',
      body: 'gatehouse-01: held-one 1.0, held-two 1.0',
    })
    program.messages[0]?.opened()
    expect(program.loaded.at(-1)).toBe(`app://${id}/#/review`)
    await expect.poll(view).toMatchObject({ waiting: 2 })
    expect(program.tray.waiting).toBe(2)
    await daemon.call('PATCH', '/settings/', { token, body: { validation: { on_scanner_unavailable: 'warn' } } })
  })

  test('a refused token ends the session here, too', async () => {
    await signIn()
    await daemon.call('POST', '/auth/logout', { token })
    program.desktop.woke()
    await expect.poll(view).toMatchObject({ is_signed_in: false, waiting: null })
    await expect.poll(() => program.page(id, 'session.read', {})).toEqual({ token: null })
  })

  test('after sleep the dead stream is opened anew at once', async () => {
    await signIn()
    const opened = (): number => front.asked.filter(one => one.includes('/dashboard/events')).length
    await expect.poll(opened).toBe(1)
    program.desktop.woke()
    await expect.poll(opened).toBe(2)
    await front.close()
    program.desktop.woke()
    await expect.poll(view).toMatchObject({ state: 'unreachable', said: 'It does not answer.' })
  })
})
