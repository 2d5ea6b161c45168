import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAuthority, selfSigned, type Authority } from '../support/authority.ts'
import { ADMIN, startDaemon, type Daemon } from '../support/daemon.ts'
import { startTlsFront, type TlsFront } from '../support/tls-front.ts'
import { startProgram, type Program } from './around.ts'

let daemon: Daemon
let authority: Authority
let impostor: Authority
let front: TlsFront
let program: Program

beforeAll(async () => {
  daemon = await startDaemon()
  await daemon.setupAdmin()
  // the same name: only the keys tell them apart
  ;[authority, impostor] = await Promise.all([createAuthority(), createAuthority()])
})
afterAll(async () => {
  await Promise.all([daemon.close(), authority.close(), impostor.close()])
})
beforeEach(async () => {
  front = await startTlsFront(daemon.url, await authority.issue())
  program = await startProgram()
})
afterEach(async () => {
  await program.close()
  await front.close()
})

const FACTS = { name: 'gatehouse-01', colour: 'ochre', environment: 'Production', by: 'fingerprint' } as const
async function trustFront(): Promise<string> {
  const { look } = await program.home('connections.look', { address: front.origin })
  return (await program.home('connections.trust', { look, ...FACTS })).id
}
const state = async (id: string): Promise<string | undefined> =>
  (await program.home('connections.list', {})).find(one => one.id === id)?.state
/** A request of the appliance's page, as the console makes them. */
const fetchPage = (id: string, path: string, init: RequestInit = {}): Promise<Response> =>
  program.desktop.respond(new Request(`app://${id}${path}`, init))
async function signIn(id: string): Promise<string> {
  const answer = await fetchPage(id, '/api/v1/auth/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ADMIN),
  })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  await program.page(id, 'session.keep', { token })
  return token
}

describe('first trust', () => {
  test('shows who answers, and sends nothing', async () => {
    const look = await program.home('connections.look', { address: front.origin })
    expect(look).toMatchObject({
      origin: front.origin,
      kind: 'authority',
      is_vouched_for: false,
      compared: 'not_given',
      known_as: null,
      identity: { subject: 'Gatehouse appliance CA', host_names: ['localhost', '127.0.0.1'] },
    })
    expect(look.identity.fingerprint).toHaveLength(16)
    expect(front.asked).toEqual([])
  })

  test('compares the fingerprint of a pasted address', async () => {
    const { identity } = await program.home('connections.look', { address: front.origin })
    const at = (fp: string): string => `gatehouse://127.0.0.1:${front.port}?fp=${fp}&token=K7MQR2XD9HVT`
    const same = await program.home('connections.look', { address: at(identity.fingerprint.join('')) })
    expect(same.compared).toBe('same')
    const other = await program.home('connections.look', { address: at('0'.repeat(64)) })
    expect(other.compared).toBe('different')
    await expect(program.home('connections.trust', { look: other.look, ...FACTS })).rejects.toMatchObject({
      code: 'fingerprint_differs',
    })
    expect(await program.home('connections.list', {})).toEqual([])
    expect(front.asked).toEqual([])
  })

  test('pins the authority, and the API answers through it', async () => {
    const id = await trustFront()
    const answer = await fetchPage(id, '/health')
    expect(answer.status).toBe(200)
    await expect.poll(() => state(id)).toMatch(/^(healthy|degraded)$/)
    expect(await readFile(join(program.folder, 'connections.json'), 'utf8')).toContain('BEGIN CERTIFICATE')
  })

  test('refuses an address that is known, and one that does not answer', async () => {
    await trustFront()
    const again = await program.home('connections.look', { address: front.origin })
    expect(again.known_as).toBe('gatehouse-01')
    await expect(program.home('connections.trust', { look: again.look, ...FACTS })).rejects.toMatchObject({
      code: 'known_address',
    })
    await expect(program.home('connections.look', { address: 'https://127.0.0.1:1' })).rejects.toMatchObject({
      code: 'no_answer',
    })
    await expect(program.home('connections.look', { address: daemon.url })).rejects.toMatchObject({
      code: 'bad_address',
    })
    await expect(
      program.home('connections.look', { address: daemon.url.replace('http:', 'https:') }),
    ).rejects.toMatchObject({ code: 'no_answer' })
  })

  test('of a certificate that signed itself, and of one without its authority', async () => {
    front.show(await selfSigned())
    const own = await program.home('connections.look', { address: front.origin })
    expect(own.kind).toBe('own_certificate')
    const { id } = await program.home('connections.trust', { look: own.look, ...FACTS })
    expect((await fetchPage(id, '/health')).status).toBe(200)
    await program.home('connections.remove', { id })

    front.show(await authority.issue(undefined, { withoutAuthority: true }))
    const leaf = await program.home('connections.look', { address: front.origin })
    expect(leaf.kind).toBe('leaf_only')
    const second = await program.home('connections.trust', { look: leaf.look, ...FACTS })
    expect((await fetchPage(second.id, '/health')).status).toBe(200)
  })
})

