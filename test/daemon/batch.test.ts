import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BatchReply } from '../../server/features/uploads/batch-contract.ts'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb, tar, type TarSpec } from '../support/packages.ts'
import { packageNames } from '../support/tree.ts'

let daemon: Daemon
let token: string
let made = 0

beforeAll(async () => {
  daemon = await startDaemon({ env: { LOG_LEVEL: 'error', JWT_EXPIRE_MINUTES: '600' } })
  token = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
})
afterAll(() => daemon.close())

interface Deb {
  readonly name: string
  readonly filename: string
  readonly bytes: Buffer
}
async function deb(): Promise<Deb> {
  const name = `many-${made++}`
  return { name, filename: `${name}_1_amd64.deb`, bytes: await buildDeb({ name, version: '1' }) }
}
const debs = (n: number): Promise<Deb[]> => Promise.all(Array.from({ length: n }, deb))
const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

function formOf(files: readonly Pick<Deb, 'filename' | 'bytes'>[], fields: Record<string, string> = {}): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries({ distribution: 'jammy', ...fields })) form.append(name, value)
  for (const { filename, bytes } of files) form.append('file', new Blob([new Uint8Array(bytes)]), filename)
  return form
}
const send = (form: FormData, headers: Record<string, string> = {}) =>
  daemon.call<BatchReply>('POST', '/upload/batch', { token, form, headers })

async function sendTar(entries: readonly TarSpec[] | Buffer, query = '?distribution=jammy') {
  const body = Buffer.isBuffer(entries) ? entries : tar(entries)
  const answer = await fetch(`${daemon.url}/api/v1/upload/batch${query}`, {
    method: 'POST',
    body: new Uint8Array(body),
    headers: {
      'Authorization': `Bearer ${token}`,
      'Content-Type': 'application/x-tar',
      'X-Forwarded-For': `198.51.100.${made % 250}`,
    },
  })
  return { status: answer.status, body: (await answer.json()) as BatchReply & { readonly code?: string } }
}

/** The names that clients of the tree see. */
async function served(): Promise<Set<string>> {
  const { text } = await daemon.call('GET', '/repos/dists/jammy/main/binary-amd64/Packages')
  return new Set(packageNames(text))
}
const short = ({ files }: BatchReply) =>
  files.map(({ filename, status, body }) => [filename, status, 'state' in body ? body.state : (body as never)['code']])
const generation = async (): Promise<number | undefined> =>
  (
    await daemon.call<{ distributions: { codename: string; generation: number }[] }>('GET', '/distributions/', {
      token,
    })
  ).body.distributions.find(({ codename }) => codename === 'jammy')?.generation

