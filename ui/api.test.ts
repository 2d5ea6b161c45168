import { expect, test } from 'vitest'
import { addressOf, problemFrom } from './api.ts'

const none = { get: () => null }

test('an address has its parameters encoded and empty query values left out', () => {
  expect(
    addressOf(
      'GET /artifacts/{name}/{version}',
      { name: 'a/b', version: '1:2.0~rc1+b1' },
      { arch: 'amd64', distribution: '', page: undefined },
    ),
  ).toBe('/api/v1/artifacts/a%2Fb/1%3A2.0~rc1%2Bb1?arch=amd64')
  expect(addressOf('GET /health')).toBe('/health')
})

test('every error body of the contract becomes one sentence', () => {
  expect(
    problemFrom(404, { detail: 'There is no package x.', code: 'package_not_found', request_id: 'r1' }, none),
  ).toMatchObject({ status: 404, code: 'package_not_found', message: 'There is no package x.', requestId: 'r1' })
  expect(
    problemFrom(
      409,
      {
        detail: { error: 'duplicate_conflict', message: 'Other bytes.', incoming_sha256: 'aa', existing_sha256: 'bb' },
      },
      none,
    ),
  ).toMatchObject({
    code: 'duplicate_conflict',
    message: 'Other bytes.',
    facts: { incoming_sha256: 'aa', existing_sha256: 'bb' },
  })
  expect(
    problemFrom(422, { detail: [{ loc: ['body', 'username'], msg: 'is too short', type: 'string' }] }, none),
  ).toMatchObject({ message: 'username: is too short', fields: [{ field: 'username', message: 'is too short' }] })
  expect(
    problemFrom(
      422,
      { detail: [{ loc: ['body'], msg: 'almalinux9 takes rpm.', type: 'wrong_format' }], code: 'wrong_format' },
      none,
    ),
  ).toMatchObject({ code: 'wrong_format', message: 'almalinux9 takes rpm.' })
  expect(problemFrom(502, undefined, none)).toMatchObject({ status: 502, message: 'The server answered 502.' })
})

test('a 429 says how long to wait, at least a second, from header or body', () => {
  expect(
    problemFrom(429, { detail: { error: 'rate_limit_exceeded', message: 'm', limit: 20, retry_after: 9 } }, none)
      .retryAfter,
  ).toBe(9)
  expect(problemFrom(429, {}, { get: name => (name === 'retry-after' ? '0' : null) }).retryAfter).toBe(1)
  expect(problemFrom(400, {}, none).retryAfter).toBeUndefined()
})
