import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { isRefusal } from '../core/errors.ts'
import { createDigestThreads } from '../lib/digest.ts'
import { readBody } from './form.ts'
import type { Layout } from './layout.ts'
import { createSpool } from './spool.ts'
import { layoutOf } from '../../test/support/repositories.ts'

const LIMIT = 1024 * 1024

let root: string
let layout: Layout
let server: Server
const threads = createDigestThreads({ threads: 1 })

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'form-'))
  layout = layoutOf(root)
  const spool = createSpool({ layout, random: randomBytes, threads })
  await spool.sweep()
  server = createServer((req, res) => {
    const raw = {
      stream: req,
      headers: req.headers,
      clientIp: '192.0.2.1',
      requestId: 'r',
      signal: new AbortController().signal,
    }
    readBody(raw, {
      spool,
      known: ['distribution', 'force'],
      limitBytes: LIMIT,
      setting: 'security.max_database_mb',
      filename: '/srv/data/all.zip',
    }).then(
      async ({ file, fields }) => {
        const bytes = await readFile(file.path)
        await file.discard()
        res.end(JSON.stringify([file.filename, bytes.length, Object.fromEntries(fields)]))
      },
      (error: unknown) =>
        res.end(isRefusal(error, 'upload_too_large') ? error.message : isRefusal(error) ? error.code : String(error)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(async () => expect(await readdir(layout.incoming)).toEqual([]))
afterAll(async () => {
  await new Promise(resolve => server.close(resolve))
  await threads.close()
  await rm(root, { recursive: true, force: true })
})

async function send(body: FormData | Buffer, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {
    method: 'POST',
    body: body instanceof FormData ? body : new Uint8Array(body),
    headers,
  })
  return response.text()
}
function formOf(
  files: readonly (readonly [string, string])[],
  fields: Readonly<Record<string, string>> | readonly (readonly [string, string])[] = {},
): FormData {
  const form = new FormData()
  for (const [name, value] of Symbol.iterator in fields ? fields : Object.entries(fields)) form.append(name, value)
  for (const [name, filename] of files) form.append(name, new Blob(['data']), filename)
  return form
}

describe('a file arrives', () => {
  test('as the body itself, under the name it was given beside', async () => {
    expect(await send(Buffer.alloc(LIMIT), { 'content-type': 'application/octet-stream' })).toBe(
      JSON.stringify(['all.zip', LIMIT, {}]),
    )
  })
  test('as a form with its fields, without the folders of whoever sent it', async () => {
    expect(await send(formOf([['file', 'C:\\data\\kev.json']], { force: 'true' }))).toBe(
      JSON.stringify(['kev.json', 4, { force: 'true' }]),
    )
  })
})

describe('a refusal leaves nothing behind', () => {
  test.each<readonly [string, FormData | Buffer, string]>([
    ['an empty body', Buffer.alloc(0), 'missing_field'],
    [
      'a body over the limit',
      Buffer.alloc(LIMIT + 200_000),
      'The file is larger than 1 MB. An admin can raise security.max_database_mb.',
    ],
    ['a form without a file', formOf([], { force: 'true' }), 'missing_field'],
    [
      'a form with two files',
      formOf([
        ['file', 'a'],
        ['file', 'b'],
      ]),
      'bad_request',
    ],
    ['a file under another name', formOf([['data', 'a']]), 'bad_request'],
    [
      'more fields than anybody needs',
      formOf(
        [['file', 'a']],
        Array.from({ length: 30 }, () => ['force', 'true'] as const),
      ),
      'bad_request',
    ],
    ['a field that there is not', formOf([['file', 'a']], { priority: 'high' }), 'unknown_field'],
  ])('%s', async (_, body, code) => {
    expect(await send(body)).toBe(code)
  })

  // nobody else catches what is thrown while the parser reports a part
  test.each([
    ['a field', 'form-data', 'unknown_field'],
    ['a file', 'form-data; filename="a.deb"', 'bad_request'],
  ])('%s without a name', async (_, disposition, code) => {
    const form = Buffer.from(`--edge\r\nContent-Disposition: ${disposition}\r\n\r\nwhat\r\n--edge--\r\n`)
    expect(await send(form, { 'content-type': 'multipart/form-data; boundary=edge' })).toBe(code)
  })

  test('a body over the limit that does not say how long it is, from a client that reads nothing before it has sent all', async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    const chunk = Buffer.concat([Buffer.from('40000\r\n'), Buffer.alloc(0x40000), Buffer.from('\r\n')])
    for (let i = 0; i < 40; i++) if (!socket.write(chunk)) await once(socket, 'drain')
    socket.write('0\r\n\r\n')
    const [first] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(first.toString()).toContain('An admin can raise security.max_database_mb.')
  })
})
