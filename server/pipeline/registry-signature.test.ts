import { expect, test } from 'vitest'
import type { SpooledFile } from '../files/spool.ts'
import { registrySignature } from './registry-signature.ts'

const report = (...names: string[]) =>
  registrySignature({ file: { beside: names.map(filename => ({ filename })) } as unknown as SpooledFile })

test('nothing has to be signed in a registry', () => {
  expect(report('a-1.0-sources.jar')).toEqual({
    step: 'signature',
    outcome: 'ok',
    verdict: 'not_signed',
    said: 'It came without a signature; clients of registries need none.',
  })
})

test('signatures that came along are told, and never as verified', () => {
  const { outcome, verdict, said } = report('a.jar.asc', 'a.pom.asc', 'n-1.0.0.sigstore', 'w.whl.provenance', 'a.pom')
  expect([outcome, verdict]).toEqual(['ok', 'not_verified'])
  expect(said).toBe(
    'It came with 2 times an OpenPGP signature and a sigstore bundle and an attestation, kept for clients and not verified here.',
  )
})