describe('POST /upload/batch', () => {
  test('answers for each file in order, and one publication names all that were taken', async () => {
    const [one, two, three] = (await debs(3)) as [Deb, Deb, Deb]
    const before = await generation()
    const { status, body } = await send(
      formOf([
        one,
        { filename: 'no.deb', bytes: Buffer.from('no package') },
        two,
        { ...three, filename: one.filename },
        three,
      ]),
    )
    expect(status).toBe(200)
    expect(short(body)).toEqual([
      [one.filename, 201, 'published'],
      ['no.deb', 422, expect.any(String)],
      [two.filename, 201, 'published'],
      [one.filename, 422, 'bad_member'],
      [three.filename, 201, 'published'],
    ])
    expect(body).toMatchObject({ distribution: 'jammy', taken: 3, refused: 2 })
    expect(body).not.toHaveProperty('stopped')
    expect(body.files[0]?.body).toMatchObject({ name: one.name, sha256: digest(one.bytes), pipeline: {} })
    expect(body.files[0]?.body).not.toHaveProperty('indexed')
    const names = await served()
    for (const { name } of [one, two, three]) expect(names).toContain(name)
    expect(await generation()).toBe((before ?? NaN) + 1)
    expect(short((await send(formOf([one]))).body)).toEqual([[one.filename, 200, 'published']])
    expect(await readdir(join(daemon.root, 'incoming'))).toEqual([])
  })

  test.each([200, 600, 200_000, 3_000_000])(
    'a file that is refused by its first bytes stops no other one: %d bytes',
    async size => {
      const [one, two] = (await debs(2)) as [Deb, Deb]
      const noPackage = { filename: 'notes.pdf', bytes: Buffer.alloc(size, 'no package') }
      const files = [noPackage, one, noPackage, two, { ...noPackage, filename: 'last.pdf' }]
      const expected = [
        ['notes.pdf', 422, 'unknown_format'],
        [one.filename, 201, 'published'],
        ['notes.pdf', 422, 'bad_member'],
        [two.filename, 201, 'published'],
        ['last.pdf', 422, 'unknown_format'],
      ]
      const asForm = await send(formOf(files))
      expect([short(asForm.body), asForm.body.stopped]).toEqual([expected, undefined])
      const asTar = await sendTar(files.map(({ filename, bytes }) => ({ name: filename, body: bytes })))
      expect([short(asTar.body), asTar.body.stopped]).toEqual([
        expected.map(([name, status, state]) => [name, status === 201 ? 200 : status, state]),
        undefined,
      ])
      expect(await readdir(join(daemon.root, 'incoming'))).toEqual([])
    },
  )

  test('compares digests where the sender names them', async () => {
    const [good, bad] = (await debs(2)) as [Deb, Deb]
    const sums = `${digest(good.bytes)}  ${good.filename}\n${digest(good.bytes)} *${bad.filename}\n`
    const { body } = await send(formOf([good, bad], { sha256sums: sums }))
    expect(short(body)).toEqual([
      [good.filename, 201, 'published'],
      [bad.filename, 422, 'digest_mismatch'],
    ])
    const [third] = (await debs(1)) as [Deb]
    const inTar = await sendTar([
      { name: 'SHA256SUMS', body: `${digest(good.bytes)}  ${third.filename}\n` },
      { name: third.filename, body: third.bytes },
    ])
    expect(short(inTar.body)).toEqual([[third.filename, 422, 'digest_mismatch']])
    const unread = await send(formOf([third], { sha256sums: `${digest(third.bytes).slice(1)}  ${third.filename}` }))
    expect(unread.body).toMatchObject({
      code: 'bad_request',
      facts: { said: 'Line 1 of the SHA-256 sums is none that sha256sum writes.' },
    })
    expect(await served()).not.toContain(third.name)
  })

  test('refuses what would hold for some files only: a field behind a file', async () => {
    const [one, two] = (await debs(2)) as [Deb, Deb]
    const form = formOf([one])
    form.append('component', 'main')
    form.append('file', new Blob([new Uint8Array(two.bytes)]), two.filename)
    const { body } = await send(form)
    // the first file may have been taken by then
    expect(body.stopped ?? body).toMatchObject({
      code: 'bad_request',
      facts: { said: 'The form field component comes after a file. Send the fields before the files.' },
    })
    const otherName = formOf([])
    otherName.append('files', new Blob([new Uint8Array(two.bytes)]), two.filename)
    expect((await send(otherName)).body).toMatchObject({
      code: 'bad_request',
      facts: { said: 'The form has a file under files. Files are taken under the name file.' },
    })
    expect(await served()).not.toContain(two.name)
  })

  test.each(['form-data', 'form-data; filename="a.deb"'])('refuses a part without a name: %s', async disposition => {
    const edge = { 'Content-Type': 'multipart/form-data; boundary=edge' }
    const part = `--edge\r\nContent-Disposition: ${disposition}\r\n\r\nwhat\r\n--edge--\r\n`
    const answer = await fetch(`${daemon.url}/api/v1/upload/batch?distribution=jammy`, {
      method: 'POST',
      body: part,
      headers: { Authorization: `Bearer ${token}`, ...edge },
    })
    expect([answer.status, await answer.text()]).toEqual([
      expect.toSatisfy(status => status === 400 || status === 422),
      expect.stringContaining('(no name)'),
    ])
  })

  test.each<[string, (tar: Buffer) => Buffer, string]>([
    ['nothing at all', () => Buffer.alloc(0), 'it has no end mark, so it is cut off'],
    ['an empty tar', () => tar([]), 'it holds no package'],
    ['a compressed tar', gzipSync, 'it is compressed with gzip. Packages are compressed already: send a plain tar'],
    ['noise', () => Buffer.alloc(4096, 'noise'), 'it is no tar, or one of its headers is damaged'],
    ['a tar cut off in a file', whole => whole.subarray(0, 700), 'it is cut off'],
    ['a tar cut off in a header', whole => whole.subarray(0, 100), 'it is cut off'],
  ])('says in words of its own what is wrong with %s', async (_, spoil, why) => {
    const [one] = (await debs(1)) as [Deb]
    const { status, body } = await sendTar(spoil(tar([{ name: one.filename, body: one.bytes }])))
    expect([status, body]).toMatchObject([422, { code: 'bad_archive', facts: { why } }])
  })

  test('refuses the whole request before its first file where no file could be taken', async () => {
    const files = await debs(1)
    for (const [fields, code] of [
      [{ distribution: 'narnia' }, 'unknown_distribution'],
      [{ distribution: '' }, 'missing_field'],
      [{ component: 'attic' }, 'bad_component'],
    ] as const)
      expect((await send(formOf(files, fields))).body).toMatchObject({ code })
    const said = async (form: FormData) => (await send(form)).body as { code?: string; facts?: object }
    const twice = formOf([])
    twice.append('distribution', 'noble')
    twice.append('file', new Blob([new Uint8Array(files[0]?.bytes ?? [])]), 'a.deb')
    expect(await said(twice)).toMatchObject({
      code: 'bad_request',
      facts: { said: expect.stringContaining('the field distribution twice') as string },
    })
    const many = formOf([])
    for (let n = 0; n < 30; n++) many.append('distribution', 'jammy')
    many.append('file', new Blob([new Uint8Array(files[0]?.bytes ?? [])]), 'a.deb')
    expect(await said(many)).toMatchObject({ code: 'bad_request', facts: { said: 'The form has too many fields.' } })
    expect((await send(formOf([]))).body).toMatchObject({ code: 'missing_field' })
    expect((await sendTar(Buffer.from('no tar'.repeat(200)))).body).toMatchObject({ code: 'bad_archive' })
    expect((await daemon.call('POST', '/upload/batch', { token, body: {} })).body).toMatchObject({
      code: 'bad_request',
    })
    expect(await served()).not.toContain(files[0]?.name)
  })

  test('does not wait for the tree where the sender prefers so', async () => {
    const { body } = await send(formOf(await debs(2)), { Prefer: 'respond-async' })
    expect(body.files.map(({ status, body: one }) => [status, 'indexed' in one && one.indexed])).toEqual([
      [201, false],
      [201, false],
    ])
  })

  test('takes the files of a tar, and no links, folders or two files of one name', async () => {
    const [one, two] = (await debs(2)) as [Deb, Deb]
    const { status, body } = await sendTar([
      { name: './', type: '5' },
      { name: `./${one.filename}`, body: one.bytes },
      { name: `../${two.filename}`, body: two.bytes },
      { name: `sub/${two.filename}`, body: two.bytes },
      { name: 'link.deb', type: '2', link: one.filename },
      { name: one.filename, body: two.bytes },
      { name: two.filename, body: two.bytes },
    ])
    expect(status).toBe(200)
    expect(short(body)).toEqual([
      [one.filename, 201, 'published'],
      [two.filename, 422, 'bad_member'],
      [two.filename, 422, 'bad_member'],
      ['link.deb', 422, 'bad_member'],
      [one.filename, 422, 'bad_member'],
      [two.filename, 201, 'published'],
    ])
  })

  test('a tar that is cut off says so, and what came before is taken', async () => {
    const [one, two] = (await debs(2)) as [Deb, Deb]
    const whole = tar([
      { name: one.filename, body: one.bytes },
      { name: two.filename, body: two.bytes },
    ])
    const cut = await sendTar(whole.subarray(0, 512 + Math.ceil(one.bytes.length / 512) * 512 + 700))
    expect(short(cut.body)[0]).toEqual([one.filename, 201, 'published'])
    expect(cut.body.stopped).toMatchObject({
      status: expect.any(Number),
      code: 'bad_archive',
      facts: { why: 'it is cut off' },
    })
    const names = await served()
    expect([names.has(one.name), names.has(two.name)]).toEqual([true, false])
    // a whole file is a whole file; only the end is missing
    const open = await sendTar(whole.subarray(0, whole.length - 1024))
    expect(open.body).toMatchObject({ taken: 2, stopped: { code: 'bad_archive' } })
    expect(await readdir(join(daemon.root, 'incoming'))).toEqual([])
  })

  test('a sender who leaves half-way leaves whole packages and nothing else', async () => {
    const files = await debs(6)
    const edge = 'edge'
    const part = (head: string, body: Buffer | string): Buffer =>
      Buffer.concat([
        Buffer.from(`--${edge}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
        Buffer.from(body),
        Buffer.from('\r\n'),
      ])
    const bytes = Buffer.concat([
      part('name="distribution"', 'jammy'),
      ...files.map(({ filename, bytes: body }) => part(`name="file"; filename="${filename}"`, body)),
    ])
    const { hostname, port } = new URL(daemon.url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.write(
      `POST /api/v1/upload/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nX-Forwarded-For: 198.51.101.1\r\nContent-Type: multipart/form-data; boundary=${edge}\r\nContent-Length: ${bytes.length + 1000}\r\n\r\n`,
    )
    socket.write(bytes.subarray(0, bytes.length - 200))
    await expect.poll(async () => (await served()).has(files[0]?.name ?? ''), { timeout: 30_000 }).toBe(true)
    socket.destroy()
    await expect.poll(() => readdir(join(daemon.root, 'incoming')), { timeout: 30_000 }).toEqual([])
    await expect
      .poll(
        async () => {
          const names = await served()
          return files.map(({ name }) => names.has(name))
        },
        { timeout: 30_000 },
      )
      .toEqual([true, true, true, true, true, false])
  })

  test('every package that was acknowledged is there after a kill', async () => {
    const acknowledged: string[] = []
    const sending = Promise.all(
      [0, 1, 2].map(async () => {
        for (;;) {
          const answer = await send(formOf(await debs(12)), { Prefer: 'respond-async' }).catch(() => undefined)
          if (answer === undefined) return
          for (const { body } of answer.body.files) if ('name' in body) acknowledged.push(body.name)
        }
      }),
    )
    await expect.poll(() => acknowledged.length, { timeout: 60_000 }).toBeGreaterThan(30)
    await daemon.kill9()
    await sending
    await daemon.restart()
    await expect
      .poll(
        async () => {
          const names = await served()
          return acknowledged.filter(name => !names.has(name))
        },
        { timeout: 30_000 },
      )
      .toEqual([])
    expect(await readdir(join(daemon.root, 'incoming'))).toEqual([])
  })
})
