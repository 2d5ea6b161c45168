import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { selfSigned, type Identity } from '../../support/authority.ts'
import type { Program } from '../around.ts'
import { HEALTHY, json, type Lie, type LyingServer } from './lying-server.ts'
import { stages, TOKEN, type Stage } from './stage.ts'

/** Servers that lie, one row each; inputs.test.ts says what the list is. */
const vendor = generateKeyPairSync('ed25519')
const other = generateKeyPairSync('ed25519')
const BYTES = Buffer.from('the next version of the program')

let program: Program
let server: LyingServer
let id: string
let stage: Stage
stages(vendor.publicKey.export({ type: 'spki', format: 'pem' }).toString(), now => {
  stage = now
  ;({ program, server, id } = now)
})
const askedByPages = (): string[] => stage.askedByPages()

describe('a trusted server that lies to its page', () => {
  const fetchPage = (path: string): Promise<Response> =>
    program.desktop.respond(new Request(`app://${id}${path}`, { headers: { cookie: 'a=b', origin: 'app://x' } }))
  const typed =
    (type: string, more: Readonly<Record<string, string>> = {}): Lie =>
    (_, outgoing) => {
      outgoing.writeHead(200, { 'content-type': type, ...more }).end('<script>alert(1)</script>')
    }
  test.each(['text/html', 'application/xhtml+xml', 'image/svg+xml', 'text/javascript', 'text/css', 'application/wasm'])(
    'about a type: %s comes as bytes that nothing runs',
    async type => {
      server.say(typed(type))
      const { headers, status } = await fetchPage('/api/v1/x')
      expect({ status, type: headers.get('content-type'), sniff: headers.get('x-content-type-options') }).toEqual({
        status: 200,
        type: 'application/octet-stream',
        sniff: 'nosniff',
      })
      expect(headers.get('content-security-policy')).toMatch(/default-src 'none'; sandbox/)
    },
  )
  test.each([
    'set-cookie',
    'clear-site-data',
    'content-security-policy',
    'access-control-allow-origin',
    'link',
    'refresh',
  ])('with a header of its own loses it: %s', async name => {
    server.say(typed('application/json', { [name]: 'evil=1' }))
    expect((await fetchPage('/api/v1/x')).headers.get(name) ?? '').not.toContain('evil')
  })
  test.each([
    [302, 'https://evil.example/'],
    [301, 'file:///etc/passwd'],
    [307, '//evil.example/api'],
    [308, 'app://home/'],
  ])('and sends on with %i to %s is not followed', async (status, location) => {
    server.say((_, outgoing) => void outgoing.writeHead(status, { location }).end())
    const answer = await fetchPage('/api/v1/x')
    expect([answer.status, answer.headers.get('location')]).toEqual([502, null])
    expect(await answer.json()).toMatchObject({ code: 'strange_answer', detail: /not followed/ as unknown })
    expect(askedByPages()).toEqual(['GET /api/v1/x'])
  })
  test('with a number that is no status is told as strange', async () => {
    server.say((_, outgoing) => void outgoing.writeHead(999).end())
    const answer = await fetchPage('/api/v1/x')
    expect(answer.status).toBe(502)
    expect(await answer.json()).toMatchObject({ code: 'strange_answer' })
  })
  test.each(['/', '/index.html', '/assets/x.js', '/console/x', '/apix'])(
    'is not asked for the program itself: %s',
    async path => {
      await fetchPage(path)
      expect(askedByPages()).toEqual([])
    },
  )
})

