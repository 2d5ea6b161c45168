import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createGuardedFetch } from './fetch.ts'
import type { Resolved } from './guard.ts'
import { HOSTILE_NAMES, HOSTILE_URLS } from './hostile-targets.test-data.ts'

const asAddress = (address: string): Resolved => ({ address, family: address.includes(':') ? 6 : 4 })

let server: Server
let port = 0
let asked: { url: string; headers: IncomingMessage['headers']; body: string }[] = []
let respond: (req: IncomingMessage, res: ServerResponse) => void

beforeAll(async () => {
  server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      asked.push({ url: req.url ?? '', headers: req.headers, body: Buffer.concat(chunks).toString() })
      respond(req, res)
    })
  })
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve)
  })
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-fetch-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => {
  asked = []
  respond = (_, res) => res.end('hello')
})

/** A resolver that knows a table, counts, and gives the next answer at every question. */
function resolver(table: Record<string, readonly (readonly string[])[]> = {}) {
  const questions: string[] = []
  return {
    questions,
    lookup: async (host: string) => {
      questions.push(host)
      const answers = table[host] ?? [['127.0.0.1']]
      const nth = questions.filter(question => question === host).length - 1
      return (answers[Math.min(nth, answers.length - 1)] ?? []).map(asAddress)
    },
  }
}
const open = createGuardedFetch({ lookup: resolver().lookup, allow: () => '127.0.0.1' })
const closed = createGuardedFetch({ lookup: resolver().lookup, allow: () => '' })

describe('hostile targets', () => {
  test('there are 200 of them or more', () => {
    expect(HOSTILE_URLS.length + HOSTILE_NAMES.length).toBeGreaterThanOrEqual(200)
  })

  test.each(HOSTILE_URLS)('%j is refused', async url => {
    await expect(closed(url)).rejects.toMatchObject({ code: 'outbound_refused' })
    expect(asked).toEqual([])
  })

  test.each(HOSTILE_NAMES)('a name that resolves to %s is refused', async (...addresses) => {
    const { lookup, questions } = resolver({ 'innocent.example': [addresses] })
    await expect(createGuardedFetch({ lookup, allow: () => '' })('http://innocent.example/')).rejects.toMatchObject({
      code: 'outbound_refused',
    })
    expect(questions).toEqual(['innocent.example'])
  })

  test.each(HOSTILE_URLS)('a redirect to %j is refused', async url => {
    respond = (_, res) => {
      res
        .writeHead(302, {
          location: encodeURI(url).replaceAll('%5B', '[').replaceAll('%5D', ']').replaceAll('%25', '%'),
        })
        .end()
    }
    const rule = {
      lookup: async (host: string) => [asAddress(host === 'start.example' ? '127.0.0.99' : '127.0.0.1')],
      allow: () => '127.0.0.99',
    }
    // 127.0.0.99 is this server too, and the only address that is allowed
    const front = createServer((req, res) => {
      server.emit('request', req, res)
    })
    await new Promise<void>(resolve => {
      front.listen(0, '127.0.0.99', resolve)
    })
    const at = `http://start.example:${(front.address() as AddressInfo).port}`
    try {
      const result = await createGuardedFetch(rule)(`${at}/`, { redirects: 3 }).then(
        answer => answer.url,
        (error: { code: string }) => error.code,
      )
      // what has no scheme is a path on the same server: that one goes round in circles and ends as well
      expect(result).toBe('outbound_refused')
    } finally {
      front.closeAllConnections()
      front.close()
    }
  })
})

describe('the connection', () => {
  test('goes to the address that was checked, whatever the name means later', async () => {
    // asked a second time, this name is a machine inside
    const { lookup, questions } = resolver({ 'turns.example': [['127.0.0.1'], ['10.0.0.1']] })
    const fetch = createGuardedFetch({ lookup, allow: () => '127.0.0.1' })
    expect((await fetch(`http://turns.example:${port}/a`)).status).toBe(200)
    expect(questions).toEqual(['turns.example'])
    expect(asked.map(({ headers }) => headers.host)).toEqual([`turns.example:${port}`])
    await expect(fetch(`http://turns.example:${port}/a`)).rejects.toMatchObject({ code: 'outbound_refused' })
  })

  test('a redirect is checked again: the name may resolve differently', async () => {
    const { lookup } = resolver({ 'turns.example': [['127.0.0.1'], ['169.254.169.254']] })
    respond = (_, res) => {
      res.writeHead(307, { location: `http://turns.example:${port}/next` }).end()
    }
    await expect(
      createGuardedFetch({ lookup, allow: () => '127.0.0.1' })(`http://turns.example:${port}/`),
    ).rejects.toMatchObject({ code: 'outbound_refused' })
    expect(asked).toHaveLength(1)
  })
})

