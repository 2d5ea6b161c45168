import { Agent, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { createListener, needAddress } from './listener.ts'

/** One request over a connection that the client means to keep. */
function ask(
  agent: Agent,
  url: string,
): Promise<{ readonly status: number | undefined; readonly connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    request(url, { agent }, res => {
      res.resume().on('end', () => resolve({ status: res.statusCode, connection: res.headers.connection }))
    })
      .on('error', reject)
      .end()
  })
}

test('a running answer is finished when the service stops, and its connection is closed', async () => {
  let answer: ServerResponse | undefined
  let arrived: () => void
  const isHere = new Promise<void>(resolve => {
    arrived = resolve
  })
  const listener = createListener(
    (_: IncomingMessage, res: ServerResponse) => {
      answer = res
      arrived()
    },
    { host: '127.0.0.1', port: 0 },
  )
  const agent = new Agent({ keepAlive: true })
  const asked = ask(agent, await listener.open())
  await isHere
  let isClosed = false
  const closed = listener.close().then(() => {
    isClosed = true
  })
  expect(isClosed).toBe(false)
  answer?.end('done')
  expect(await asked).toEqual({ status: 200, connection: 'close' })
  await closed
  agent.destroy()
})

test('a connection without a request stays open for longer than a proxy keeps its own', async () => {
  const listener = createListener((_, res) => void res.end('answered'), { host: '127.0.0.1', port: 0 })
  const answer = await fetch(await listener.open())
  expect(answer.headers.get('keep-alive')).toBe('timeout=75')
  await answer.text()
  await listener.close()
})

test('a client that goes on asking over a connection it kept is told to leave', async () => {
  const held: ServerResponse[] = []
  const listener = createListener(
    (req, res) => {
      if (req.url !== '/begun') return void res.end('answered')
      held.push(res)
      res.write('begun') // too late to say that the connection ends
    },
    { host: '127.0.0.1', port: 0 },
  )
  const url = await listener.open()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let begun: () => void
  const hasBegun = new Promise<void>(resolve => {
    begun = resolve
  })
  const first = new Promise<void>((resolve, reject) => {
    request(`${url}/begun`, { agent }, res => {
      begun()
      res.resume().on('end', resolve)
    })
      .on('error', reject)
      .end()
  })
  await hasBegun
  const second = ask(agent, `${url}/next`) // waits for the one connection
  const closed = listener.close()
  held[0]?.end()
  await first
  expect(await second).toEqual({ status: 200, connection: 'close' })
  await closed
  agent.destroy()
})

test.each([
  [
    'a port that is taken',
    async () => {
      const other = createListener(() => undefined, { host: '127.0.0.1', port: 0 })
      return { other, at: { host: '127.0.0.1', port: Number(new URL(await other.open()).port) } }
    },
    /^127\.0\.0\.1:\d+ is in use\. Set PORT to another port, or stop what listens there\.$/,
  ],
  [
    'an address of another machine',
    async () => ({ other: undefined, at: { host: '203.0.113.7', port: 0 } }),
    /^HOST=203\.0\.113\.7 is no address of this machine\. Set HOST to /,
  ],
  [
    'a name without an address',
    async () => ({ other: undefined, at: { host: 'nowhere.invalid', port: 0 } }),
    /^(HOST=nowhere\.invalid has no address\. Set HOST to|Nothing can listen on nowhere\.invalid:0: )/,
  ],
])('%s is refused with the way out, before and at the start', async (_, arrange, sentence) => {
  const { other, at } = await arrange()
  await expect(needAddress(at)).rejects.toThrow(sentence)
  await expect(createListener(() => undefined, at).open()).rejects.toThrow(sentence)
  await other?.close()
})

test('checking a free address leaves it free', async () => {
  const trial = createListener(() => undefined, { host: '127.0.0.1', port: 0 })
  const port = Number(new URL(await trial.open()).port)
  await trial.close()
  await needAddress({ host: '127.0.0.1', port })
  const listener = createListener(() => undefined, { host: '127.0.0.1', port })
  expect(await listener.open()).toBe(`http://127.0.0.1:${port}`)
  await listener.close()
})

/** Everything that comes back for these bytes until the connection ends. */
function say(url: string, text: string): Promise<string> {
  return new Promise(resolve => {
    let answer = ''
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text))
    socket
      .on('data', chunk => {
        answer += chunk.toString()
      })
      .on('end', () => socket.end())
      .on('error', () => undefined)
      .on('close', () => resolve(answer))
  })
}

test('a client that stops sending its body is disconnected, and one that waits for its answer is not', async () => {
  let isCut: () => void
  const cut = new Promise<void>(resolve => {
    isCut = resolve
  })
  let answer: ServerResponse | undefined
  const listener = createListener(
    (req, res) => {
      if (req.url === '/silent') req.on('error', () => undefined).on('close', () => isCut())
      else answer = res
    },
    { host: '127.0.0.1', port: 0 },
    50,
  )
  const url = await listener.open()
  const agent = new Agent()
  const waiting = ask(agent, `${url}/slow`)
  expect(await say(url, 'POST /silent HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nsome')).toBe('')
  await cut
  // the other one has waited as long, and longer
  answer?.end('done')
  expect((await waiting).status).toBe(200)
  await listener.close()
})

test.each([
  [
    'a negative length',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\nx',
    '400',
    /is not HTTP that can be read/,
  ],
  [
    'two lengths',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nxxxxxx',
    '400',
    /is not HTTP that can be read/,
  ],
  [
    '20 KiB of headers',
    `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
    '431',
    /larger than 16 KiB/,
  ],
])('%s is answered with a sentence', async (_what, text, status, detail) => {
  const listener = createListener((_, res) => void res.end('reached'), { host: '127.0.0.1', port: 0 })
  const [head = '', body = ''] = (await say(await listener.open(), text)).split('\r\n\r\n')
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} .*application/json`, 's'))
  expect((JSON.parse(body) as { detail: string }).detail).toMatch(detail)
  await listener.close()
})