describe('a trusted server that lies to the program', () => {
  const endless: Lie = (_, outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    const more = (): void => {
      while (!outgoing.destroyed && outgoing.write('x'.repeat(1_000_000)));
    }
    outgoing.on('drain', more)
    more()
  }
  test.each<[string, Lie]>([
    ['no JSON', (_, outgoing) => void outgoing.end('<html>')],
    ['JSON of another kind', json(['healthy'])],
    ['a state that is none', json({ ...HEALTHY, status: 'constructor' })],
    ['a version that is none', json({ ...HEALTHY, version: { toString: 'x' } })],
    ['no end', endless],
    ['a redirect', (_, outgoing) => void outgoing.writeHead(302, { location: 'https://evil.example/' }).end()],
  ])('about its health, with %s, is told as no Gatehouse', async (_, lie) => {
    server.say(lie)
    program.desktop.woke()
    await expect
      .poll(() => stage.view())
      .toMatchObject({ state: 'unreachable', said: expect.stringMatching(/^It answers \d+, and not as/) as string })
    expect((await stage.view())?.version).toBe('1.0.0')
  })

  test.each<[string, Lie, object]>([
    ['waits for ever', json({ code: 'slow', detail: 'Slow.' }, 429, { 'retry-after': '999999999999' }), {}],
    ['allows half a file', json({ code: 'slow', facts: { limit: 0.5 } }, 429, { 'retry-after': '60' }), {}],
    ['has a novel to say', json({ code: 'x'.repeat(5000), detail: 'y'.repeat(100_000) }, 422), { phase: 'failed' }],
    [
      'says what is wrong in a list',
      json({ code: 'x', detail: [{ msg: 'It is no package.' }, 1] }, 422),
      { phase: 'failed', problem: { message: 'It is no package.' } },
    ],
    ['says no sentence', json({ code: { a: 1 }, detail: ['<b>'] }, 422), { phase: 'failed' }],
  ])('about an upload, and %s, leaves the queue readable', async (_, lie, item) => {
    server.say((incoming, outgoing) => {
      incoming.resume().once('end', () => lie(incoming, outgoing))
    })
    await writeFile(join(stage.folder, 'x.deb'), 'x')
    await stage.send(join(stage.folder, 'x.deb'))
    await expect.poll(() => server.asked).toContain('POST /api/v1/upload/stream')
    await expect
      .poll(() => program.page(id, 'uploads.list', {}))
      .toMatchObject('phase' in item ? { items: [item] } : { paused_until: expect.any(String) as string })
    const until = Date.parse((await program.page(id, 'uploads.list', {})).paused_until ?? '') || Date.now()
    expect(until - Date.now()).toBeLessThanOrEqual(3_600_000)
  })

  test('with events that never end, or an id that is no header, does not stop the program', async () => {
    const streams: (string | undefined)[] = []
    server.say((incoming, outgoing) => {
      if (incoming.url !== '/api/v1/dashboard/events') return json(HEALTHY)(incoming, outgoing)
      streams.push(incoming.headers['last-event-id'] as string | undefined)
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      if (streams.length === 1) return void outgoing.end('id: a\u0001b\u00ff\ndata: {"data":1}\n\n')
      outgoing.write(
        `event: package.state\ndata: ${JSON.stringify({ data: { state: 'pending_review', name: 'n'.repeat(5000), version: {} } })}\n\n`,
      )
      return undefined
    })
    program.desktop.woke()
    await expect.poll(() => streams, { timeout: 20_000 }).toEqual([undefined, undefined])
    await expect.poll(() => program.messages, { timeout: 20_000 }).toHaveLength(1)
    expect(program.messages[0]?.body.length).toBeLessThan(200)
  })
})

describe('a server that is somebody else', () => {
  test.each<[string, () => Promise<Identity>, string]>([
    ['another authority of the same name', () => stage.impostor.issue(), 'identity_changed'],
    ['a certificate that signed itself', () => selfSigned(), 'identity_changed'],
    ['another name', () => stage.authority.issue('DNS:elsewhere.example'), 'identity_wrong_name'],
    ['an end that is past', () => stage.authority.issue(undefined, { days: -1 }), 'identity_expired'],
  ])('with %s gets not one byte of a request', async (_, identity, code) => {
    server.show(await identity())
    server.asked.length = 0
    const headers = { authorization: `Bearer ${TOKEN}` }
    await expect
      .poll(async () => {
        // the first may go to a connection of before, which the server has ended
        const answer = await program.desktop.respond(new Request(`app://${id}/api/v1/auth/me`, { headers }))
        return [answer.status, await answer.text()]
      })
      .toEqual([502, expect.stringContaining(`"${code}"`)])
    await stage.send('/etc/hostname')
    expect(server.asked).toEqual([])
  })

  test('with a fingerprint that was pasted for another cannot be trusted', async () => {
    const address = `gatehouse://127.0.0.1:${server.port}?fp=${'0'.repeat(64)}`
    const { look, compared } = await program.home('connections.look', { address })
    expect(compared).toBe('different')
    for (const by of ['fingerprint', 'system'] as const)
      await expect(
        program.home('connections.trust', { look, name: 'x', colour: 'ochre', environment: '', by }),
      ).rejects.toMatchObject({ code: 'fingerprint_differs' })
    expect(server.asked).toEqual([])
  })
})

