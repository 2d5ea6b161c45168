import { writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Busboy, type BusboyHeaders } from '@fastify/busboy'
import { describe, expect, test } from 'vitest'
import { filesIn, linkIn } from '../../../electron/core/deep-links.ts'
import { readAnnouncement } from '../../../electron/core/discovery.ts'
import type { Program } from '../around.ts'
import { HEALTHY, json, type LyingServer } from './lying-server.ts'
import { stages, TOKEN, type Stage } from './stage.ts'

/**
 * Every hostile input that the desktop program is held against, one row each: here links, messages, names of files and
 * announcements; in servers.test.ts servers that lie, and updates; in window.test.ts markup. What Electron itself is
 * asked to refuse is in ../host.test.ts.
 */
const NONE = 'a999999999999'

let program: Program
let server: LyingServer
let id: string
let stage: Stage
stages(undefined, now => {
  stage = now
  ;({ program, server, id } = now)
})
const askedByPages = (): string[] => stage.askedByPages()

describe('a link', () => {
  const OWN = 'APPLIANCE'
  test.each([
    ['gatehouse://', /no link of Gatehouse/],
    ['gatehouse:///etc/passwd', /no link|no address|no host|names no appliance|without/],
    [`gatehouse:${OWN}/review`, /no link of Gatehouse/],
    [`gatehouse://${OWN}/../../etc/passwd`, /no screen/],
    [`gatehouse://${OWN}//evil.example/`, /no screen/],
    [`gatehouse://${OWN}/review/approve`, /no screen/],
    [`gatehouse://${OWN}/%23/review`, /no screen/],
    [`gatehouse://${OWN}/<script>alert(1)</script>`, /no screen/],
    [`gatehouse://${OWN}/review\nHost: evil`, /no link of Gatehouse/],
    [`gatehouse://user:word@${OWN}/review`, /no name and no password/],
    [`gatehouse://${OWN}@evil.example/review`, /no name and no password/],
    ['gatehouse://[::1', /names no appliance/],
    ['gatehouse://gatehouse-01:99999/', /names no appliance/],
    ['gatehouse://10.20.0.31?fp=00', /not whole/],
    [`gatehouse://${OWN}/packages?q=${'a'.repeat(3000)}`, /too long/],
    ['https://evil.example/review', /no link of Gatehouse/],
    ['javascript:alert(1)//gatehouse://', /no link of Gatehouse/],
    ['file:///etc/passwd', /no link of Gatehouse/],
    ['--inspect=9229', /no link of Gatehouse/],
  ])('opens nothing and is told why: %j', (link, why) => {
    program.desktop.openLink(link.replace(OWN, `127.0.0.1:${server.port}`))
    expect(program.loaded).toEqual(['app://home/'])
    expect(program.messages).toMatchObject([{ title: 'The link was not opened' }])
    expect(program.messages[0]?.body).toMatch(why)
    expect(askedByPages()).toEqual([])
  })

  test.each([
    ['review?pick=curl&decide=approve&justification=ok&token=abc', '#/review?pick=curl'],
    ['packages?q=%3Cimg%20src=x%20onerror=alert(1)%3E', '#/packages'],
    ['packages?q=javascript:alert(1)//%22%3E', '#/packages'],
    ['login?sso=stolen-code', '#/login'],
  ])('opens a place and carries nothing that would be done: %s', (rest, hash) => {
    program.desktop.openLink(`gatehouse://127.0.0.1:${server.port}/${rest}`)
    expect(program.loaded.at(-1)).toBe(`app://${id}/${hash}`)
  })

  test('to a stranger fills its address in, without the token, and asks nobody', () => {
    program.desktop.openLink('gatehouse://10.20.0.31:444/review?token=K7MQR2XD9HVT')
    expect(program.loaded.at(-1)).toBe('app://home/#/add?address=gatehouse%3A%2F%2F10.20.0.31%3A444')
  })

  test.each([
    [['/usr/bin/gatehouse', '--load=gatehouse://a/b'], undefined, []],
    [['/usr/bin/gatehouse', 'gatehouse://a/b', '/tmp/x.deb'], 'gatehouse://a/b', []],
    [['/usr/bin/gatehouse', '--x.deb', '-y.rpm', '/etc/passwd', 'x.deb.exe'], undefined, []],
  ])('among the words of a start: %j', (words, link, files) => {
    expect([linkIn(words), filesIn(words)]).toEqual([link, files])
  })

  test.each([
    'http://nvd.nist.gov/',
    'https://nvd.nist.gov.evil.example/',
    'https://nvd.nist.gov@evil.example/',
    'https://nvd.nist.gov:8443/',
    'https://evil.example/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'smb://server/share',
    'vscode://x',
    'app://home/repos/x',
    `app://${NONE}/repos/x`,
    '',
  ])('of a page is not opened outside: %s', link => {
    expect(program.desktop.openOutside(link)).toBe(false)
  })
})