describe('the certificates of this computer', () => {
  test('vouch for an appliance of a company, and for no other', async () => {
    await program.close()
    program = await startProgram({ system: () => [authority.ca] })
    const look = await program.home('connections.look', { address: front.origin })
    expect(look.is_vouched_for).toBe(true)
    const { id, trust, fingerprint } = await program.home('connections.trust', {
      look: look.look,
      ...FACTS,
      by: 'system',
    })
    expect({ trust, fingerprint }).toEqual({ trust: 'system', fingerprint: null })
    expect((await fetchPage(id, '/health')).status).toBe(200)
    front.show(await impostor.issue())
    expect((await fetchPage(id, '/health')).status).toBe(502)
    expect(await state(id)).toBe('changed')
  })

  test('are not asked where they do not vouch', async () => {
    const { look } = await program.home('connections.look', { address: front.origin })
    await expect(program.home('connections.trust', { look, ...FACTS, by: 'system' })).rejects.toMatchObject({
      code: 'not_vouched_for',
    })
  })
})

describe('a certificate that is another one later', () => {
  test('of the same authority is taken without a word', async () => {
    const id = await trustFront()
    await fetchPage(id, '/health')
    front.show(await authority.issue())
    expect((await fetchPage(id, '/health')).status).toBe(200)
    expect(await state(id)).not.toBe('changed')
  })

  test('of another authority stops everything: no token, no name, no file goes there', async () => {
    const id = await trustFront()
    const token = await signIn(id)
    program.loaded.push(`app://${id}/`)
    front.show(await impostor.issue())
    front.asked.length = 0
    const answer = await fetchPage(id, '/api/v1/auth/me', { headers: { authorization: `Bearer ${token}` } })
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 502,
      body: { code: 'identity_changed' },
    })
    expect(front.asked).toEqual([])
    expect(await state(id)).toBe('changed')
    expect(program.loaded.at(-1)).toBe(`app://home/#/changed?id=${id}`)
    // and it opens no page of that appliance
    await program.home('connections.open', { id })
    expect(program.loaded.at(-1)).toBe(`app://home/#/changed?id=${id}`)
  })

  test('is trusted anew by its last eight digits alone, and the session of before is gone', async () => {
    const id = await trustFront()
    await signIn(id)
    front.show(await impostor.issue())
    const changed = await program.home('connections.changed', { id })
    expect(changed.before?.fingerprint).not.toEqual(changed.now.identity.fingerprint)
    const [last, lastButOne] = [changed.now.identity.fingerprint[15] ?? '', changed.now.identity.fingerprint[14] ?? '']
    for (const digits of ['', '0000 0000', last, `${lastButOne}${last}00`])
      await expect(program.home('connections.accept', { id, look: changed.now.look, digits })).rejects.toMatchObject({
        code: 'wrong_digits',
      })
    expect((await fetchPage(id, '/health')).status).toBe(502)
    await program.home('connections.accept', {
      id,
      look: changed.now.look,
      digits: `${lastButOne} ${last}`.toLowerCase(),
    })
    expect((await fetchPage(id, '/health')).status).toBe(200)
    expect(await program.page(id, 'session.read', {})).toEqual({ token: null })
    // the one of before is now the other one
    front.show(await authority.issue())
    expect((await fetchPage(id, '/health')).status).toBe(502)
  })

  test('the one of before comes back, and all goes on', async () => {
    const id = await trustFront()
    front.show(await impostor.issue())
    await fetchPage(id, '/health')
    expect(await state(id)).toBe('changed')
    front.show(await authority.issue())
    program.desktop.woke()
    await expect.poll(() => state(id)).toMatch(/^(healthy|degraded)$/)
  })

  test('that is for another name, or has ended, is told apart', async () => {
    const id = await trustFront()
    front.show(await authority.issue('DNS:elsewhere.example'))
    expect((await fetchPage(id, '/health')).status).toBe(502)
    expect(await state(id)).toBe('wrong_name')
    front.show(await authority.issue(undefined, { days: -1 }))
    expect((await fetchPage(id, '/health')).status).toBe(502)
    expect(await state(id)).toBe('expired')
  })

  test('its details can be saved', async () => {
    const id = await trustFront()
    front.show(await impostor.issue())
    expect(await program.home('connections.save_details', { id })).toEqual({ saved: false })
    program.save = join(program.folder, 'details.json')
    expect(await program.home('connections.save_details', { id })).toEqual({ saved: true })
    const details = JSON.parse(await readFile(program.save, 'utf8')) as { certificates: string[]; before: unknown }
    expect(details.certificates).toHaveLength(2)
    expect(details.before).not.toBeNull()
  })
})

