import { Type } from '@sinclair/typebox'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { route, startApp, type TestApp } from '../../test/support/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp({
    routes: [route('POST /bodies', { reply: Type.Object({}), body: Type.Object({ name: Type.String() }) })],
  })
})
afterAll(() => app.close())

const LENGTH = 16 * 1024 * 1024

/** Sends everything before it reads, as many clients do. */
function sendAllThenRead(head: string): Promise<{ readonly sent: number; readonly text: string }> {
  const socket = connect({ port: app.port, host: '127.0.0.1', allowHalfOpen: true })
  const chunk = Buffer.alloc(64 * 1024, 'a')
  let sent = 0
  let text = ''
  const read = (): void => {
    socket.on('data', (data: Buffer) => {
      text += data.toString()
    })
    socket.on('end', () => socket.end())
  }
  const sendOn = (): void => {
    if (sent >= LENGTH) {
      read()
      return
    }
    sent += chunk.length
    socket.write(chunk, error => {
      if (!error) setImmediate(sendOn)
    })
  }
  return new Promise(resolve => {
    socket.on('error', () => undefined) // the other side has closed: what was sent and read says so
    socket.on('close', () => resolve({ sent, text }))
    socket.on('connect', () => socket.write(head, sendOn))
  })
}

test.each(['HTTP/1.1\r\nConnection: close', 'HTTP/1.0'])(
  'a client that keeps no connection and is refused early can send everything and read why: %s',
  async version => {
    const { sent, text } = await sendAllThenRead(
      `POST /api/v1/bodies ${version}\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${LENGTH}\r\n\r\n`,
    )
    expect(sent).toBe(LENGTH)
    expect(text).toMatch(/^HTTP\/1\.1 413 .*"code":"body_too_large"/s)
  },
)