describe('a message of a page', () => {
  const home = 'app://home/'
  const rows: readonly (readonly [channel: string, ask: unknown, sender: string, code: string])[] = [
    ['host.describe', {}, 'https://evil.example/', 'foreign_page'],
    ['host.describe', {}, 'app://home.evil.example/', 'foreign_page'],
    ['host.describe', {}, 'file:///etc/passwd', 'foreign_page'],
    ['session.read', {}, `app://${NONE}/`, 'unknown_appliance'],
    ['session.read', {}, home, 'not_here'],
    ['uploads.list', {}, home, 'not_here'],
    ['connections.look', { address: '127.0.0.1' }, 'OWN', 'not_here'],
    ['connections.remove', { id: 'OWN' }, 'OWN', 'not_here'],
    ['connections.trust', {}, 'OWN', 'not_here'],
    ['__proto__', {}, home, 'unknown_channel'],
    ['constructor', {}, home, 'unknown_channel'],
    ['shell.openExternal', { url: 'https://evil.example/' }, home, 'unknown_channel'],
    ['uploads.add', { files: [{ path: '/etc/passwd' }] }, home, 'unknown_channel'],
    ['uploads.add', { files: [] }, 'OWN', 'bad_message'],
    ['uploads.add', { files: [{ path: '/x.deb', format: 'deb', form: {}, token: 'x' }] }, 'OWN', 'bad_message'],
    ['connections.open', { id: '../../etc' }, home, 'bad_message'],
    ['connections.open', { id: NONE }, home, 'unknown_appliance'],
    ['connections.look', { address: { toString: 'x' } }, home, 'bad_message'],
    ['connections.look', { address: 'x'.repeat(3000) }, home, 'bad_message'],
    ['connections.look', { address: 'javascript://alert(1)' }, home, 'bad_address'],
    ['connections.look', { address: '<img src=x onerror=alert(1)>' }, home, 'bad_address'],
    ['connections.look', { address: 'box@evil.example' }, home, 'bad_address'],
    ['connections.accept', { id: 'OWN', look: 'none', digits: '00000000' }, home, 'look_is_gone'],
    ['connections.change', { id: 'OWN', address: 'http://127.0.0.1' }, home, 'bad_address'],
    ['connections.change', { id: 'OWN', trust: { by: 'system' } }, home, 'bad_message'],
    ['session.keep', { token: 'a\r\nX-Role: admin' }, 'OWN', 'bad_message'],
    ['place.keep', { hash: 'javascript:alert(1)' }, 'OWN', 'bad_message'],
    ['clipboard.write', { text: 'x'.repeat(1_000_001), is_secret: false }, 'OWN', 'bad_message'],
    ['releases.fetch', { version: '../../../etc/passwd' }, 'OWN', 'release_is_gone'],
    ['host.describe', { and: 'more' }, home, 'bad_message'],
    ['host.describe', null, home, 'bad_message'],
  ]
  test.each(rows)('on %s with %j from %s is refused: %s', async (channel, ask, sender, code) => {
    const filled = JSON.parse(JSON.stringify(ask).replace('"OWN"', `"${id}"`)) as unknown
    const answer = await program.desktop.message(channel, filled, sender === 'OWN' ? `app://${id}/` : sender)
    expect(answer).toEqual({ ok: false, code, message: expect.stringMatching(/^\S.{15,}\.$/) as string })
    expect(program.loaded).toEqual(['app://home/'])
    expect((await program.page(id, 'uploads.list', {})).items).toEqual([])
    expect(await program.page(id, 'session.read', {})).toEqual({ token: TOKEN })
  })
})

