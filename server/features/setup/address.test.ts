import { describe, expect, test } from 'vitest'
import { AppError } from '../../core/errors.ts'
import type { Fetched, FetchOptions } from '../../outbound/fetch.ts'
import { createAddressCheck, type AddressCheck } from './address.ts'

/** A network in which a call arrives here, elsewhere, or nowhere. */
function network(where: 'here' | 'elsewhere' | 'nowhere') {
  const calls: { url: string; options: FetchOptions | undefined }[] = []
  const check: AddressCheck = createAddressCheck({
    newId: () => 'id-1',
    fetch: (url, options) => {
      calls.push({ url, options })
      if (where === 'nowhere')
        return Promise.reject(new AppError('outbound_failed', { host: 'packages.lan', why: 'nothing listens there' }))
      if (where === 'here') check.saw(options?.headers?.['X-Request-ID'])
      return Promise.resolve({ status: 200 } as Fetched)
    },
  })
  return { check, calls }
}

describe('an address for clients', () => {
  test.each([
    ['here', { answers: 'this', local: false, why: null }],
    ['elsewhere', { answers: 'another', local: false, why: null }],
    ['nowhere', { answers: 'nobody', local: false, why: expect.stringContaining('nothing listens there') as string }],
  ] as const)('that leads %s is told so', async (where, expected) => {
    const { check, calls } = network(where)
    expect(await check.look('https://packages.lan')).toEqual(expected)
    expect(calls).toEqual([
      {
        url: 'https://packages.lan/api/v1/setup/status',
        options: {
          headers: { 'X-Request-ID': 'id-1' },
          allow: 'packages.lan',
          redirects: 0,
          timeoutMs: 5_000,
          limitBytes: 65_536,
        },
      },
    ])
  })

  test.each(['http://localhost:8000', 'http://127.0.0.1:8000', 'http://[::1]:8000', 'http://127.8.8.8'])(
    '%s is said to reach this machine only',
    async url => {
      expect(await network('here').check.look(url)).toMatchObject({ answers: 'this', local: true })
    },
  )

  test('is not called ours by the id of another call', async () => {
    const { check } = network('elsewhere')
    check.saw('id-1')
    check.saw(undefined)
    expect(await check.look('https://packages.lan')).toMatchObject({ answers: 'another' })
  })
})
