import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { cleanScanner, formOf, hello, openUploads, type Refusal } from '../../../test/support/uploads.ts'

const it = openUploads()

describe('a refusal keeps nothing and says why', () => {
  afterEach(async () => expect([await it.rows(), it.given.counted]).toEqual([[], []]))
  const code = async (form: FormData | Buffer, headers?: Record<string, string>) => {
    const { status, body } = await it.send<Refusal>(form, headers)
    return `${status} ${body.code}`
  }

  test('of a distribution that is not there', async () => {
    expect(await code(formOf(await hello(), { distribution: 'sid' }))).toBe('422 unknown_distribution')
    expect(await code(formOf(await hello(), { distribution: '../../etc' }))).toBe('422 unknown_distribution')
  })
  test('of a distribution of another format, naming what it takes', async () => {
    expect(await it.send<Refusal>(formOf(await hello(), { distribution: 'almalinux9' }))).toMatchObject({
      status: 422,
      body: {
        code: 'wrong_format',
        facts: { codename: 'almalinux9', others: 'jammy, noble, focal, resolute, bookworm, trixie, bullseye' },
      },
    })
  })
  test('of another architecture', async () =>
    expect(await code(formOf(await hello('1', { arch: 'riscv64' })))).toBe('422 wrong_arch'))
  test('of an inactive format', async () => {
    it.given.active = new Set()
    expect(await it.send<Refusal>(formOf(await hello()))).toMatchObject({
      status: 422,
      body: { code: 'format_not_active', facts: { format: 'deb', how: 'apt, both or all' } },
    })
  })
  test('of missing fields', async () => {
    expect(await code(formOf(await hello(), {}))).toBe('422 missing_field')
    expect(await code(formOf(await hello(), { distribution: ' ' }))).toBe('422 missing_field')
    const form = new FormData()
    form.append('distribution', 'bookworm')
    expect(await code(form)).toBe('422 missing_field')
    form.append('file', 'a text, no file')
    expect(await code(form)).toBe('422 missing_field')
  })
  test('of a field that the form does not have, naming those that it has', async () => {
    const form = formOf(await hello(), { distribution: 'bookworm', priority: 'high' })
    expect(await it.send<Refusal>(form)).toMatchObject({
      status: 422,
      body: {
        code: 'unknown_field',
        facts: { field: 'priority', known: 'file, distribution, component, sha256, resolve' },
      },
    })
  })
  test('of what is no package', async () => {
    expect(await code(formOf(Buffer.from('hello')))).toBe('422 unknown_format')
    expect(await code(formOf(Buffer.alloc(0)))).toBe('422 unknown_format')
    expect(await code(formOf(randomBytes(2_000_000)))).toBe('422 unknown_format')
    expect(await code(formOf((await hello()).subarray(0, 200)))).toBe('422 bad_package')
  })
  test('of two files, of a file under another name, of too many fields', async () => {
    const two = formOf(await hello())
    two.append('file', new Blob(['x']), 'b.deb')
    expect(await code(two)).toBe('400 bad_request')
    const other = new FormData()
    other.append('package', new Blob(['x']), 'b.deb')
    expect(await code(other)).toBe('400 bad_request')
    const many = formOf(await hello())
    for (let n = 0; n < 30; n++) many.append('distribution', 'bookworm')
    expect(await it.send<Refusal>(many)).toMatchObject({
      status: 400,
      body: { code: 'bad_request', facts: { said: 'The form has too many fields.' } },
    })
    expect(await code(formOf(await hello(), { distribution: 'x'.repeat(5000) }))).toBe('400 bad_request')
  })
  test('of two distribution fields', async () => {
    const two = formOf(await hello())
    two.append('distribution', 'jammy')
    expect(await it.send<Refusal>(two)).toMatchObject({
      status: 400,
      body: { code: 'bad_request', facts: { said: expect.stringContaining('the field distribution twice') as string } },
    })
  })
  test('of a body that is no form', async () => {
    expect(await code(Buffer.from('{}'), { 'content-type': 'application/json' })).toBe('400 bad_request')
    expect(await code(Buffer.from('{}'), { 'content-type': 'multipart/form-data' })).toBe('400 bad_request')
    expect(await code(Buffer.from('nothing of the kind'), { 'content-type': 'multipart/form-data; boundary=x' })).toBe(
      '400 upload_incomplete',
    )
  })
  test('of a form that breaks off', async () => {
    const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.deb"\r\n\r\n'
    expect(
      await code(Buffer.concat([Buffer.from(head), (await hello()).subarray(0, 400)]), {
        'content-type': 'multipart/form-data; boundary=x',
      }),
    ).toBe('400 upload_incomplete')
    expect(
      await code(Buffer.concat([Buffer.from(head), await hello()]), {
        'content-type': 'multipart/form-data; boundary=x',
      }),
    ).toBe('400 upload_incomplete')
  })
  test('of a file over the limit, while the client is still sending', async () => {
    const big = Buffer.concat([await hello(), Buffer.alloc(4 << 20)])
    expect(await code(formOf(big))).toBe('413 upload_too_large')
    // without a length, so that only counting tells, and from a client that reads nothing before it has sent everything
    const socket = connect(it.port, '127.0.0.1')
    const chunk = (bytes: Buffer): Buffer =>
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
    socket.write(
      'POST /upload/ HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nTransfer-Encoding: chunked\r\n\r\n',
    )
    socket.write(
      chunk(
        Buffer.concat([
          Buffer.from('--x\r\nContent-Disposition: form-data; name="file"; filename="a.deb"\r\n\r\n'),
          await hello(),
        ]),
      ),
    )
    for (let i = 0; i < 160; i++) if (!socket.write(chunk(Buffer.alloc(256 * 1024)))) await once(socket, 'drain')
    socket.write('0\r\n\r\n')
    const [first] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(first.toString()).toMatch(/^HTTP\/1\.1 413 /)
  })
})

