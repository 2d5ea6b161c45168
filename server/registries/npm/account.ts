import { fail } from '../../core/errors.ts'
import type { RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { json, notice, refused } from './answers.ts'

const LOGIN =
  'There is no login by npm here. Make an API token in the console (Users, API tokens) and write it into .npmrc, as the page of this registry shows.'
const LOGOUT =
  'npm forgets the token, and it stays valid: an admin revokes API tokens in the console (Users, API tokens).'

/** The name of who asks. @throws not_authenticated */
const nameOf = ({ caller }: Pick<RegistryRequest, 'caller'>): string =>
  caller.who?.name ?? fail('not_authenticated', {})

/** What npm asks about accounts: who one is, logging in and out. Undefined: none of these. */
export function account(request: RegistryRequest): RegistryAnswer | undefined {
  const { method, segments } = request
  const [, first, second, third] = segments
  const isRead = method === 'GET' || method === 'HEAD'
  const path = segments.slice(1).join('/')
  if (isRead && path === 'ping') return json({})
  if (isRead && path === 'whoami') return json({ username: nameOf(request) })
  if (isRead && path === 'npm/v1/user') return json({ name: nameOf(request), tfa: false })
  if (method === 'POST' && path === 'v1/login') return refused(404, LOGIN)
  if (first === 'user' && second?.startsWith('org.couchdb.user:') === true) return refused(404, LOGIN)
  if (method === 'DELETE' && first === 'user' && second === 'token' && third !== undefined)
    return json({ ok: true }, { headers: notice(LOGOUT) })
  return undefined
}