describe('the name of a file', () => {
  /** What a server understands of an upload. */
  async function readForm(incoming: IncomingMessage): Promise<unknown[]> {
    const found: unknown[] = []
    const form = new Busboy({ headers: incoming.headers as BusboyHeaders, preservePath: true })
    form.on('field', (name, value) => found.push([name, value]))
    form.on('file', (name, stream, filename) => {
      found.push([name, filename])
      stream.resume()
    })
    await new Promise((resolve, reject) => incoming.pipe(form).once('finish', resolve).once('error', reject))
    return found
  }
  test.each([
    ['a"; name="distribution.deb', 'a%22; name=%22distribution.deb'],
    ['a\r\nX-Role: admin\r\n\r\n.deb', 'a%0D%0AX-Role: admin%0D%0A%0D%0A.deb'],
    ['$(touch x); rm -rf ~.deb', '$(touch x); rm -rf ~.deb'],
    ['<img src=x onerror=alert(1)>.deb', '<img src=x onerror=alert(1)>.deb'],
    ['--load.deb', '--load.deb'],
    [`${'a'.repeat(250)}.deb`, `${'a'.repeat(250)}.deb`],
  ])('is one name and nothing else: %j', async (name, sent) => {
    let form: Promise<unknown[]> | undefined
    server.say((incoming, outgoing) => {
      if (incoming.url === '/api/v1/upload/stream') {
        form = readForm(incoming)
        void form.finally(() => json({ code: 'bad_package', detail: 'No.' }, 422)(incoming, outgoing))
      } else json(HEALTHY)(incoming, outgoing)
    })
    await writeFile(join(stage.folder, name), 'x')
    await stage.send(join(stage.folder, name))
    await expect.poll(() => stage.phases()).toEqual(['failed'])
    expect(await form).toEqual([
      ['distribution', 'jammy'],
      ['file', sent],
    ])
    expect((await program.page(id, 'uploads.list', {})).items[0]?.name).toBe(name)
  })
  test.each(['/nonexistent/x.deb', '/etc', '/dev/zero'])('is no file to send: %s', async path => {
    await stage.send(path)
    await expect.poll(() => stage.phases()).toEqual(['failed'])
    expect((await program.page(id, 'uploads.list', {})).items[0]?.problem).toMatchObject({ code: 'file_gone' })
    expect(server.asked).not.toContain('POST /api/v1/upload/stream')
  })
})

describe('an announcement in the network', () => {
  const service = { name: 'gatehouse-02', host: 'gatehouse-02.local', port: 443, addresses: ['10.20.0.31'], txt: {} }
  test.each([
    { port: 0 },
    { port: 70_000 },
    { port: Number.NaN },
    { addresses: [], host: 'evil example' },
    { addresses: [], host: '<b>x</b>' },
    { addresses: [], host: 'x/../y' },
    { addresses: [], host: 'user:word@evil.example' },
    { addresses: [], host: '' },
  ])('that names no address to try is nothing: %o', change => {
    expect(readAnnouncement({ ...service, ...change })).toBeUndefined()
  })
  test('is shortened and without what does not print', () => {
    const one = readAnnouncement({ ...service, name: `a\u202eb\n${'x'.repeat(200)}`, txt: { v: 'v'.repeat(500) } })
    expect(one?.name).toMatch(/^abx{61}$/)
    expect(one?.version).toHaveLength(40)
  })
  test('with the name of a trusted appliance is compared like a stranger', async () => {
    server.show(await stage.impostor.issue())
    const found = readAnnouncement({ ...service, name: 'box', addresses: ['127.0.0.1'], port: server.port })
    const { look } = await program.home('connections.look', { address: found?.address ?? '' })
    await expect(
      program.home('connections.trust', { look, name: 'box', colour: 'ochre', environment: '', by: 'fingerprint' }),
    ).rejects.toMatchObject({ code: 'known_address' })
    expect(askedByPages()).toEqual([])
  })
})
