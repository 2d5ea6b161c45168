import { readFile } from 'node:fs/promises'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { lookup } from 'node:dns/promises'
import { expect, test } from 'vitest'
import { systemErrorInWords } from './system-errors.ts'

const caught = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

test('what the system says of a port without a listener, a file and a name is a sentence', async () => {
  const refused = new Promise((_, reject) => connect(1, '127.0.0.1').once('error', reject))
  expect(systemErrorInWords(await caught(refused))).toBe(
    'nothing listens there; start it, or correct the address and the port',
  )
  expect(systemErrorInWords(await caught(readFile('/nowhere/at/all')))).toBe('it does not exist')
  expect(systemErrorInWords(await caught(readFile('/')))).toBe('it is a folder, not a file')
  expect(systemErrorInWords(await caught(lookup('no-such-name.invalid')))).toMatch(/^its name cannot be resolved/)
})

test('the cause of an error and the first of several attempts are found', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  const failed = await caught(fetch(`http://127.0.0.1:${port}/`))
  expect(systemErrorInWords(failed)).toMatch(/^nothing listens there/)
  const each = Object.assign(new Error('connect'), { code: 'EHOSTUNREACH' })
  expect(systemErrorInWords(new AggregateError([each], 'all failed'))).toMatch(/^no network leads to that host/)
})

test('an error of something else is none of the system', () => {
  expect(systemErrorInWords(new Error('bad'))).toBeUndefined()
  expect(systemErrorInWords(Object.assign(new Error('bad'), { code: 'constructor' }))).toBeUndefined()
  expect(systemErrorInWords('bad')).toBeUndefined()
})
