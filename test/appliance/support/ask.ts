import type { Answered, AskedWith, Verb } from '../../../server/machine/protocol.ts'
import { SOCKET } from '../../../server/machine/protocol.ts'
import type { Machine } from './machine.ts'

const ASKING = `
  const socket = require('node:net').connect('${SOCKET}')
  let said = ''
  socket.on('data', chunk => (said += chunk))
  socket.on('end', () => { console.log(said.trim().split('\\n').at(-1)); socket.end() })
  socket.write(process.argv[1] + '\\n')`

/** Asks the machine's program as the daemon does. @throws Error with what it says where it refuses */
export async function ask<V extends Verb>(machine: Machine, verb: V, asked: AskedWith<V>): Promise<Answered<V>> {
  const said = await machine.must(
    ...['setpriv', '--reuid=gatehouse', '--regid=gatehouse', '--init-groups', '/opt/gatehouse/current/bin/node'],
    ...['-e', ASKING, JSON.stringify({ ask: verb, with: asked })],
  )
  const { answer, error } = JSON.parse(said) as { answer?: Answered<V>; error?: { message: string } }
  if (answer === undefined) throw new Error(error?.message ?? said)
  return answer
}
