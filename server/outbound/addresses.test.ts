import { describe, expect, test } from 'vitest'
import { createAddressRule, isNetwork } from './addresses.ts'

describe('only named hosts of the private network are reached', () => {
  test.each([
    ['chat.corp.example', 'chat.corp.example', '10.1.2.3', true],
    ['other.example, CHAT.corp.example ', 'chat.corp.example', '192.168.1.9', true],
    ['chat.corp.example', 'chat.corp.example.', 'fd00::9', true],
    ['10.0.0.0/8', 'chat.corp.example', '10.1.2.3', true],
    ['10.1.2.3', '', '10.1.2.3', true],
    ['fd00::/8', 'chat.corp.example', 'fd00::1', true],
    ['127.0.0.1, 169.254.169.254', '', '169.254.169.254', true],
    ['::1', '', '::1', true],
    ['10.0.0.0/8', 'chat.corp.example', '11.0.0.1', true],
    ['', '', '8.8.8.8', true],
    ['', '', '2606:4700:4700::1111', true],
    ['10.0.0.0/8', 'chat.corp.example', '172.16.0.1', false],
    ['10.1.2.3', '', '10.1.2.4', false],
    ['chat.corp.example', 'evil.example', '10.1.2.3', false],
    ['chat.corp.example', 'chat.corp.example', '169.254.169.254', false],
    ['chat.corp.example', 'chat.corp.example', '127.0.0.1', false],
    ['chat.corp.example', 'chat.corp.example', '::1', false],
    ['chat.corp.example', 'a.chat.corp.example', '10.1.2.3', false],
    ['0.0.0.0/0, ::/0', 'x', '0.0.0.0', false],
    ['0.0.0.0/0, ::/0', 'x', '224.0.0.1', false],
    ['0.0.0.0/0, ::/0', 'x', '::ffff:7f00:1', false],
    ['0.0.0.0/0, ::/0', 'x', 'fe80::1%eth0', false],
    ['10.0.0.0/33, nonsense/8, 10.0.0.0/8/8', 'x', '10.1.2.3', false],
    ['8.8.8.8', 'x', 'not an address', false],
  ])('%j, %j at %s: %j', (allow, host, address, isReached) => {
    expect(createAddressRule(allow).refusal(address, host) === undefined).toBe(isReached)
  })
})

test.each([
  ['10.0.0.0/8', true],
  ['::/0', true],
  ['1.2.3.4', true],
  ['1.2.3.4/', false],
  ['1.2.3.4/x', false],
  ['1.2.3', false],
  ['::/129', false],
  ['a.example', false],
])('%s is a network: %j', (text, is) => {
  expect(isNetwork(text)).toBe(is)
})
