import { describe, expect, test } from 'vitest'
import { clientIp, createTrust, isProxy } from './client-ip.ts'

const isTrusted = createTrust(['127.0.0.0/8', '::1', '10.0.0.0/8', 'fc00::/7', '203.0.113.9'])

describe('the address of the client', () => {
  test.each<[peer: string | undefined, forwardedFor: string | undefined, client: string]>([
    ['198.51.100.7', undefined, '198.51.100.7'],
    ['198.51.100.7', '1.2.3.4', '198.51.100.7'], // nobody trusted wrote that
    ['127.0.0.1', undefined, '127.0.0.1'],
    ['127.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['::1', '198.51.100.7', '198.51.100.7'],
    ['::ffff:127.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['::FFFF:7f00:1', '198.51.100.7', '198.51.100.7'],
    ['127.0.0.1', '1.1.1.1, 198.51.100.7', '198.51.100.7'], // the client put 1.1.1.1 there itself
    ['127.0.0.1', '1.1.1.1, 198.51.100.7, 10.1.2.3', '198.51.100.7'],
    ['127.0.0.1', '1.1.1.1,198.51.100.7 ,203.0.113.9,  10.1.2.3', '198.51.100.7'],
    ['127.0.0.1', '10.0.0.5, 10.0.0.6', '10.0.0.5'], // all of them are ours
    ['127.0.0.1', '10.0.0.5, nonsense, 10.0.0.6', '10.0.0.6'],
    ['127.0.0.1', 'unknown', '127.0.0.1'],
    ['127.0.0.1', ' , ,', '127.0.0.1'],
    ['127.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
    ['127.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['127.0.0.1', '2001:DB8::7', '2001:db8::7'],
    ['fd00::1', '2001:db8::7', '2001:db8::7'],
    ['127.0.0.1', '::ffff:198.51.100.7', '198.51.100.7'],
    [undefined, '198.51.100.7', '198.51.100.7'], // over a unix socket
    ['', undefined, 'local'],
  ])('%s with %s is %s', (peer, forwardedFor, client) => {
    expect(clientIp(peer, forwardedFor, isTrusted)).toBe(client)
  })

  test('the other end of the connection is a proxy of ours, or not', () => {
    expect([undefined, '::ffff:10.0.0.1', '127.9.9.9', '198.51.100.7'].map(peer => isProxy(peer, isTrusted))).toEqual([
      true,
      true,
      true,
      false,
    ])
  })

  test.each(['localhost', '10.0.0.0/33', '10.0.0.0/x', '', 'fc00::/129'])('%s is no network', network => {
    expect(() => createTrust([network])).toThrow(`TRUSTED_PROXIES: ${network} is no address`)
  })
})
