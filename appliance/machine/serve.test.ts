import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Refused } from './ports.ts'
import { createMachineServer, parseAsk } from './serve.ts'
import { testPorts, type Testing } from './testing.ts'
import { DOING, READING } from './verbs/table.ts'

let ports: Testing
let path: string
let close: () => void
const doing = { ...DOING }

beforeEach(async () => {
  ports = await testPorts()
  path = join(ports.root, 'socket')
  const server = createMachineServer({ ports, doing, reading: READING, turnMs: 200 })
  server.listen(path)
  await once(server, 'listening')
  close = () => server.close()
})
afterEach(async () => {
  close()
  Object.assign(doing, DOING)
  await ports.close()
})

/** What comes back, a value for each line. */
async function send(text: string): Promise<unknown[]> {
  const socket = connect(path)
  let said = ''
  socket.on('data', (chunk: Buffer) => (said += chunk.toString()))
  socket.write(text)
  await once(socket, 'end')
  socket.end()
  return said
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as unknown)
}
const ask = (verb: string, asked: object = {}): Promise<unknown[]> =>
  send(`${JSON.stringify({ ask: verb, with: asked })}\n`)

test('a call is a line, then steps, then an answer', async () => {
  doing['power.off'] = (_, __, say) => {
    say('first')
    say('second')
    return Promise.resolve({ said: 'done' })
  }
  expect(await ask('power.off')).toEqual([{ step: 'first' }, { step: 'second' }, { answer: { said: 'done' } }])
  expect(ports.lines).toEqual(['power.off: begins', 'power.off: done'])
})

test.for<readonly [string, string, RegExp]>([
  ['no JSON\n', 'bad_request', /no line of JSON.*Send \{/],
  ['"text"\n', 'unknown_verb', /does not do null/],
  ['{"ask": "toString", "with": {}}\n', 'unknown_verb', /does not do "toString".*machine\.read/],
  ['{"ask": "factory.reset", "with": {}}\n', 'unknown_verb', /does not do "factory.reset"/],
  [
    '{"ask": "network.set", "with": {"method": "dhcp", "shell": "id"}}\n',
    'bad_request',
    /\/shell: Unexpected property/,
  ],
  ['{"ask": "service.restart", "with": {}}\n', 'bad_request', /\/unit/],
  ['{"ask": "power.off", "with": {}, "also": 1}\n', 'bad_request', /does not take: also/],
  ['{"ask": "time.set", "with": {"now": "yesterday"}}\n', 'bad_request', /\/now/],
])('%s is refused', async ([line, code, message]) => {
  expect(await send(line)).toEqual([{ error: { code, message: expect.stringMatching(message) as string } }])
  expect(ports.ran).toEqual([])
})

test('more than half a megabyte is refused before it is read to its end', async () => {
  expect(await send('x'.repeat(600_000))).toMatchObject([{ error: { code: 'too_large' } }])
})

test('changes happen one at a time, and one that waits too long is refused', async () => {
  let finish = (): void => undefined
  const begun = new Promise<void>(begin => {
    doing['network.set'] = async () => {
      begin()
      await new Promise<void>(resolve => (finish = resolve))
      return { said: 'set', goes_back_at: '' }
    }
  })
  doing['power.off'] = () => Promise.resolve({ said: 'off' })
  doing['update.look'] = () => Promise.reject(new Refused('no_file', 'There is no such file.'))
  const first = ask('network.set', { method: 'dhcp' })
  await begun
  expect(await ask('power.off')).toEqual([
    { error: { code: 'busy', message: expect.stringContaining('network.set is at work') as string } },
  ])
  // reading does not wait
  expect(await ask('update.look', { file: '/x' })).toEqual([
    { error: { code: 'no_file', message: 'There is no such file.' } },
  ])
  const next = ask('power.off')
  finish()
  expect(await first).toMatchObject([{ answer: { said: 'set' } }])
  expect(await next).toEqual([{ answer: { said: 'off' } }])
})

test('what nobody expected is an error with a way out, and the next call is served', async () => {
  doing['power.off'] = () => Promise.reject(new Error('EIO'))
  expect(await ask('power.off')).toEqual([
    { error: { code: 'failed', message: 'power.off failed: EIO. journalctl -u gatehouse-machine says more.' } },
  ])
  expect(await ask('network.keep')).toMatchObject([{ error: { code: 'nothing_to_keep' } }])
})

test('an ask without what it is asked with takes nothing', () => {
  expect(parseAsk('{"ask":"machine.read"}')).toEqual({ verb: 'machine.read', asked: {} })
})
