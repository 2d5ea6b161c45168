import { expect } from 'vitest'
import type { MachineView } from '../../../server/machine/protocol.ts'
import type { Answer, Call, CallTo } from './wire.ts'

export const ADMIN = { username: 'admin', password: 'Correct-horse-7' }

/** Requests of somebody who signed in. */
export interface Session {
  /** @throws Error unless it is answered with `status` */
  must(status: number, method: string, path: string, call?: Call): Promise<Answer>
  machine(): Promise<MachineView>
}

export async function signIn(call: CallTo, who: typeof ADMIN = ADMIN): Promise<Session> {
  const signed = await call('POST', '/api/v1/auth/token', { json: who })
  if (signed.status !== 200) throw new Error(`${who.username} is refused: ${signed.status} ${signed.bytes.toString()}`)
  const token = String(signed.body.access_token)
  const must: Session['must'] = async (status, method, path, more = {}) => {
    const answer = await call(method, `/api/v1${path}`, { token, ...more })
    if (answer.status !== status)
      throw new Error(`${method} ${path}: ${answer.status} ${answer.bytes.toString().slice(0, 500)}`)
    return answer
  }
  return {
    must,
    async machine() {
      const { machine, why } = (await must(200, 'GET', '/machine')).body
      if (machine === null) throw new Error(`the machine gives no answer: ${String(why)}`)
      return machine as MachineView
    },
  }
}

/** Makes the first admin with the token of the screen. */
export async function setUp(call: CallTo, setupToken: string): Promise<Session> {
  const json = { admin_username: ADMIN.username, admin_password: ADMIN.password }
  const wrong = { 'X-Setup-Token': setupToken.replace(/.$/, last => (last === 'A' ? 'B' : 'A')) }
  expect((await call('POST', '/api/v1/setup/', { json, headers: wrong })).status).toBe(403)
  const made = await call('POST', '/api/v1/setup/', { json, headers: { 'X-Setup-Token': setupToken } })
  expect(made.status, made.bytes.toString()).toBe(201)
  return signIn(call)
}