describe('the list', () => {
  test('is there again after a restart, with names, colours, order and the last place', async () => {
    const id = await trustFront()
    await program.page(id, 'place.keep', { hash: '#/packages?q=curl' })
    await program.page(id, 'place.keep', { hash: '#/login?sso=abc' })
    await program.home('connections.change', { id, name: '  line 4 ', colour: 'pine', environment: 'Lab' })
    await program.restart()
    expect(await program.home('connections.list', {})).toMatchObject([
      { id, name: 'line 4', colour: 'pine', environment: 'Lab' },
    ])
    expect(program.desktop.firstUrl(id)).toBe(`app://${id}/#/packages?q=curl`)
    expect(program.desktop.firstUrl('a000000000000')).toBe('app://home/')
    expect(program.desktop.commands().map(({ label, accelerator }) => [label, accelerator])).toEqual([
      ['All appliances', 'CommandOrControl+0'],
      ['line 4', 'CommandOrControl+1'],
    ])
  })

  test('an appliance under a new address needs no new trust, and an unknown one is refused', async () => {
    const id = await trustFront()
    const second = await startTlsFront(daemon.url, await authority.issue())
    try {
      await program.home('connections.change', { id, address: `localhost:${second.port}` })
      expect((await fetchPage(id, '/health')).status).toBe(200)
      expect(second.asked).toContain('GET /health')
      await expect(program.home('connections.change', { id, name: ' ' })).rejects.toMatchObject({ code: 'no_name' })
      await expect(program.home('connections.remove', { id: 'a000000000000' })).rejects.toMatchObject({
        code: 'unknown_appliance',
      })
    } finally {
      await second.close()
    }
  })
})

test('signing out everywhere ends the sessions on the appliances, too', async () => {
  const id = await trustFront()
  const token = await signIn(id)
  const me = (): Promise<Response> =>
    fetchPage(id, '/api/v1/auth/me', { headers: { authorization: `Bearer ${token}` } })
  expect((await me()).status).toBe(200)
  expect(await program.home('connections.sign_out_all', {})).toEqual({ signed_out: 1, not_told: [] })
  expect((await me()).status).toBe(401)
  expect(await program.page(id, 'session.read', {})).toEqual({ token: null })
})
