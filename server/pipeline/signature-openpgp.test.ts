import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { binTag, encodeHeader, packRpm, rpmParts, signatureHeader } from '../../test/support/packages-rpm.ts'
import { spoolBytes } from '../../test/support/packages.ts'
import { getFormat } from '../formats/index.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { createKeyring } from '../signing/keyring.ts'
import type { Keyring } from '../signing/signer.ts'
import { signatureStep } from './signature.ts'
import type { Subject } from './subject.ts'
import { layoutOf } from '../../test/support/repositories.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signature-step-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const key = { type: 'ed25519Legacy', name: 'Test', email: 'test@example.test', overlapDays: 30 } as const
async function openKeyring(name: string): Promise<Keyring> {
  const layout = layoutOf(join(folder, name))
  await mkdir(layout.root)
  return createKeyring({ layout, box: createSecretBox('k'), clock: { now: () => new Date() } })
}

/** A package with these signatures of its header, and what the step says of it. */
async function judge(
  keyring: Keyring,
  made: (header: Buffer) => Promise<readonly (readonly [tag: number, signature: Buffer])[]>,
): Promise<unknown> {
  const parts = await rpmParts({ name: 'signed', version: '1', release: '1' })
  const header = encodeHeader(parts.tags, 63)
  const tags = (await made(header)).map(([tag, signature]) => binTag(tag, signature))
  const bytes =
    tags.length === 0
      ? packRpm(parts)
      : Buffer.concat([
          parts.lead,
          signatureHeader(header, parts.payload, parts.payloadBytes, tags),
          header,
          parts.payload,
        ])
  const inspected = await getFormat('rpm').inspect(
    await spoolBytes(folder, 's.rpm', bytes),
    new AbortController().signal,
  )
  const distribution = { kind: 'distribution' }
  const subject = { distribution, inspected: () => Promise.resolve(inspected) } as unknown as Subject
  return signatureStep(keyring, { check: () => Promise.reject(new Error('no .dsc here')) }, () =>
    Promise.reject(new Error('no image here')),
  ).run(subject, new AbortController().signal)
}

test('a package signed by the current key or by the previous one is ours; one by another key is not', async () => {
  const keyring = await openKeyring('ours')
  await keyring.generate(key)
  const previous = await keyring.signer()
  await keyring.generate(key)
  const current = await keyring.signer()
  expect(current.keys.length).toBe(2)
  const stranger = await openKeyring('stranger')
  await stranger.generate(key)
  const other = await stranger.signer()

  const ours = { outcome: 'ok', said: expect.stringContaining('is ours and is good') as string }
  const notOurs = { outcome: 'warned', said: expect.stringContaining('no key of this repository made') as string }
  for (const signer of [current, previous])
    expect(await judge(keyring, async header => [[267, await signer.detachOne(header)]])).toMatchObject(ours)
  expect(await judge(keyring, async header => [[267, await other.detachOne(header)]])).toMatchObject(notOurs)
  expect(await judge(keyring, async header => [[267, await current.detachOne(header.subarray(1))]])).toMatchObject(
    notOurs,
  )
  // one of several is enough: an rpm may carry one of each kind of key
  expect(
    await judge(keyring, async header => [
      [268, await other.detachOne(header)],
      [267, await current.detachOne(header)],
    ]),
  ).toMatchObject(ours)
  expect(await judge(keyring, () => Promise.resolve([]))).toMatchObject({
    outcome: 'ok',
    said: expect.stringContaining('carries no signature of its own') as string,
  })
  expect(await judge(keyring, () => Promise.resolve([[267, Buffer.from('no packet at all')]]))).toMatchObject(notOurs)
})
