import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import type { RsaSignature } from '../formats/format.ts'
import type { Signer } from '../signing/signer.ts'
import { signatureStep } from './signature.ts'
import type { Subject } from './subject.ts'

const OURS = 'gatehouse-01234567.rsa.pub'

/** A signer whose key made `good` and nothing else. */
const signer = {
  keys: [],
  verifyRsa: (bytes: Uint8Array, { keyName, signature }: { keyName: string; signature: Buffer }) =>
    Promise.resolve(
      keyName === OURS && signature.toString() === 'good' && Buffer.from(bytes).toString() === 'the control member',
    ),
} as unknown as Signer // the step asks for no more

const run = async (signature: Pick<RsaSignature, 'keyName'> & { readonly made: string }): Promise<unknown> => {
  const embedded: RsaSignature = {
    kind: 'rsa',
    keyName: signature.keyName,
    hash: 'sha256',
    signature: Buffer.from(signature.made),
    signed: () => Readable.from([Buffer.from('the control '), Buffer.from('member')]),
  }
  const distribution = { kind: 'distribution' }
  const subject = { distribution, inspected: async () => ({ signature: embedded }) } as unknown as Subject
  return signatureStep(
    { keys: () => Promise.resolve([]), signer: () => Promise.resolve(signer) },
    { check: () => Promise.reject(new Error('no .dsc here')) },
    () => Promise.reject(new Error('no image here')),
  ).run(subject, new AbortController().signal)
}

test('a package signed by our own RSA key is reported as ours', async () => {
  expect(await run({ keyName: OURS, made: 'good' })).toMatchObject({
    outcome: 'ok',
    verdict: 'signed',
    said: expect.stringContaining('is ours and is good') as string,
  })
})

test('a signature by a key of somebody else is noted with the name it gives, and so is one that only says it is ours', async () => {
  for (const one of [
    { keyName: 'alpine-devel@lists.alpinelinux.org-6165ee59.rsa.pub', made: 'good' },
    { keyName: OURS, made: 'bad' },
  ]) {
    expect(await run(one)).toMatchObject({
      outcome: 'ok',
      verdict: 'signed',
      said: expect.stringContaining(`names the key ${one.keyName}; no key of this repository made it`) as string,
    })
  }
})
