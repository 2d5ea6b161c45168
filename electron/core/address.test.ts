import { describe, expect, test } from 'vitest'
import { parseAddress } from './address.ts'
import { Refusal } from './refusal.ts'

const FP = 'AB'.repeat(32)

test.each([
  ['10.20.0.31', 'https://10.20.0.31', 443],
  [' gatehouse-01 ', 'https://gatehouse-01', 443],
  ['GateHouse-01.Nordwerk.LAN:8443', 'https://gatehouse-01.nordwerk.lan:8443', 8443],
  ['https://gatehouse-01.nordwerk.lan/', 'https://gatehouse-01.nordwerk.lan', 443],
  ['https://gatehouse-01/#/packages', 'https://gatehouse-01', 443],
  ['fe80::1', 'https://[fe80::1]', 443],
  ['[2001:db8::7]:8443', 'https://[2001:db8::7]:8443', 8443],
  [`gatehouse://10.20.0.31?fp=${FP}&token=K7MQR2XD9HVT`, 'https://10.20.0.31', 443],
  [`GATEHOUSE://10.20.0.31:444/?fp=${FP.toLowerCase()}`, 'https://10.20.0.31:444', 444],
])('%s is %s', (text, origin, port) => {
  expect(parseAddress(text)).toMatchObject({ origin, port })
})

test('the fingerprint is read, and the setup token is not kept', () => {
  const address = parseAddress(`gatehouse://10.20.0.31?fp=${FP}&token=K7MQR2XD9HVT`)
  expect(address.fingerprint).toBe(FP)
  expect(JSON.stringify(address)).not.toContain('K7MQ')
})

describe('an address that is none', () => {
  test.each([
    ['', /empty/],
    ['   ', /empty/],
    ['http://gatehouse-01', /without TLS/],
    ['ftp://gatehouse-01', /begins with https/],
    ['app://home/', /begins with https/],
    ['https://name:word@gatehouse-01', /no name and no password/],
    ['https://', /no address/],
    ['https:///etc', /no address/],
    ['https://exa mple', /no address/],
    [`gatehouse://10.20.0.31?fp=${FP.slice(2)}`, /not whole/],
    ['gatehouse://10.20.0.31?fp=', /not whole/],
    ['a'.repeat(300), /no host name/],
  ])('is refused: %s', (text, why) => {
    expect(() => parseAddress(text)).toThrow(Refusal)
    expect(() => parseAddress(text)).toThrow(why)
  })
})
