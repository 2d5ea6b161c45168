import { expect, test } from 'vitest'
import type { KeyCard } from '../../signing/signer.ts'
import { repositories } from '../../../test/support/repositories.ts'
import { getFormat } from '../../formats/index.ts'
import { setupsOf } from './client-setups.ts'

const card: KeyCard = {
  fingerprint: 'A'.repeat(40),
  user_id: 'T',
  algorithm: 'rsa4096',
  created_at: '2026-01-01',
  role: 'current',
}

test('clients that use another kind of key are never given the one that there is', async () => {
  const keyring = {
    keys: async () => [card],
    rsaKeys: async () => [],
    publicKey: async () => Buffer.from('-----BEGIN PGP'),
  }
  const setup = (codename: string) =>
    setupsOf({ keyring, repositories, formats: getFormat }, codename, { url: 'http://repo.example' })
  expect(await setup('alpine3.20')).toMatchObject({ key_url: null, public_key: null, fingerprints: [] })
  expect(await setup('almalinux9')).toMatchObject({
    key_url: 'http://repo.example/repos/gpg.key',
    public_key: '-----BEGIN PGP',
    fingerprints: [card.fingerprint],
  })
})
