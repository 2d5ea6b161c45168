import { afterEach, beforeEach, expect, test } from 'vitest'
import { startFakeMachine, type FakeMachine } from '../../test/support/fake-machine.ts'
import { createMachine } from './client.ts'

let machine: FakeMachine
beforeEach(async () => {
  machine = await startFakeMachine()
})
afterEach(() => machine.close())

test('it asks over the socket, passes steps on and gives the answer as the protocol has it', async () => {
  const steps: string[] = []
  machine.steps = ['Backing up', 'Unpacking\u001b[31m']
  const asker = createMachine(machine)
  expect(await asker.ask('power.restart', {}, step => steps.push(step))).toEqual({ said: 'The machine restarts.' })
  expect(steps).toEqual(['Backing up', 'Unpacking\ufffd[31m'])
  expect(machine.asked).toEqual([{ verb: 'power.restart', with: {} }])
  expect((await asker.ask('machine.read', {})).network.addresses).toEqual(['10.20.1.10/24'])
})

test('without a socket this is no appliance', async () => {
  const asker = createMachine({ socket: `${machine.socket}-not` })
  expect(await asker.isThere()).toBe(false)
  await expect(asker.ask('machine.read', {})).rejects.toMatchObject({ code: 'machine_absent' })
})

test('a refusal is told in the words of the machine', async () => {
  machine.refusal = 'Nothing waits to be kept.'
  await expect(createMachine(machine).ask('network.keep', {})).rejects.toMatchObject({
    code: 'machine_refused',
    message: 'Nothing waits to be kept.',
  })
})

test.each([
  ['{"answer":{"said":1}}\n', 'machine_not_understood', '/said'],
  ['{"answer":{}}\n', 'machine_not_understood', '/said'],
  ['no json\n', 'machine_not_understood', 'no JSON'],
  ['[]\n', 'machine_not_understood', 'the answer'],
  ['{"step":"Working"}\n', 'machine_silent', 'it ended the connection'],
  ['', 'machine_silent', 'it ended the connection'],
])('what is no answer is none: %j', async (raw, code, said) => {
  machine.raw = raw
  await expect(createMachine(machine).ask('power.off', {})).rejects.toMatchObject({
    code,
    message: expect.stringContaining(said),
  })
})

test('a machine that says nothing for long has failed, and one that says its steps has not', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  machine.gate = promise
  const asker = createMachine({ ...machine, silenceMs: { read: 40, change: 40 } })
  await expect(asker.ask('power.off', {})).rejects.toMatchObject({
    code: 'machine_silent',
    message: expect.stringContaining('it was silent for 0.04 s'),
  })
  resolve()
})

test('a socket that nobody listens on is a machine that does not answer', async () => {
  // a plain file refuses a connection as what a crash left does
  const asker = createMachine({ socket: import.meta.filename })
  expect(await asker.isThere()).toBe(true)
  await expect(asker.ask('machine.read', {})).rejects.toMatchObject({ code: 'machine_silent' })
})
