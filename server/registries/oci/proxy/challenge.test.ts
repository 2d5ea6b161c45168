import { expect, test } from 'vitest'
import { readChallenge } from './challenge.ts'

test.each([
  [
    'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull"',
    {
      kind: 'bearer',
      realm: 'https://auth.example/token',
      service: 'registry.example',
      scope: 'repository:a/b:pull',
    },
  ],
  ['bearer realm=https://auth.example/token', { kind: 'bearer', realm: 'https://auth.example/token' }],
  // as two headers that were joined
  ['Basic realm="x", Bearer realm="https://t", error="invalid_token"', { kind: 'bearer', realm: 'https://t' }],
  ['Bearer realm="https://t", Basic realm="other"', { kind: 'bearer', realm: 'https://t' }],
  ['Bearer realm="a\\"b, Bearer realm=c"', { kind: 'bearer', realm: 'a"b, Bearer realm=c' }],
  ['Basic realm="x"', { kind: 'basic' }],
  ['Basic', { kind: 'basic' }],
  // a token that is got nowhere
  ['Bearer service="x"', undefined],
  ['Negotiate', undefined],
  ['', undefined],
])('%s', (header, challenge) => {
  expect(readChallenge(header)).toEqual(challenge)
})
