import { expect, test } from 'vitest'
import { sign } from './s3-sign.ts'

const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const KEYS = {
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
}
const host = 'examplebucket.s3.amazonaws.com'

// the examples of AWS' own documentation, "Signature Calculations for the Authorization Header"
test.each<[string, Parameters<typeof sign>[0], string]>([
  [
    'GET with a range',
    {
      method: 'GET',
      path: '/test.txt',
      query: {},
      headers: { host, range: 'bytes=0-9' },
      payloadSha256: EMPTY,
    },
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'PUT',
    {
      method: 'PUT',
      path: '/test%24file.text',
      query: {},
      headers: { host, 'date': 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      payloadSha256: '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
    },
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  [
    'a query without a value',
    { method: 'GET', path: '/', query: { lifecycle: '' }, headers: { host }, payloadSha256: EMPTY },
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'a list',
    { method: 'GET', path: '/', query: { 'max-keys': '2', 'prefix': 'J' }, headers: { host }, payloadSha256: EMPTY },
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
])('%s is signed as AWS does it', (_what, request, signature) => {
  const { authorization } = sign(request, KEYS, new Date('2013-05-24T00:00:00Z'))
  expect(authorization?.split('Signature=')[1]).toBe(signature)
})
