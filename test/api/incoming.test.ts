import { readdir } from 'node:fs/promises'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { send } from '../support/app.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { createDeveloper, type Developer } from '../support/gpg.ts'
import { buildDeb } from '../support/packages.ts'
import { buildChanges, buildSource, dscName, listFiles, type Files } from '../support/sources.ts'
import { lacking } from '../support/tools.ts'

describe.skipIf(lacking('gnupg').length > 0)('files that developers send (needs gnupg)', () => {
  let it: Daemon
  let jo: Developer
  let admin: string
  let token: string
  beforeAll(async () => {
    ;[it, jo] = await Promise.all([startDaemon(), createDeveloper('Jo <jo@example.test>')])
    admin = await it.setupAdmin()
    token = admin
    expect((await it.call('POST', '/distributions/init', { token, body: { codename: 'bookworm' } })).status).toBe(200)
    const body = { name: 'jo', public_key: jo.publicKey }
    expect((await it.call('POST', '/uploader-keys', { token, body })).status).toBe(201)
  })
  afterAll(() => Promise.all([it.close(), jo.close()]))
  // a credential of its own: nothing of the test before waits for it
  beforeEach(async () => {
    const body = { name: `ci ${Math.random()}`, role: 'uploader' }
    token = String((await it.call('POST', '/auth/api-tokens', { token: admin, body })).body.token)
  })

  const put = async (name: string, body: Buffer | string, codename = 'bookworm') => {
    const { status, text } = await send(Number(new URL(it.url).port), {
      method: 'PUT',
      path: `/incoming/${codename}/${name}`,
      body,
      token,
    })
    return `${status} ${text}`
  }
  const putAll = async (files: Files, changes: Buffer | string): Promise<string> => {
    for (const [name, bytes] of Object.entries(files)) expect(await put(name, bytes)).toMatch(/^201 /)
    return put('a.changes', changes)
  }
  const waiting = (): Promise<string[]> => readdir(join(it.root, 'incoming'))
  const packages = async (): Promise<number> =>
    (await it.call<{ total: number }>('GET', '/distributions/bookworm/packages', { token: admin })).body.total

  test.each([
    '..%2F..%2Fx.deb',
    '%2Fetc%2Fx.deb',
    '.hidden',
    '-rf.deb',
    'a%00.deb',
    'a%0d%0aX:1.deb',
    'a%20b.deb',
    'sn%EF%BD%81ke.deb',
    `${'a'.repeat(300)}.deb`,
  ])('no file is called %s', async name => {
    const before = await waiting()
    expect(await put(name, 'x')).toMatch(/^4\d\d /)
    expect(await waiting()).toEqual(before)
  })

  test('a signature over other words, around them, or beside them opens nothing', async () => {
    const deb = await buildDeb({ name: 'tricks', version: '1' })
    const files = { 'tricks_1_all.deb': deb }
    const plain = buildChanges({ source: 'tricks', version: '1', distribution: 'bookworm', files })
    const signed = (await jo.clearsign(plain)).toString()
    const before = await packages()
    for (const [changes, answer] of [
      [plain.toString(), /^422 .*is not signed/],
      [`Origin: evil\n${signed}`, /^422 .*does not begin with/],
      [`${signed}Origin: evil\n`, /^422 .*goes on behind its signature/],
      [signed + signed, /^422 .*twice/],
      [signed.replace('Source: tricks', 'Source: tricky'), /^403 .*Signed digest did not match/],
      [signed.replace('Hash: SHA512\n', 'Hash: SHA512\nOrigin: evil\n'), /^422 .*only Hash is known/],
      [signed.replace('\n\nFormat', '\n\n- Origin: evil\nFormat'), /^403 .*Signed digest did not match/],
      [signed.replace(/\n\n(?=[A-Za-z0-9+/]{40})[\s\S]*(?=\n-----END)/, '\n\nAAAA'), /^403 .*cannot be read|^403 /],
    ] as const)
      expect(await putAll(files, changes)).toMatch(answer)
    expect(await packages()).toBe(before)
    // the files still wait for a true one
    expect(await put('a.changes', signed)).toMatch(/^201 .*"status":"published"/)
    expect(await put('a.changes', signed)).toMatch(/^422 .*did not arrive/)
    expect(await packages()).toBe(before + 1)
  })

  test('what an announcement says of its files must be so', async () => {
    const deb = await buildDeb({ name: 'lies', version: '1' })
    const files: Files = { 'lies_1_all.deb': deb }
    const before = await packages()
    const saying = async (fields: Readonly<Record<string, string>>, distribution = 'bookworm'): Promise<string> =>
      putAll(files, await jo.clearsign(buildChanges({ source: 'lies', version: '1', distribution, files, fields })))
    const lists = (given: Files) => listFiles(given, 'utils optional ')
    for (const [fields, answer] of [
      [lists({ 'lies_1_all.deb': Buffer.from('other') }), /^422 .*5 were announced/],
      [lists({ 'lies_1_all.deb': Buffer.alloc(deb.length) }), /^422 .*was announced/],
      [lists({ '../../lies_1_all.deb': deb }), /^422 .*plain name/],
      [lists({ 'lies_1_all.deb': deb, 'b.deb': deb }), /^422 .*b\.deb, which did not arrive/],
      [{ 'Checksums-Sha256': '' }, /^422 .*no field Checksums-Sha256/],
      [{ Distribution: 'jammy' }, /^422 .*is for jammy, but was sent to bookworm/],
      [{ Distribution: 'bookworm jammy' }, /^422 .*names one distribution/],
      [{ Source: '../x' }, /^422 .*Source/],
    ] as const)
      expect(await saying(fields)).toMatch(answer)
    // its own name for the source: the package says another one
    expect(await saying({ Source: 'truth' })).toMatch(/^422 .*announcement_refused/)
    expect(await packages()).toBe(before)
  })

  test('an announcement takes no file that somebody else sent', async () => {
    const deb = await buildDeb({ name: 'theirs', version: '1' })
    expect(await put('theirs_1_all.deb', deb)).toMatch(/^201 /)
    const body = { name: 'another', role: 'uploader' }
    token = String((await it.call('POST', '/auth/api-tokens', { token: admin, body })).body.token)
    const files = { 'theirs_1_all.deb': deb }
    const changes = await jo.clearsign(
      buildChanges({ source: 'theirs', version: '1', distribution: 'bookworm', files }),
    )
    expect(await put('a.changes', changes)).toMatch(/^422 .*did not arrive/)
  })

  test('a key that was removed while the files waited opens nothing', async () => {
    const eve = await createDeveloper('Eve <eve@example.test>')
    try {
      await it.call('POST', '/uploader-keys', { token: admin, body: { name: 'eve', public_key: eve.publicKey } })
      const files = { 'late_1_all.deb': await buildDeb({ name: 'late', version: '1' }) }
      for (const [name, bytes] of Object.entries(files)) await put(name, bytes)
      expect((await it.call('DELETE', '/uploader-keys/eve', { token: admin })).status).toBe(204)
      const changes = buildChanges({ source: 'late', version: '1', distribution: 'bookworm', files })
      expect(await put('a.changes', await eve.clearsign(changes))).toMatch(/^403 .*no uploader key here has the id/)
    } finally {
      await eve.close()
    }
  })

  test('an epoch is in the version and in no file name', async () => {
    const spec = { name: 'epochal', version: '2:1.0-1' }
    const files = buildSource(spec)
    expect(dscName(spec)).toBe('epochal_1.0-1.dsc')
    const changes = buildChanges({ source: 'epochal', version: '2:1.0-1', distribution: 'bookworm', files })
    expect(await putAll(files, await jo.clearsign(changes))).toMatch(/^201 .*"version":"2:1.0-1","arch":"source"/)
  })

  test('a file that is cut off leaves nothing', async () => {
    const before = await waiting()
    const { hostname, port } = new URL(it.url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.write(
      `PUT /incoming/bookworm/cut_1_all.deb HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${btoa(`x:${token}`)}\r\n` +
        `Content-Length: 2000000\r\n\r\n${'a'.repeat(1_000_000)}`,
    )
    await expect.poll(async () => (await waiting()).length).toBe(before.length + 1)
    socket.destroy()
    await expect.poll(waiting).toEqual(before)
  })

  test('no secret is in the log', () => {
    expect(it.log()).not.toContain(token)
    expect(it.log()).not.toContain(btoa(`x:${token}`))
  })
})