describe('the answer', () => {
  const url = (path: string): string => `http://127.0.0.1:${port}${path}`

  test('comes whole, with its status and validators', async () => {
    respond = (_, res) => {
      res.writeHead(404, { 'ETag': '"a"', 'Last-Modified': 'Tue, 03 Nov 2026 10:00:00 GMT' }).end('gone')
    }
    expect(await open(url('/x'))).toMatchObject({
      status: 404,
      sizeBytes: 4,
      etag: '"a"',
      lastModified: 'Tue, 03 Nov 2026 10:00:00 GMT',
      notModified: false,
      url: url('/x'),
    })
  })

  test('may be that nothing changed', async () => {
    respond = (req, res) => {
      res
        .writeHead(req.headers['if-none-match'] === '"a"' && req.headers['if-modified-since'] !== undefined ? 304 : 200)
        .end()
    }
    const to = join(folder, 'feed')
    expect(await open(url('/'), { etag: '"a"', lastModified: 'Tue, 03 Nov 2026 10:00:00 GMT', to })).toMatchObject({
      status: 304,
      notModified: true,
    })
    expect(await readdir(folder)).toEqual([])
  })

  test('lies in the file whole, or nothing does', async () => {
    const to = join(folder, 'feed')
    respond = (_, res) => res.end('x'.repeat(100_000))
    expect(await open(url('/'), { to })).toMatchObject({ status: 200, sizeBytes: 100_000 })
    expect((await readFile(to)).length).toBe(100_000)
    respond = (_, res) => {
      res.writeHead(200, { 'content-length': 1000 }).write('half')
      setImmediate(() => res.destroy())
    }
    await expect(open(url('/'), { to })).rejects.toMatchObject({ code: 'outbound_failed' })
    respond = (_, res) => {
      res.writeHead(500).end('an error page')
    }
    expect(await open(url('/'), { to })).toMatchObject({ status: 500, sizeBytes: 13 })
    expect([await readdir(folder), (await readFile(to)).length]).toEqual([['feed'], 100_000])
  })

  test.each([
    ['announced', true],
    ['streamed', false],
  ])('that is too large is not read: %s', async (_, announced) => {
    respond = (_req, res) => {
      res.writeHead(200, announced ? { 'content-length': 5000 } : {}).end('x'.repeat(5000))
    }
    await expect(open(url('/'), { limitBytes: 4096 })).rejects.toMatchObject({
      code: 'outbound_failed',
      message: expect.stringContaining('4 KiB') as string,
    })
    await expect(open(url('/'), { limitBytes: 4096, to: join(folder, 'f') })).rejects.toMatchObject({
      code: 'outbound_failed',
    })
    expect(await readdir(folder)).toEqual([])
  })

  test.each([
    ['never comes', () => undefined],
    [
      'never ends',
      (_req: IncomingMessage, res: ServerResponse) => {
        res.writeHead(200).write('x')
      },
    ],
  ])('that %s ends with the deadline', async (_, behaviour) => {
    respond = behaviour
    await expect(open(url('/'), { timeoutMs: 100 })).rejects.toMatchObject({
      code: 'outbound_failed',
      message: expect.stringContaining('too long') as string,
    })
  })

  test('a resolver that hangs does not delay other requests', async () => {
    const fetch = createGuardedFetch({ lookup: () => new Promise(() => undefined), allow: () => '' })
    await expect(fetch('http://a.example/', { timeoutMs: 50 })).rejects.toMatchObject({ code: 'outbound_failed' })
  })

  test('redirects are followed within bounds, and never from HTTPS to HTTP', async () => {
    respond = (req, res) => {
      if (req.url === '/3') res.end('there')
      else res.writeHead(302, { location: `/${Number(req.url?.slice(1)) + 1}` }).end()
    }
    expect(await open(url('/0'))).toMatchObject({ status: 200, url: url('/3') })
    await expect(open(url('/0'), { redirects: 2 })).rejects.toMatchObject({ code: 'outbound_refused' })
  })

  test('a credential stays with its origin', async () => {
    respond = (req, res) => {
      if (req.url === '/there') res.end()
      else res.writeHead(302, { location: `http://localhost:${port}/there` }).end()
    }
    await open(url('/'), { headers: { Authorization: 'Bearer s3cret', Cookie: 'a=b', Accept: 'text/plain' } })
    expect(asked.map(({ headers }) => [headers.authorization, headers.cookie, headers.accept])).toEqual([
      ['Bearer s3cret', 'a=b', 'text/plain'],
      [undefined, undefined, 'text/plain'],
    ])
  })

  test('a POST sends its body and follows nothing', async () => {
    respond = (_, res) => {
      res.writeHead(307, { location: '/elsewhere' }).end()
    }
    expect(await open(url('/hook'), { method: 'POST', body: 'grüße' })).toMatchObject({ status: 307 })
    expect(asked.map(({ body }) => body)).toEqual(['grüße'])
  })

  test('an error never repeats what the URL carries', async () => {
    for (const target of [
      'http://10.0.0.1/services/T0/s3cret?t=s3cret',
      'http://u:s3cret@a.example/',
      'http://127.0.0.1:1/s3cret',
    ]) {
      const error = await open(target, { timeoutMs: 2000 }).then(
        () => undefined,
        (reason: Error) => reason,
      )
      expect(error?.message).toBeDefined()
      expect(JSON.stringify(error) + String(error)).not.toContain('s3cret')
    }
  })
})