test('a client that keeps sending after a refusal is disconnected', async () => {
  const socket = connect(it.port, '127.0.0.1')
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  socket.on('error', () => undefined)
  socket.write('POST /upload/ HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n')
  const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(1 << 20), Buffer.from('\r\n')])
  let sent = 0
  for (; sent < 400 && !socket.destroyed; sent++)
    if (!socket.write(chunk)) await Promise.race([once(socket, 'drain').catch(() => undefined), closed])
  expect(sent).toBeGreaterThanOrEqual(64)
  expect(sent).toBeLessThan(200)
  socket.destroy()
})

describe('a client that goes away', () => {
  async function half(path: string, bytes: Buffer): Promise<void> {
    const socket = connect(it.port, '127.0.0.1')
    await once(socket, 'connect')
    const seen = once(it.server, 'request')
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 2000000\r\n\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="a.deb"\r\n\r\n`,
    )
    socket.write(bytes)
    await seen
    socket.destroy()
  }

  test.each(['/upload/', '/upload/stream'])('in the middle of its file leaves nothing: %s', async path => {
    await half(path, (await hello()).subarray(0, 100))
    await half(path, Buffer.concat([await hello(), Buffer.alloc(1_000_000)]))
    await Promise.all(it.given.answering)
    expect(await it.rows()).toEqual([])
  })

  test.each(['/upload/', '/upload/stream'])('while its package is scanned stops the scan: %s', async path => {
    const leave = new AbortController()
    let stopped = false
    it.given.antivirus = {
      ...cleanScanner,
      scan: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            stopped = true
            reject(signal.reason as Error)
          })
          leave.abort()
        }),
    }
    await expect(
      fetch(`${it.base}${path}`, { method: 'POST', body: formOf(await hello()), signal: leave.signal }).then(response =>
        response.text(),
      ),
    ).rejects.toThrow()
    await Promise.all(it.given.answering)
    expect(stopped).toBe(true)
    expect(await it.rows()).toEqual([])
  })
})
