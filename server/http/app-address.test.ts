import type { IncomingMessage } from 'node:http'
import { Value } from '@sinclair/typebox/value'
import { describe, expect, test } from 'vitest'
import { SETTINGS, type SettingsValue } from '../settings/schema.ts'
import { createAppAddress, type ServiceAddress } from './app-address.ts'

function start(
  over: Partial<Pick<SettingsValue, 'app_url' | 'repo_url' | 'email'>> = {},
  { host = '127.0.0.1', port = 8123 } = {},
): ServiceAddress {
  const value = { ...(Value.Create(SETTINGS) as SettingsValue), ...over }
  return createAppAddress({
    settings: { now: () => value },
    trustedProxies: ['10.0.0.0/8'],
    host,
    port,
    machine: 'box',
  })
}
const from = (remoteAddress: string, headers: Record<string, string>): { readonly stream: IncomingMessage } => ({
  stream: { socket: { remoteAddress }, headers } as unknown as IncomingMessage,
})
const CLIENT = '198.18.0.1'
const PROXY = '10.1.2.3'

describe('while app_url is not set', () => {
  test.each<[string, string, Record<string, string>, string]>([
    ['the Host that was called', CLIENT, { host: 'repo.example:8080' }, 'http://repo.example:8080'],
    ['an IPv6 address', CLIENT, { host: '[::1]:8080' }, 'http://[::1]:8080'],
    [
      'what a trusted proxy says',
      PROXY,
      { 'host': 'inner:8000', 'x-forwarded-host': 'repo.example, inner', 'x-forwarded-proto': 'https' },
      'https://repo.example',
    ],
    [
      'the Host that a proxy passes on',
      PROXY,
      { 'host': 'repo.example', 'x-forwarded-proto': 'https' },
      'https://repo.example',
    ],
    [
      'nothing that others say of themselves',
      CLIENT,
      { 'host': 'repo.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
      'http://repo.example',
    ],
    ['no Host that a shell would read as more', CLIENT, { host: 'a;reboot' }, 'http://127.0.0.1:8123'],
    ['no empty Host', CLIENT, {}, 'http://127.0.0.1:8123'],
  ])('an answer carries %s', (_, peer, headers, url) => {
    const address = start()
    expect([address.console(from(peer, headers)), address.repository(from(peer, headers))]).toEqual([url, url])
  })

  test.each([
    [{ host: '127.0.0.1', port: 8123 }, 'http://127.0.0.1:8123'],
    [{ host: '::1', port: 8123 }, 'http://[::1]:8123'],
    [{ host: '0.0.0.0', port: 8123 }, 'http://box:8123'],
    [{ host: '::', port: 80 }, 'http://box'],
    [{ host: 'repo.example', port: 80 }, 'http://repo.example'],
  ])('messages carry what the daemon listens on: %j', (env, url) => {
    expect(start({}, env).inMessages()).toBe(url)
  })

  test('the port is the one that was taken when PORT was 0', () => {
    const address = start({}, { port: 0 })
    address.opened('http://localhost:40123')
    expect(address.inMessages()).toBe('http://127.0.0.1:40123')
  })

  test('an operator is told which address mails carry, once there are mails', () => {
    const { email } = Value.Create(SETTINGS) as SettingsValue
    expect(start().warnings()).toEqual([])
    expect(start({ email: { ...email, enabled: true } }).warnings()).toEqual([
      'Mails and webhooks carry the address http://127.0.0.1:8123, because the setting app_url is empty.',
    ])
    expect(start({ email: { ...email, enabled: true }, app_url: 'https://a.example' }).warnings()).toEqual([])
  })
})

test('app_url goes before everything; repo_url goes before it for clients', () => {
  const request = from(PROXY, { 'host': 'inner', 'x-forwarded-host': 'outer' })
  const one = start({ app_url: 'https://console.example/' })
  expect([one.console(request), one.repository(request), one.inMessages()]).toEqual([
    'https://console.example',
    'https://console.example',
    'https://console.example',
  ])
  const two = start({ app_url: 'https://console.example', repo_url: 'https://repo.example/' })
  expect([two.console(request), two.repository(request), two.inMessages()]).toEqual([
    'https://console.example',
    'https://repo.example',
    'https://console.example',
  ])
})
