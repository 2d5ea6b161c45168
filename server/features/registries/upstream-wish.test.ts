import { isIP } from 'node:net'
import { expect, test } from 'vitest'
import { createAddressRule } from '../../outbound/addresses.ts'
import { hostOf } from '../../outbound/guard.ts'
import { HOSTILE_URLS } from '../../outbound/hostile-targets.test-data.ts'
import type { RegistryUpstream } from '../../core/registry.ts'
import { readUpstream, type UpstreamWish } from './upstream-wish.ts'

const rule = createAddressRule('10.1.0.0/16')
const read = (wish: UpstreamWish, before?: RegistryUpstream) =>
  readUpstream(wish, before, { refusesAddress: address => rule.refusal(address) })
/** `upstream.url: why`, or what it was read as. */
function said(wish: UpstreamWish): string {
  try {
    return read(wish).upstream.url
  } catch (error) {
    const { facts } = error as { facts?: { field: string; why: string } }
    return facts === undefined ? String(error) : `${facts.field}: ${facts.why}`
  }
}

test.each([
  ['https://registry.example', 'https://registry.example'],
  ['https://registry.example/npm//', 'https://registry.example/npm'],
  [' https://registry.example/npm\n', 'https://registry.example/npm'],
  ['HTTPS://Registry.EXAMPLE:443/a/../npm/', 'https://registry.example/npm'],
  ['http://10.1.2.3:8081/repository/npm', 'http://10.1.2.3:8081/repository/npm'],
  ['http://inside.example', 'http://inside.example'],
])('%j is kept as %s', (url, kept) => expect(said({ url })).toBe(kept))

test.each([
  ['file:///etc/passwd', 'only http and https are possible'],
  ['https://me:pw@registry.example', 'there is a user name or password in its URL'],
  ['https://me@registry.example', 'there is a user name or password in its URL'],
  ['http://169.254.169.254/latest/meta-data', 'is no address of the open internet (link-local)'],
  ['http://10.2.0.1/', 'notifications.allow_private_hosts first'],
  ['http://[::1]/', 'is no address of the open internet (loopback)'],
  ['http://2130706433/', 'written in an odd way'],
  ['https://registry.example/a b', 'it is no URL'],
  ['https://registry.example/a\tb', 'it is no URL'],
  ['https://registry.example/?a=1', 'it has no ? and no #'],
  ['https://registry.example/npm?', 'it has no ? and no #'],
  ['https://registry.example/#/', 'it has no ? and no #'],
  ['https://registry.example/npm#', 'it has no ? and no #'],
  [String.raw`https:\\registry.example`, 'written in an odd way'],
  ['registry.example', 'it is no URL'],
  ['', 'it is no URL'],
  [`https://registry.example/${'a'.repeat(5_000)}`, 'it is no URL'],
  [`https://registry.example/${'ä'.repeat(400)}`, 'at most 1000 characters'],
])('%j is refused', (url, why) => expect(said({ url })).toContain(why))

test('of what people try against addresses only names are taken, which are looked up when they are asked', () => {
  const taken = HOSTILE_URLS.filter(url => !said({ url }).startsWith('upstream.url: '))
  expect(taken.filter(url => isIP(hostOf(new URL(url))) !== 0)).toEqual([])
  expect(taken.length).toBeLessThan(HOSTILE_URLS.length / 4)
})

test.each([
  [{ user: 'a:b' }, 'upstream.user'],
  [{ user: 'a\nb' }, 'upstream.user'],
  [{ secret: 'two words' }, 'upstream.secret: a token'],
  [{ secret: 'token\n' }, 'upstream.secret: a token'],
  [{ secret: 'pässword' }, 'upstream.secret: a token'],
  [{ user: 'ci', secret: 'password\r\nX-Evil: 1' }, 'upstream.secret: it has no control character'],
  [{ user: 'ci', secret: 'pass wörd' }, 'https://registry.example'],
])('%j is read as %s', (more, why) => expect(said({ url: 'https://registry.example', ...more })).toContain(why))

const before: RegistryUpstream = { url: 'https://registry.example/npm', user: 'ci' }
test.each([
  [{ url: 'https://registry.example/other' }, 'kept', 'ci'],
  [{ url: 'https://registry.example/other', user: 'ci' }, 'kept', 'ci'],
  [{ url: 'https://registry.example/npm', user: 'cd' }, 'dropped', 'cd'],
  [{ url: 'https://registry.example/npm', user: null }, 'dropped', undefined],
  [{ url: 'https://registry.example:8443/npm' }, 'dropped', undefined],
  [{ url: 'http://registry.example/npm' }, 'dropped', undefined],
  [{ url: 'https://elsewhere.example', user: 'ci' }, 'dropped', 'ci'],
  [{ url: 'https://elsewhere.example', user: 'ci', secret: 'new' }, 'new', 'ci'],
  [{ url: 'https://registry.example/npm', secret: null }, 'gone', 'ci'],
])('after %j the secret is %s', (wish, is, user) => {
  const { upstream, secret } = read(wish, before)
  expect([secret.is, upstream.user]).toEqual([is, user])
})