describe('an update', () => {
  const NAME = 'gatehouse-desktop_9.0.0_amd64.deb'
  const manifest = (change: object = {}, file: object = {}): string =>
    JSON.stringify({
      product: 'gatehouse-desktop',
      version: '9.0.0',
      released_at: '2026-11-20T00:00:00Z',
      notes: 'Fewer words.',
      files: [
        {
          platform: 'linux-x64',
          name: NAME,
          size: BYTES.length,
          sha256: createHash('sha256').update(BYTES).digest('hex'),
          ...file,
        },
      ],
      ...change,
    })
  const signed = (text: string, key = vendor.privateKey): object => ({
    manifest: text,
    signature: sign(null, Buffer.from(text), key).toString('base64'),
  })
  function offer(release: unknown, bytes: Lie = (_, outgoing) => void outgoing.end(BYTES)): void {
    server.say((incoming, outgoing) =>
      (incoming.url === '/api/v1/console/releases' ? json({ releases: [release] }) : bytes)(incoming, outgoing),
    )
  }
  const fetch = (): Promise<unknown> => program.page(id, 'releases.fetch', { version: '9.0.0' })

  test('is offered when nothing is wrong with it, or the rows below would prove nothing', async () => {
    offer(signed(manifest()))
    expect(await program.page(id, 'releases.look', {})).toMatchObject({ version: '9.0.0', is_newer: true })
  })
  test.each<[string, () => unknown]>([
    ['signed with another key', () => signed(manifest(), other.privateKey)],
    ['changed after it was signed', () => ({ ...signed(manifest()), manifest: manifest({ notes: 'Other.' }) })],
    ['without a signature', () => ({ manifest: manifest(), signature: '' })],
    ['with a signature that is none', () => ({ manifest: manifest(), signature: '{}[]<>' })],
    ['of another product', () => signed(manifest({ product: 'gatehouse' }))],
    ['with a version that is none', () => signed(manifest({ version: '9.0.0/../..' }))],
    ['with a name that leads elsewhere', () => signed(manifest({}, { name: '../../.bashrc' }))],
    ['with a name that is hidden', () => signed(manifest({}, { name: '.bashrc' }))],
    ['for another system', () => signed(manifest({}, { platform: 'win32-x64' }))],
    ['that is no JSON', () => signed('{')],
    ['that is no object', () => signed('null')],
    ['of another shape', () => 'releases'],
  ])('%s is not there', async (_, release) => {
    offer(release())
    expect(await program.page(id, 'releases.look', {})).toBeNull()
    await expect(fetch()).rejects.toMatchObject({ code: 'release_is_gone' })
  })
  test('that is older, although it is signed, is a way back to a known hole', async () => {
    offer(signed(manifest({ version: '0.1.0' })))
    expect(await program.page(id, 'releases.look', {})).toMatchObject({ is_newer: false })
    await expect(program.page(id, 'releases.fetch', { version: '0.1.0' })).rejects.toMatchObject({
      code: 'release_is_older',
    })
  })
  test.each<[string, Lie, string]>([
    ['other bytes', (_, outgoing) => void outgoing.end('the next version of the progrAm'), 'release_is_damaged'],
    ['fewer bytes', (_, outgoing) => void outgoing.end(BYTES.subarray(1)), 'release_is_damaged'],
    ['bytes without end', (_, outgoing) => void outgoing.end(Buffer.alloc(5_000_000)), 'release_is_damaged'],
    ['a cut connection', (_, outgoing) => void outgoing.write('the', () => outgoing.destroy()), 'release_is_damaged'],
    [
      'a redirect',
      (_, outgoing) => void outgoing.writeHead(302, { location: 'https://evil.example/' }).end(),
      'release_is_gone',
    ],
  ])('that comes as %s is thrown away', async (_, bytes, code) => {
    offer(signed(manifest()), bytes)
    await expect(fetch()).rejects.toMatchObject({ code })
    expect(existsSync(join(program.folder, 'downloads', `.${NAME}.part`))).toBe(false)
  })
})
